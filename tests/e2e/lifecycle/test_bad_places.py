"""Bad surroundings: state directories, homes, disks, streams, limits and masks that are not as they should be."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import socket
import stat
import subprocess
from collections.abc import Iterator

import pytest

from tests.needs import needs
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

NOBODY = 65534
NO_OVERRIDE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []  # obeys modes


def shell(world: World, script: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """A script in which `orchctl` is ours."""
    return subprocess.run(
        ["bash", "-c", script.replace("orchctl", ORCHCTL)],
        env=world.env | env,
        capture_output=True,
        timeout=DEADLINE_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def error_of(done: subprocess.CompletedProcess[bytes]) -> tuple[int, str]:
    """The exit code, and the code of the one error that was told."""
    assert b"Traceback" not in done.stderr
    return done.returncode, json.loads(done.stderr)["code"]


def _file(path: str) -> None:
    open(path, "wb").close()


def _link(path: str) -> None:
    os.mkdir(f"{path}-real", 0o700)
    os.symlink(f"{path}-real", path)


def _foreign(path: str) -> None:
    os.mkdir(path, 0o700)
    os.chown(path, NOBODY, NOBODY)


def _open(path: str) -> None:
    os.mkdir(path)
    os.chmod(path, 0o777)


def _socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


BAD_STATES = {
    "a file": (_file, "is not a directory"),
    "a link": (_link, "is a symbolic link"),
    "foreign": (_foreign, "belongs to uid 65534"),
    "open to all": (_open, "'chmod 700"),
    "a fifo": (os.mkfifo, "is not a directory"),
    "a socket": (_socket, "is not a directory"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs("root") if name == "foreign" else ()) for name in BAD_STATES]
)
def test_a_state_directory_that_is_not_ours_alone_is_refused_and_left_alone(world: World, name: str) -> None:
    make, reason = BAD_STATES[name]
    bad = f"{world.folder}/bad"
    make(bad)
    before = os.lstat(bad)
    for words in (["spawn", "true"], ["list"], ["supervisor", "status"], ["info", "x"]):
        done = world.run(*words, env=world.env | {"ORCHCTL_STATE_DIR": bad})
        assert done.returncode == 4
        assert done.stderr.decode().startswith(f"orchctl: the state directory {bad} ")
        assert reason in done.stderr.decode()
        asked = ["spawn", "--json", "true"] if words[0] == "spawn" else [*words, "--json"]
        told = world.run(*asked, env=world.env | {"ORCHCTL_STATE_DIR": bad})
        assert error_of(told) == (4, "bad-state-dir")
    after = os.lstat(bad)
    assert (after.st_mode, after.st_uid, after.st_ino) == (before.st_mode, before.st_uid, before.st_ino)


def test_a_relative_state_directory_is_refused(world: World) -> None:
    done = world.run("spawn", "--json", "true", env=world.env | {"ORCHCTL_STATE_DIR": "state"})
    assert error_of(done) == (2, "bad-state-dir")


@needs("strace")
@pytest.mark.parametrize("lock", ["start.lock", "supervisor.lock"])
def test_where_files_cannot_be_locked_no_supervisor_starts(world: World, lock: str) -> None:
    """F74: a network file system may have no locks, and without them two supervisors could run."""
    path = f"{world.state}/{lock}"
    fault = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", "inject=flock:error=ENOLCK"]
    words = [*fault, ORCHCTL, "spawn", "--json", "true"]
    done = subprocess.run(words, env=world.env, capture_output=True, timeout=DEADLINE_S, check=False)
    status, code = error_of(done)
    assert (status, code) == (8, "no-locks" if lock == "start.lock" else "supervisor-unreachable")
    assert f"cannot lock {path}: No locks available" in json.loads(done.stderr)["message"]
    assert done.stdout == b""
    assert processes_of(world.folder) == []
    assert not os.path.exists(f"{world.state}/supervisor.sock")
    assert world.run("spawn", "--wait", "sh", "-c", "exit 3").returncode == 3  # with locks it works


PLACES = {
    "of 200 bytes": b"p" * 90 + b"/" + b"q" * 109,
    "with spaces": b" a  b ",
    "with a newline": b"a\nb",
    "not utf-8": b"caf\xe9\xff",
    "with quotes and dollars": b"'\"$HOME`x`",
    "with escapes": b"\x1b]0;x\x07",
}


@pytest.mark.parametrize("name", PLACES)
def test_a_state_directory_with_any_path_works(world: World, name: str) -> None:
    world.state = f"{world.folder}/{os.fsdecode(PLACES[name])}"
    world.env["ORCHCTL_STATE_DIR"] = world.state
    done = world.run("spawn", "--follow", "sh", "-c", "echo here; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"here\n", b"")
    world.ok("spawn", "--name", "shell", "bash")
    assert world.ok("exec", "shell", "echo $((6*7))") == "42"
    assert len(world.json("list", "-a")) == 2


@pytest.mark.parametrize("home", [None, "/nonexistent", "relative", "", pytest.param("foreign", marks=needs("root"))])
def test_without_a_home_of_ours_the_password_entry_says_where(world: World, home: str | None) -> None:
    env = {name: value for name, value in world.env.items() if name not in ("HOME", "ORCHCTL_STATE_DIR")}
    if home == "foreign":  # as sudo leaves it
        home = f"{world.folder}/foreign"
        _foreign(home)
    told = world.run("supervisor", "status", "--json", env=env | ({"HOME": home} if home is not None else {}))
    assert json.loads(told.stdout)["state_dir"].startswith(f"{pwd.getpwuid(os.geteuid()).pw_dir}/.local/state/orchctl/")
    assert told.stderr == b""


@pytest.mark.parametrize("how", ["mode", pytest.param("mount", marks=needs("namespaces"))])
def test_a_home_that_cannot_be_written_is_a_clear_error(world: World, how: str) -> None:
    home = f"{world.folder}/home"
    os.mkdir(home, 0o500)
    with contextlib.ExitStack() as stack:
        if how == "mount":
            subprocess.run(["mount", "--bind", home, home], check=True)
            stack.callback(subprocess.run, ["umount", "-l", home], check=True)
            subprocess.run(["mount", "-o", "remount,bind,ro", home], check=True)
        for words in (["spawn", "--json", "true"], ["supervisor", "start", "--json"]):
            done = subprocess.run(
                [*NO_OVERRIDE, "env", "-u", "ORCHCTL_STATE_DIR", f"HOME={home}", ORCHCTL, *words],
                env=world.env,
                capture_output=True,
                check=False,
            )
            assert error_of(done) == (4, "bad-state-dir")
            assert "set ORCHCTL_STATE_DIR" in json.loads(done.stderr)["message"]
        done = subprocess.run(
            [*NO_OVERRIDE, "env", "-u", "ORCHCTL_STATE_DIR", f"HOME={home}", ORCHCTL, "list", "--json"],
            env=world.env,
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout) == []


def test_a_directory_that_cannot_be_entered_is_a_clear_error(world: World) -> None:
    locked = f"{world.folder}/locked"
    os.mkdir(locked, 0o000)
    words = [*NO_OVERRIDE, ORCHCTL, "spawn", "--json", "-w", locked, "true"]
    done = subprocess.run(words, env=world.env, capture_output=True, check=False)
    os.rmdir(locked)  # what is left of it could be removed by nobody but root
    assert error_of(done) == (2, "bad-cwd")
    assert "Permission denied" in json.loads(done.stderr)["message"]
    assert world.json("list", "-a") == []


@pytest.fixture
def small(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """A state directory on a file system of one megabyte, or of a few files."""
    os.mkdir(world.state, 0o700)
    options = f"size=1m,mode=700,nr_inodes={request.param}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", world.state], check=True)
    try:
        yield world
        for name in os.listdir(world.state):
            if name.startswith("filler"):
                os.unlink(f"{world.state}/{name}")
        world.end()
    finally:
        subprocess.run(["umount", "-l", world.state], check=True)


@pytest.mark.parametrize(("small", "what"), [(0, "bytes"), (60, "inodes")], indirect=["small"], ids=["bytes", "inodes"])
@needs("namespaces")
def test_a_full_disk_is_a_clear_error_and_nothing_is_half_created(small: World, what: str) -> None:
    before = small.ok("spawn", "--name", "before", "sleep", "1000")
    if what == "bytes":
        room = os.statvfs(small.state)
        with open(f"{small.state}/filler", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
    else:
        for number in range(os.statvfs(small.state).f_favail):
            _file(f"{small.state}/filler{number}")
    for _ in range(3):
        done = small.run("spawn", "--json", "sleep", "1000")
        status, code = error_of(done)
        assert status not in (0, 127)
        assert code not in ("internal", "os-error"), done
        assert "No space left" in json.loads(done.stderr)["message"]
    assert small.ok("list", "-a", "-q") == before
    assert os.listdir(f"{small.state}/sessions") == [before]
    for name in os.listdir(small.state):
        if name.startswith("filler"):
            os.unlink(f"{small.state}/{name}")
    small.ok("spawn", "sleep", "1000")
    assert len(small.json("list")) == 2


CLOSED = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-", "all three": "<&- >&- 2>&-"}


@pytest.mark.parametrize("name", CLOSED)
def test_with_streams_closed_everything_works_and_nothing_goes_astray(world: World, name: str) -> None:
    closing = CLOSED[name]
    assert shell(world, f"orchctl spawn --name s sh -c 'echo out; exec sleep 1000' {closing}").returncode == 0
    world.ok("wait", "s", "--for", "output=out")
    assert len(world.json("list")) == 1
    pid = world.supervisor()
    for words in (
        "list",
        "info s",
        "tail -n all s",
        "tail --json s",
        "events",
        "spawn --follow echo hi",
        "wait --for quiet=1ms s",
    ):
        done = shell(world, f"orchctl {words} {closing}")
        assert done.returncode == 0, (words, done)
        assert b"Traceback" not in done.stderr
        if "2" not in closing:
            assert done.stderr == b""
    assert shell(world, f"orchctl info nobody {closing}").returncode == 3
    assert world.supervisor() == pid
    with open(f"{world.state}/supervisor.log", "rb") as log:
        assert b"refused" not in log.read(), "no output was written into the supervisor's socket"


@pytest.mark.parametrize("words", ["list -a", "list --json", "info s", "tail s", "events", "--help", "spawn true"])
def test_output_that_cannot_be_written_is_an_error(world: World, words: str) -> None:
    world.ok("spawn", "--name", "s", "sh", "-c", "echo out; exec sleep 1000")
    world.ok("wait", "s", "--for", "output=out")
    done = shell(world, f"orchctl {words} >/dev/full")
    if "--json" in words:
        assert error_of(done) == (1, "os-error")
    else:
        assert (done.returncode, done.stderr) == (1, b"orchctl: the system refuses: No space left on device\n")
    assert world.json("info", "s")["is_alive"] is True


def test_with_twenty_descriptors_it_works_or_says_why(world: World) -> None:
    done = shell(world, "ulimit -S -n 20; orchctl spawn --json sh -c 'ulimit -n; exec sleep 1000'")
    if done.returncode:
        assert done.returncode in (1, 6, 8)
        assert b"Traceback" not in done.stderr
        assert json.loads(done.stderr)["message"]
    else:
        assert world.ok("wait", "@last", "--for", "output=20") == "20"
    assert world.run("list").returncode in (0, 6)
    for pid in processes_of(world.folder):  # so that it can be ended
        subprocess.run(["prlimit", f"--pid={pid}", "--nofile=1024:"], check=True)


@pytest.mark.parametrize("mask", ["000", "777"])
def test_modes_are_exact_whatever_the_mask(world: World, mask: str) -> None:
    done = shell(world, f"umask {mask}; orchctl spawn --name s sh -c 'umask; exec sleep 1000'")
    assert done.returncode == 0, done
    world.ok("wait", "s", "--for", f"output=0?{mask}")
    world.ok("spawn", "--name", "shell", "bash")
    assert world.ok("exec", "shell", "echo hi") == "hi"
    for folder, names, files in os.walk(world.state):
        for name in names:
            assert stat.S_IMODE(os.lstat(f"{folder}/{name}").st_mode) == 0o700, name
        for name in files:
            found = os.lstat(f"{folder}/{name}").st_mode
            assert stat.S_IMODE(found) == (0o700 if stat.S_ISSOCK(found) else 0o600), name


@pytest.mark.parametrize("ignored", ["CHLD", "PIPE", "HUP", "INT TERM QUIT TSTP USR1"])
def test_signals_that_the_starter_ignores_change_nothing(world: World, ignored: str) -> None:
    done = shell(world, f"trap '' {ignored}; orchctl spawn --wait sh -c 'exit 5'; echo $?")
    assert done.stdout.split()[-1] == b"5", done
    assert world.run("spawn", "--wait", "sh", "-c", "kill -HUP $$; exit 1").returncode == 129
    assert world.run("spawn", "--wait", "sh", "-c", "kill -PIPE $$; exit 1").returncode == 141
    done = shell(world, f"trap '' {ignored}; orchctl spawn --follow sh -c 'grep SigIgn /proc/self/status'")
    assert int(done.stdout.split()[-1], 16) & 0x7FFFFFFF == 0


def test_cron_and_a_login_shell_reach_one_supervisor(world: World) -> None:
    home = f"{world.folder}/home"
    os.mkdir(home, 0o700)
    cron = f"env -i HOME={home} PATH=/usr/bin:/bin SHELL=/bin/sh LOGNAME=x setsid -w orchctl"
    env = {"HOME": home, "XDG_STATE_HOME": f"{home}/elsewhere", "XDG_RUNTIME_DIR": f"{home}/run", "LANG": "C.UTF-8"}
    del world.env["ORCHCTL_STATE_DIR"]
    try:
        assert shell(world, f"{cron} spawn --name from-cron sleep 1000 <&- >&- 2>&-", **env).returncode == 0
        told = shell(world, "orchctl supervisor status --json", **env)
        again = shell(world, f"{cron} supervisor status --json", **env)
        assert json.loads(told.stdout)["pid"] == json.loads(again.stdout)["pid"]
        assert shell(world, "orchctl spawn --name from-login sleep 1000", **env).returncode == 0
        listed = shell(world, f"{cron} list", **env).stdout
        assert [b"from-cron" in listed, b"from-login" in listed] == [True, True]
    finally:
        shell(world, "orchctl supervisor stop --kill", **env)
    until(lambda: processes_of(home) == [])
