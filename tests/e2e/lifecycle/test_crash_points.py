"""Each process of ours is killed just before its Nth call of one kind; no byte is lost, and no exit code.

`strace` does the killing, so that the moment is exact: between two calls there is no other point that matters on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.needs import needs
from tests.programs import pour, pour_digest
from tests.world import DEADLINE_S, World, until

KB = 1024
TOTAL, RATE = 300 * KB, 400 * KB  # so slow that a follower is there while the ring turns, and so much that it does
RING = "128K"  # 16 KiB a segment; what a follower has not read is kept up to four rings, which is more than there is
EXIT_CODE = 37
AT_ONCE = 6  # sessions that pour at the same time
LONG = range(1, 61)
LONG_CALLS = ("write", "pwrite64", "splice", "fsync", "fdatasync", "rename", "sendmsg", "sendto", "unlink")
MORE_WORK = 5  # sessions that are run to have the supervisor make the call that is due
MISSES = 3  # so many in a row that were never due: the supervisor makes no more calls of this kind

# What each of them really calls, and the calls of which the short form takes its sample: the first few, where
# files are begun and ends are told, and some in the middle of the stream. Six of a pair's cost no more than one.
POINTS: dict[str, dict[str, tuple[int, ...]]] = {
    "supervisor": {
        "sendto": (1, 2, 3, 4, 12, 30),
        "sendmsg": (1,),
        "write": (1, 2, 3, 4, 6, 8),
        "pwrite64": (1, 2, 3, 6),
        "rename": (1, 2, 3),
        "unlink": (1,),
        "fsync": (1, 2),
        "fdatasync": (1, 2, 3, 5),
    },
    "mover": {
        "splice": (1, 2, 3, 4, 5, 6, 7, 8, 29, 30, 59, 60),
        "write": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 20),
        "sendto": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20),
        "unlink": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    },
    "keeper": {"write": (1, 2, 3), "sendto": (1, 2, 3), "unlink": (1,)},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each process and call: the sample in batches, or in the long form all calls up to the sixtieth."""
    if "whens" not in metafunc.fixturenames:
        return
    cases = []
    for process, calls in POINTS.items():
        if metafunc.config.getoption("--long"):
            cases += [(process, call, tuple(LONG)) for call in LONG_CALLS]
        else:
            cases += [(process, call, batch) for call, sample in calls.items() for batch in _batches(sample)]
    ids = [f"{process}-{call}-{whens[0]}" for process, call, whens in cases]
    metafunc.parametrize(("process", "call", "whens"), cases, ids=ids)


@dataclass(frozen=True)
class Pouring:
    """A session that waits for its gate to open, then pours; and what a follower of it has got."""

    world: World
    id: str
    seed: int
    gate: int
    follower: subprocess.Popen[bytes]

    @property
    def followed(self) -> str:
        """The file with what the follower wrote."""
        return f"{self.world.folder}/followed-{self.seed}"

    def process(self, name: str) -> int:
        """The keeper's pid, or the mover's."""
        program = self.world.json("info", self.id)["pid"]
        keeper = _parent(program)
        (mover,) = (pid for pid in _children(keeper) if pid != program)
        return {"keeper": keeper, "mover": mover}[name]

    def open_gate(self) -> None:
        """Let it pour."""
        os.write(self.gate, b"\n")

    def check(self) -> None:
        """Every byte has come, and the end is told as it was."""
        assert self.follower.wait(DEADLINE_S) == 0
        with open(self.followed, "rb") as file:
            assert file.read(1) == b"x"
            assert hashlib.sha256(file.read()).hexdigest() == pour_digest(TOTAL, seed=self.seed)
        ended = self.world.json("info", self.id)
        assert (ended["state"], ended["end_reason"], ended["exit_code"]) == ("closed", "exited", EXIT_CODE)
        until(lambda: os.path.exists(f"{self.world.state}/sessions/{self.id}/ended.json"), "it is never archived")


@contextlib.contextmanager
def _pouring(world: World, seed: int) -> Iterator[Pouring]:
    path = f"{world.folder}/gate-{seed}"
    os.mkfifo(path)
    gate = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # both ends, so that nobody waits for anybody to open it
    try:
        program = pour(TOTAL, seed=seed, bytes_per_s=RATE, exit_code=EXIT_CODE)
        script = 'printf x; read go <"$0"; exec "$@"'
        session = world.ok("spawn", "--", "sh", "-c", script, path, *program)
        with open(f"{world.folder}/followed-{seed}", "wb") as file:
            follower = world.start("tail", "-f", "-n", "all", "--raw", session, stdout=file)
        made = Pouring(world, session, seed, gate, follower)
        try:
            until(lambda: os.path.getsize(made.followed) == 1, "nothing is followed")
            yield made
        finally:
            follower.kill()
            follower.wait()
    finally:
        os.close(gate)


@contextlib.contextmanager
def _killed_at(world: World, pid: int, call: str, when: int) -> Iterator[str]:
    """`pid` dies just before its call number `when`; gives the path of what it did until then."""
    trace = f"{world.folder}/trace-{pid}"
    words = ["strace", "-f", "-o", trace, "-p", str(pid), "-e", f"trace={call}"]
    words += ["-e", f"inject={call}:signal=SIGKILL:when={when}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        try:
            assert b"attached" in said, said + strace.stderr.read()
            yield trace
        finally:
            strace.send_signal(signal.SIGTERM)  # one that was never due lets go of the process


def _was_hit(trace: str) -> bool:
    with open(trace, encoding="utf-8", errors="replace") as file:
        return "+++ killed by SIGKILL +++" in file.read()


@needs("strace", "root")
def test_a_process_killed_at_any_point_costs_no_byte_and_no_truth(
    world: World, process: str, call: str, whens: tuple[int, ...], long_form: bool
) -> None:
    world.keep_of_each_session(RING)
    if process == "supervisor":
        hits = _kill_one_supervisor_after_the_other(world, call, whens)
    else:
        hits = _kill_of_batches(world, process, call, whens)
    print(f"{process} {call}: killed at {[when for when, hit in zip(whens, hits, strict=False) if hit]}")
    assert long_form or sum(hits) * 2 > len(whens), hits  # how many calls a pour takes depends on the machine's speed


@needs("strace", "root")
def test_what_a_follower_has_not_read_is_kept_while_its_supervisor_is_replaced(world: World) -> None:
    world.keep_of_each_session(RING)
    with _pouring(world, 1) as pouring:
        os.kill(pouring.follower.pid, signal.SIGSTOP)  # it comes back late
        os.kill(world.supervisor(), signal.SIGKILL)
        with world.client() as client:
            client.info(pouring.id)
            pouring.open_gate()
            client.wait(pouring.id)
        os.kill(pouring.follower.pid, signal.SIGCONT)
        pouring.check()


def _kill_one_supervisor_after_the_other(world: World, call: str, whens: tuple[int, ...]) -> list[bool]:
    hits: list[bool] = []
    for when in whens:
        if not any(hits[-MISSES:]) and len(hits) >= MISSES:
            break
        hits.append(_kill_the_supervisor(world, call, when))
    return hits


def _kill_the_supervisor(world: World, call: str, when: int) -> bool:
    """It is watched from before the spawn, so that this is among what is cut short."""
    with _killed_at(world, world.supervisor(), call, when) as trace, _pouring(world, when) as pouring:
        pouring.open_gate()
        pouring.check()
        for _ in range(MORE_WORK):  # how many calls a pour takes depends on the machine's speed
            if not _was_hit(trace):
                assert world.run("spawn", "--wait", "sh", "-c", "exit 7").returncode == 7
        hit = _was_hit(trace)
    _check_world(world)
    return hit


def _batches(whens: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [whens[at : at + AT_ONCE] for at in range(0, len(whens), AT_ONCE)]


def _kill_of_batches(world: World, process: str, call: str, whens: tuple[int, ...]) -> list[bool]:
    hits: list[bool] = []
    for batch in _batches(whens):
        hits += _kill_of_each_pair(world, process, call, batch)
        if not any(hits[-len(batch) :]):  # it makes no more calls of this kind
            break
    return hits


def _kill_of_each_pair(world: World, process: str, call: str, whens: tuple[int, ...]) -> list[bool]:
    with contextlib.ExitStack() as stack:
        pourings = [stack.enter_context(_pouring(world, when)) for when in whens]
        traces = [
            stack.enter_context(_killed_at(world, pouring.process(process), call, when))
            for pouring, when in zip(pourings, whens, strict=True)
        ]
        for pouring in pourings:
            pouring.open_gate()
        for pouring in pourings:
            pouring.check()
        hits = [_was_hit(trace) for trace in traces]
    _check_world(world)
    return hits


def _check_world(world: World) -> None:
    verified = world.run("verify")
    assert verified.returncode == 0, verified
    assert world.run("spawn", "--wait", "sh", "-c", "exit 7").returncode == 7


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
