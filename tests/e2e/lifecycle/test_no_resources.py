"""A machine that has no process, terminal or memory to give: what is asked for fails clearly, and nothing else does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.e2e import pair_processes
from tests.e2e.injection import injected
from tests.needs import memory_groups, needs
from tests.nobody import NOBODY, NobodysWorld, nobodys_world
from tests.world import DEADLINE_S, ORCHCTL, World, until

FORKS = "clone,?clone3,?fork,?vfork"


def _zygote(world: World) -> int:
    return int(world.json("supervisor", "status")["zygote"])


@needs("strace", "root")
def test_a_zygote_that_cannot_fork_refuses_the_session_and_lives(world: World) -> None:
    """F34."""
    live = world.ok("spawn", "--", "sh", "-c", "read go; exit 3")
    zygote = _zygote(world)
    with injected(zygote, FORKS, "error=EAGAIN"):
        refused = world.run("spawn", "--json", "--", "true")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "no-resources")
        assert os.strerror(11).encode() in refused.stderr
        assert world.run("spawn", "--wait", "--", "true").returncode == 125
    assert [one["id"] for one in world.json("list", "-a")] == [live]
    assert _zygote(world) == zygote
    world.ok("send", live, "go")
    with world.client() as client:
        assert client.wait(live).exit_code == 3
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 4").returncode == 4


@needs("strace", "root")
def test_a_zygote_that_cannot_fork_tries_again_to_start_a_supervisor(world: World) -> None:
    """F34."""
    session = world.ok("spawn", "--", "sleep", "1000")
    zygote, supervisor = _zygote(world), world.supervisor()
    with injected(zygote, FORKS, "error=EAGAIN:when=1..3"):
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: world.supervisor() != supervisor)
    assert _zygote(world) == zygote
    assert world.json("info", session)["is_alive"]


@needs("strace", "root")
def test_a_keeper_that_cannot_fork_tries_again_to_start_a_mover(world: World) -> None:
    """F34."""
    session = world.ok("spawn", "--", "sh", "-c", "read go; echo got $go; exit 5")
    keeper = pair_processes.keeper(world, session)
    with injected(keeper, FORKS, "error=EAGAIN:when=1..2"):
        pair_processes.kill_mover(world, session)
        world.ok("send", session, "on")
        with world.client() as client:
            assert client.wait(session).exit_code == 5
    assert world.log(session) == b"on\r\ngot on\r\n"


@needs("strace", "root")
def test_a_supervisor_that_cannot_fork_tries_again_to_start_a_zygote(world: World) -> None:
    """F34."""
    session = world.ok("spawn", "--", "sleep", "1000")
    zygote, supervisor = _zygote(world), world.supervisor()
    with injected(supervisor, "clone,?fork,?vfork", "error=EAGAIN:when=1..2"):
        os.kill(zygote, signal.SIGKILL)
        until(lambda: world.json("supervisor", "status")["zygote"] not in (None, zygote))
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 4").returncode == 4
    assert (world.supervisor(), world.json("info", session)["is_alive"]) == (supervisor, True)


_FEW_TERMINALS = """
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,max=2 devpts /dev/pts && exec "$@"
"""


@needs("namespaces")
def test_without_a_terminal_left_the_asker_is_told_so_and_one_is_free_after_an_end(world: World) -> None:
    """F35: two terminals in all, for everything that is started from this supervisor."""
    words = ["unshare", "--mount", "sh", "-c", _FEW_TERMINALS, "sh", ORCHCTL, "supervisor", "run"]
    with subprocess.Popen(words, env=world.env, stderr=subprocess.PIPE) as running:
        try:
            until(lambda: world.run("supervisor", "status").returncode == 0)
            taken = [world.ok("spawn", "--", "sleep", "1000") for _ in range(2)]
            refused = world.run("spawn", "--json", "--", "sleep", "1000")
            assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "no-resources")
            assert b"pseudo-terminal" in refused.stderr
            assert world.run("spawn", "--wait", "--no-pty", "--", "true").returncode == 0  # that needs none
            assert sorted(one["id"] for one in world.json("list")) == sorted(taken)
            world.ok("kill", "--grace", "0s", taken[0])
            assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 6").returncode == 6
        finally:
            world.end()
            running.communicate(timeout=DEADLINE_S)


@pytest.fixture(params=["root", "another user"])
def anyones_world(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """Root may lower a score too, and other users may not."""
    if request.param == "root":
        yield world
    else:
        with nobodys_world(world) as made:
            yield made


def _score(pid: int) -> int:
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())


@needs("root")
def test_when_memory_runs_out_programs_go_before_what_keeps_them(anyones_world: World) -> None:
    """F37: by 100 above ours, up to the highest there is."""
    world, before = anyones_world, _score(os.getpid())
    inherited = 0 if isinstance(world, NobodysWorld) else 950
    _set_score(inherited)
    try:
        assert world.run("supervisor", "start").returncode == 0
    finally:
        _set_score(before)
    session = world.ok("spawn", "--", "sh", "-c", "sleep 1000 & echo $!; wait")
    until(lambda: world.log(session).endswith(b"\n"))
    programs = [world.json("info", session)["pid"], int(world.log(session))]
    status = world.json("supervisor", "status")
    ours = [
        status["pid"],
        status["zygote"],
        pair_processes.keeper(world, session),
        pair_processes.mover(world, session),
    ]
    assert [_score(pid) for pid in ours] == [inherited] * 4
    until(lambda: [_score(pid) for pid in programs] == [min(1000, inherited + 100)] * 2)


def _set_score(value: int) -> None:
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(str(value))


_BOMB = """
import os, resource, signal, sys
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_NPROC, (int(sys.argv[1]),) * 2)
while True:
    try:
        os.fork()
    except OSError:  # as many as there may be: whoever ends is replaced at once
        pass
"""


@needs("root")
def test_a_session_that_forks_as_fast_as_it_can_ends_with_everything_it_started(world: World) -> None:
    """F36: of a user who is not root, because the number of root's processes has no limit."""
    with nobodys_world(world) as nobody:
        other = nobody.ok("spawn", "--", "sh", "-c", "read go; exit 8")
        limit = 60 + _processes_of_nobody()
        session = nobody.ok("spawn", "--", sys.executable, "-c", _BOMB, str(limit))
        until(lambda: _processes_of_nobody() >= limit - 5, lambda: f"only {_processes_of_nobody()} of {limit}")
        report = nobody.json("kill", "--grace", "0s", session)
        assert (report["ended"], report["survivors"]) == ([session], [])
        assert nobody.json("list")[0]["id"] == other
        assert _bombs(session) == []


def _bombs(session: str) -> list[int]:
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_of(pid, session)]


def _is_of(pid: int, session: str) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return f"ORCHCTL_SESSION={session}".encode() in file.read().split(b"\0")
    return False


def _processes_of_nobody() -> int:
    owners = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/status", "rb") as file:
            owners += [int(line.split()[1]) for line in file if line.startswith(b"Uid:")]
    return owners.count(NOBODY)


LIMIT_BYTES = 512 << 20  # a tenth of it, by which a program goes first, is more than a supervisor has
_HOG = """
import os, sys, time
while os.fork():
    time.sleep(0.1)
held = bytearray(os.urandom(1 << 20)) * 16  # less than a supervisor has
time.sleep(1000)
"""


@pytest.fixture
def memory_group() -> Iterator[str]:
    """A control group of the test's own; whoever is in it has no more than `LIMIT_BYTES`."""
    folder = f"{memory_groups()}/orchctl-test-{os.getpid()}"
    os.mkdir(folder)
    try:
        limit = next(name for name in ("memory.max", "memory.limit_in_bytes") if os.path.exists(f"{folder}/{name}"))
        with open(f"{folder}/{limit}", "w", encoding="ascii") as file:
            file.write(str(LIMIT_BYTES))
        yield folder
    finally:
        until(lambda: _is_emptied(folder), lambda: f"in {folder}: {_read(f'{folder}/cgroup.procs').split()}")
        os.rmdir(folder)


def _is_emptied(group: str) -> bool:
    """Nothing but what a failed test left is in it by now."""
    left = [int(word) for word in _read(f"{group}/cgroup.procs").split()]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not left


@pytest.mark.long
@needs("memory-cgroup")
def test_a_session_that_takes_all_memory_is_ended_and_nothing_of_ours_is(world: World, memory_group: str) -> None:
    """F37: everything is in one group, and each of the session's processes is smaller than the supervisor."""
    enter = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    words = ["sh", "-c", enter, memory_group, ORCHCTL, "supervisor", "run"]
    with subprocess.Popen(words, env=world.env, stderr=subprocess.PIPE) as running:
        try:
            until(lambda: world.run("supervisor", "status").returncode == 0)
            quiet = world.ok("spawn", "--no-pty", "--", "sh", "-c", "sleep 1000")
            before = world.json("supervisor", "status")
            session = world.ok("spawn", "--", sys.executable, "-c", _HOG)
            ours = [pair_processes.keeper(world, one) for one in (quiet, session)]
            until(lambda: _killed_for_memory(memory_group) >= 3, "the memory never ran out")
            after = world.json("supervisor", "status")
            assert (after["pid"], after["zygote"]) == (before["pid"], before["zygote"])
            assert [pair_processes.keeper(world, one) for one in (quiet, session)] == ours
            world.ok("kill", "--grace", "0s", session)
        finally:
            world.end()
            running.communicate(timeout=DEADLINE_S)


def _killed_for_memory(group: str) -> int:
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            words = [line.split() for line in _read(f"{group}/{name}").splitlines()]
            return int(dict(words).get("oom_kill", 0))
    return 0


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()
