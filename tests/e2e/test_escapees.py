"""Whatever a session started ends with it, however it tried to get away; what nobody may end is named."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.needs import needs
from tests.nobody import NOBODY, NobodysWorld, nobodys_world
from tests.world import World, until

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
