"""Whatever a session started ends with it, however it tried to get away; what nobody may end is named."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.e2e import pair_processes
from tests.needs import needs
from tests.nobody import NOBODY, NobodysWorld, nobodys_world
from tests.world import ORCHCTL, World, until

_SLEEPER = """/bin/sh -c 'echo $$ >"$0"; exec /bin/sleep 1000'"""  # followed by the file that gets its pid
_SCRIPT = f"""
set -m
{_SLEEPER} "$0/background" &
set +m
nohup {_SLEEPER} "$0/disowned" >"$0/nohup.out" 2>&1 & disown
setsid {_SLEEPER} "$0/own-session" &
(setsid {_SLEEPER} "$0/double-fork" &)
(env -i setsid {_SLEEPER} "$0/double-fork-bare" </dev/null >/dev/null 2>&1 &)
(trap '' TERM HUP INT; exec {_SLEEPER} "$0/stubborn") &
{_SLEEPER} "$0/foreground"
true
"""
NAMES = ("background", "disowned", "double-fork", "double-fork-bare", "foreground", "own-session", "stubborn")


@contextlib.contextmanager
def _escapees(world: World, name: str) -> Iterator[dict[str, int]]:
    """A session of that name, and the pids of the seven it started; those a failed test leaves are ended by pid."""
    folder = f"{world.folder}/{name}"
    os.mkdir(folder)
    os.chown(folder, *_owner(world))
    world.ok("spawn", "--name", name, "--", "bash", "-c", _SCRIPT, folder)
    try:
        until(lambda: len(_noted(folder)) == len(NAMES))
        pids = _noted(folder)
        keeper = _parent(world.json("info", name)["pid"])
        for orphan in ("double-fork", "double-fork-bare"):
            until(lambda orphan=orphan: _parent(pids[orphan]) == keeper)  # type: ignore[misc]
        yield pids
    finally:
        for pid in _noted(folder).values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _owner(world: World) -> tuple[int, int]:
    return (NOBODY, NOBODY) if isinstance(world, NobodysWorld) else (os.getuid(), os.getgid())


def _noted(folder: str) -> dict[str, int]:
    found = {}
    for name in NAMES:
        with contextlib.suppress(FileNotFoundError), open(f"{folder}/{name}", encoding="ascii") as file:
            if (word := file.read()).endswith("\n"):
                found[name] = int(word)
    return found


@pytest.mark.parametrize("supervisor", ["is there", "was killed just before"])
def test_seven_escapees_of_one_session_are_gone_when_kill_answers(world: World, supervisor: str) -> None:
    with _escapees(world, "one") as first, _escapees(world, "two") as second:
        _kill_supervisor(world, really=supervisor != "is there")
        assert world.ok("kill", "--grace", "500ms", "one") == "1"
        assert _left(first) == []
        assert _left(second) == list(second)
        _kill_supervisor(world, really=supervisor != "is there")
        report = world.json("kill", "--grace", "500ms", "two")
        assert _left(second) == []
        assert (len(report["ended"]), report["already_ended"], report["survivors"]) == (1, [], [])
    assert {world.json("info", name)["end_reason"] for name in ("one", "two")} == {"killed"}


@pytest.mark.parametrize("keepers", [1, 2])
def test_without_the_first_keeper_escapees_are_found_by_their_environment_and_the_rest_is_named(
    world: World, keepers: int
) -> None:
    """One cleared its environment and left its parents and its terminal: nothing tells whose it is."""
    with _escapees(world, "one") as first, _escapees(world, "two") as second:
        for session in (world.json("info", name)["id"] for name in ("one", "two")):
            for _ in range(keepers):
                pair_processes.kill_keeper(world, session)
        bare = [pids["double-fork-bare"] for pids in (first, second)]
        done = world.run("kill", "--grace", "500ms", "--json", "one")
        report = json.loads(done.stdout)
        assert (done.returncode, len(report["ended"]), report["survivors"]) == (1, 1, [])
        assert sorted(report["unproven"]) == sorted(bare)
        assert all(str(pid).encode() in done.stderr for pid in bare)
        until(lambda: _left(first) == ["double-fork-bare"])  # reaped by another process than the keeper
        assert _left(second) == list(second)
        os.kill(bare[0], signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{bare[0]}"))
        os.kill(bare[1], signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{bare[1]}"))
        assert world.json("kill", "--grace", "500ms", "one", "two")["unproven"] == []
        until(lambda: _left(second) == [])


def test_a_supervisor_that_was_started_in_a_session_is_not_taken_for_its_own(world: World) -> None:
    """The keeper is killed, and what it started is found by its environment, which daemons inherit."""
    inner = f"{world.folder}/inner"
    words = ["env", f"ORCHCTL_STATE_DIR={inner}", ORCHCTL]
    with_inner = [
        "sh",
        "-c",
        '"$@"; echo started; read go',
        "sh",
        *words,
        "spawn",
        "--name",
        "in",
        "--",
        "sleep",
        "1000",
    ]
    session = world.ok("spawn", "--", *with_inner)
    until(lambda: b"started" in world.log(session))
    try:
        pair_processes.kill_keeper(world, session)
        assert world.json("kill", "--grace", "500ms", session)["unproven"] == []
        env = {**world.env, "ORCHCTL_STATE_DIR": inner}
        assert json.loads(world.ok("list", "--json", env=env))[0]["is_alive"]
    finally:
        world.run("supervisor", "stop", "--kill", env={**world.env, "ORCHCTL_STATE_DIR": inner})


def _kill_supervisor(world: World, *, really: bool) -> None:
    if really:
        os.kill(world.supervisor(), signal.SIGKILL)


def _left(pids: dict[str, int]) -> list[str]:
    """Those that have an entry yet, be it a zombie's."""
    return [name for name, pid in pids.items() if os.path.exists(f"/proc/{pid}")]


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


@pytest.fixture
def nobody(world: World) -> Iterator[NobodysWorld]:
    """A world of a user who is not root."""
    with nobodys_world(world) as made:
        yield made


@pytest.fixture
def survivor(nobody: NobodysWorld) -> Iterator[int]:
    """The pid of a root's process in the session `s` of a user who may not signal it."""
    noted, become_root = f"{nobody.home}/noted", f"{nobody.folder}/become-root"
    os.mkdir(noted, 0o700)
    os.chown(noted, NOBODY, NOBODY)
    shutil.copy(shutil.which("setpriv") or "setpriv", become_root)
    os.chmod(become_root, 0o4755)
    # in a session of its own, because the kernel asks nobody when it sends HUP to a terminal's foreground
    script = f'"$1" --reuid=0 --regid=0 --clear-groups setsid {_SLEEPER} "$0/foreground"; true'
    nobody.ok("spawn", "--name", "s", "--", "sh", "-c", script, noted, become_root)
    try:
        until(lambda: _noted(noted))
        pid = _noted(noted)["foreground"]
        yield pid
        assert os.path.exists(f"/proc/{pid}")
    finally:
        for pid in _noted(noted).values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    nobody.ok("supervisor", "stop", "--kill")
    assert not os.path.exists(f"/proc/{pid}")  # its keeper has stayed for it, and reaped it


@needs("root")
def test_escapees_of_another_user_are_found_by_their_environment_and_the_rest_is_named(nobody: NobodysWorld) -> None:
    """Nothing but the processes of its own is open to a user who is not root."""
    with _escapees(nobody, "one") as pids:
        pair_processes.kill_keeper(nobody, nobody.json("info", "one")["id"])
        done = nobody.run("kill", "--grace", "500ms", "--json", "one")
        assert (done.returncode, json.loads(done.stdout)["unproven"]) == (1, [pids["double-fork-bare"]])
        until(lambda: _left(pids) == ["double-fork-bare"])


@needs("root")
def test_a_process_that_may_not_be_signalled_is_named_as_a_survivor(nobody: NobodysWorld, survivor: int) -> None:
    done = nobody.run("kill", "--grace", "200ms", "--json", "s")
    assert done.returncode == 1
    assert json.loads(done.stdout)["survivors"] == [survivor]
    assert str(survivor).encode() in done.stderr


@needs("root")
def test_a_survivor_is_named_again_when_it_is_killed_again(nobody: NobodysWorld, survivor: int) -> None:
    reports = [json.loads(nobody.run("kill", "--grace", "200ms", "--json", "s").stdout) for _ in range(2)]
    assert [report["survivors"] for report in reports] == [[survivor], [survivor]]
    assert [len(report["ended"]) for report in reports] == [1, 0]
