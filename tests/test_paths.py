"""Where things are, and whose they must be. Real directories, made for each test."""

from __future__ import annotations

import os
import pwd
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchctl import paths
from orchctl.errors import BadInput, NotPermitted
from orchctl.paths import SUN_PATH_BYTES, Root, check, find_config, find_root, prepare, set_config, socket_address

NOBODY = 65534


@pytest.fixture
def somebody_elses(tmp_path: Path) -> str:
    """A directory of another user: made here if we may give one away, else the system's own."""
    if os.geteuid() != 0:
        return "/"
    folder = tmp_path / "theirs"
    folder.mkdir(0o700)
    os.chown(folder, NOBODY, NOBODY)
    return str(folder)


@pytest.fixture
def short() -> Iterator[str]:
    """A directory whose own path leaves room in a socket's address."""
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        yield folder


def root_at(path: Path, mode: int = 0o700) -> Root:
    path.mkdir()
    path.chmod(mode)
    return Root(str(path))


def refusal(root: Root) -> str:
    """What `check` and `prepare` both say against it."""
    with pytest.raises(NotPermitted) as checked:
        check(root)
    with pytest.raises(NotPermitted) as prepared:
        prepare(root)
    assert checked.value.code == prepared.value.code == "bad-state-dir"
    return checked.value.message


def test_everything_is_below_the_state_directory() -> None:
    root = Root("/s")
    assert (root.socket, root.log, root.sessions) == ("/s/supervisor.sock", "/s/supervisor.log", "/s/sessions")
    assert (root.start_lock, root.lifetime_lock) == ("/s/start.lock", "/s/supervisor.lock")


def test_the_state_directory_may_be_named_and_need_not_exist() -> None:
    assert find_root({"ORCHCTL_STATE_DIR": "/no/such/../place/", "HOME": "/else"}) == Root("/no/place")


@pytest.mark.parametrize("given", [".", "state", "~/state"])
def test_a_state_directory_that_depends_on_where_one_stands_is_refused(given: str) -> None:
    with pytest.raises(BadInput, match="not an absolute path") as caught:
        find_root({"ORCHCTL_STATE_DIR": given})
    assert caught.value.code == "bad-state-dir"


def test_a_home_has_one_state_directory_a_machine_whatever_xdg_says(tmp_path: Path) -> None:
    root = find_root({"HOME": f"{tmp_path}/", "ORCHCTL_STATE_DIR": "", "XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/y"})
    assert os.path.dirname(root.path) == f"{tmp_path}/.local/state/orchctl"
    assert os.path.basename(root.path)
    assert root == find_root({"HOME": str(tmp_path)})


@pytest.mark.parametrize("home", [None, "", "relative", "/no/such/home"])
def test_without_a_home_of_ones_own_the_password_file_is_asked(home: str | None) -> None:
    ours = pwd.getpwuid(os.geteuid()).pw_dir
    assert find_root({} if home is None else {"HOME": home}).path.startswith(f"{ours}/.local/state/orchctl/")


def test_the_home_of_somebody_else_is_not_written_to(somebody_elses: str) -> None:
    ours = pwd.getpwuid(os.geteuid()).pw_dir
    assert find_root({"HOME": somebody_elses}).path.startswith(f"{ours}/.local/state/orchctl/")


def test_a_user_without_any_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(NotPermitted, match="ORCHCTL_STATE_DIR") as caught:
        find_root({"HOME": "/no/such/home"})
    assert caught.value.code == "bad-state-dir"


def test_what_is_made_is_closed_to_others_all_the_way(tmp_path: Path) -> None:
    root = Root(f"{tmp_path}/one/two/state")
    before = os.umask(0)
    try:
        prepare(root)
    finally:
        os.umask(before)
    for path in ("one", "one/two", "one/two/state", "one/two/state/sessions"):
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o700


def test_preparing_again_changes_nothing(tmp_path: Path) -> None:
    root = Root(f"{tmp_path}/state")
    prepare(root)
    (tmp_path / "state/sessions/kept").touch()
    prepare(root)
    assert os.listdir(root.path) == ["sessions"]
    assert os.listdir(root.sessions) == ["kept"]


def test_a_directory_that_is_not_there_yet_is_no_trouble(tmp_path: Path) -> None:
    check(Root(f"{tmp_path}/nowhere"))
    check(root_at(tmp_path / "empty"))


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o720, 0o740, 0o755, 0o777])
def test_a_directory_open_to_others_is_refused_and_not_repaired(tmp_path: Path, mode: int) -> None:
    root = root_at(tmp_path / "state", mode)
    message = refusal(root)
    assert f"mode {mode:o}" in message
    assert f"chmod 700 {root.path}" in message
    assert stat.S_IMODE(os.stat(root.path).st_mode) == mode


def test_sessions_open_to_others_are_refused_too(tmp_path: Path) -> None:
    root = root_at(tmp_path / "state")
    root_at(tmp_path / "state/sessions", 0o755)
    assert f"{root.sessions} is open to others" in refusal(root)


def test_a_refused_directory_is_left_as_it_was(tmp_path: Path) -> None:
    root = root_at(tmp_path / "project", 0o755)
    refusal(root)
    assert os.listdir(root.path) == []


def test_a_directory_of_somebody_else_is_refused(somebody_elses: str) -> None:
    assert "belongs to uid" in refusal(Root(somebody_elses))


def test_a_link_is_refused_wherever_it_leads(tmp_path: Path) -> None:
    root_at(tmp_path / "real")
    for name, target in (("link", "real"), ("dangling", "nowhere")):
        (tmp_path / name).symlink_to(tmp_path / target)
        assert "is a symbolic link" in refusal(Root(f"{tmp_path}/{name}"))


def test_a_file_in_the_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "not a directory" in refusal(Root(f"{tmp_path}/file"))
    root = root_at(tmp_path / "state")
    (tmp_path / "state/sessions").touch()
    assert f"{root.sessions} is not a directory" in refusal(root)


def test_what_cannot_be_looked_at_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "File name too long" in refusal(Root(f"{tmp_path}/{'x' * 300}"))


def test_what_cannot_be_made_is_refused_with_the_reason_and_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(NotPermitted, match="No such file or directory; set ORCHCTL_STATE_DIR") as caught:
        prepare(Root(f"{tmp_path}/dangling/state"))
    assert caught.value.code == "bad-state-dir"


@pytest.mark.parametrize("length", [SUN_PATH_BYTES - 1, SUN_PATH_BYTES, SUN_PATH_BYTES + 1, 250])
def test_a_socket_can_be_bound_and_reached_however_long_its_path_is(short: str, length: int) -> None:
    folder = f"{short}/{'d' * (length - len(short) - 3)}"
    os.mkdir(folder)
    path = f"{folder}/s"
    assert len(path) == length
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as caller:
        with socket_address(path) as address:
            assert (address == path) == (length <= SUN_PATH_BYTES)
            listener.bind(address)
        assert stat.S_ISSOCK(os.stat(path).st_mode)
        listener.listen()
        with socket_address(path) as address:
            caller.connect(address)


def test_no_descriptor_is_left_open_by_a_long_path(short: str) -> None:
    folder = f"{short}/{'d' * 120}"
    os.mkdir(folder)
    with socket_address(f"{folder}/s") as address:
        assert os.path.samefile(os.path.dirname(address), folder)
    assert folder not in {os.path.realpath(entry.path) for entry in os.scandir("/proc/self/fd")}


def test_bytes_count_and_not_characters(short: str) -> None:
    path = f"{short}/{'ä' * 60}"
    assert len(path) <= SUN_PATH_BYTES
    with socket_address(path) as address:
        assert address != path


def _default_root(home: Path) -> Root:
    root = Root(f"{home}/state", str(home))
    prepare(root)
    return root


def test_the_place_of_the_settings_is_written_down_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{tmp_path}/settings/")
    root = _default_root(tmp_path)
    assert root.config == f"{tmp_path}/settings/orchctl/config.toml"
    before = os.stat(root.config_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{tmp_path}/others")
    monkeypatch.setenv("HOME", "/nonexistent")
    prepare(root)
    assert root.config == f"{tmp_path}/settings/orchctl/config.toml"
    assert os.stat(root.config_path).st_ino == before.st_ino
    assert sorted(os.listdir(root.path)) == ["config-path", "sessions"]
    assert (os.environ["HOME"], os.environ["XDG_CONFIG_HOME"]) == ("/nonexistent", f"{tmp_path}/others")


def test_many_that_make_a_state_directory_at_once_agree(tmp_path: Path) -> None:
    root = Root(f"{tmp_path}/state", str(tmp_path))
    prepare(Root(root.path))
    seen: list[str] = []

    def make(number: int) -> None:
        paths.write_config_path(root, f"/place/{number}", replace=False)
        seen.append(root.config)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 20
    assert len(set(seen)) == 1


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"settings.toml\n", "is not an absolute path: 'settings.toml'"),
        (b"~/settings.toml", "is not an absolute path"),
        (b"/a\0b\n", "is not a path"),
        (b"/" + b"x" * 5000, "is not a path"),
    ],
)
def test_what_names_no_file_is_refused_and_not_repaired(tmp_path: Path, written: bytes, reason: str) -> None:
    root = _default_root(tmp_path)
    Path(root.config_path).write_bytes(written)
    prepare(root)
    with pytest.raises(NotPermitted, match="config path --set PATH") as caught:
        find_config(root)
    assert (caught.value.code, reason in caught.value.message) == ("bad-config-path", True)
    assert root.config_if_known is None
    assert Path(root.config_path).read_bytes() == written


@pytest.mark.parametrize("name", [b"a b", b"caf\xe9\xff", b"a\nb", b"'\"$x"])
def test_the_settings_may_have_any_path(tmp_path: Path, name: bytes) -> None:
    root = Root(f"{tmp_path}/state")
    path = f"{tmp_path}/{os.fsdecode(name)}"
    set_config(root, path)
    assert root.config == path
    Path(root.config_path).write_bytes(os.fsencode(path))  # an editor may leave out the newline
    assert root.config == path


def test_a_disk_that_is_full_does_not_keep_anybody_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = Root(f"{tmp_path}/state", str(tmp_path))
    Path(f"{tmp_path}/state").mkdir(0o700)
    Path(f"{root.config_path}.new").mkdir()  # nothing can be written there
    prepare(root)
    assert root.config == f"{tmp_path}/.config/orchctl/config.toml"
