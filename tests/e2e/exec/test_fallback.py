"""Where the kernel has no splice to give, bytes are read and written: all arrive, and a killed mover costs little.

`strace` makes the kernel refuse, in every process of the daemon from the first on.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.needs import needs
from tests.programs import pour_by_steps, pour_bytes, write_raw
from tests.world import DEADLINE_S, ORCHCTL, World, until

pytestmark = needs("strace")
KB = 1024
TOTAL = 2048 * KB
HELD = 64 * KB  # what a mover has in its hands at most
WINDOW = 24  # so many random bytes occur once


@contextlib.contextmanager
def _without_splice(world: World, error: str) -> Iterator[str]:
    """A daemon that gets that error from each splice; gives the path of what strace noted."""
    trace = f"{world.folder}/trace"
    words = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", trace, "-e", "trace=splice", "-e", "signal=none"]
    words += ["-e", f"inject=splice:error={error}"]
    words += [ORCHCTL, "supervisor", "run"]
    with subprocess.Popen(words, env=world.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        try:
            until(lambda: world.run("supervisor", "status").returncode == 0)
            yield trace
        finally:
            world.run("supervisor", "stop", "--kill")
            running.communicate(timeout=DEADLINE_S)


def _check_refused(trace: str, error: str, at_least: int) -> None:
    with open(trace, encoding="ascii", errors="replace") as file:
        calls = [line for line in file if "splice(" in line]
    assert len(calls) >= at_least
    assert [line for line in calls if f"{error} " not in line or "(INJECTED)" not in line] == []


@pytest.mark.parametrize("error", ["EINVAL", "ENOSYS"])
def test_terminals_and_pipes_are_byte_exact_without_splice(world: World, error: str) -> None:
    data = pour_bytes(TOTAL, seed=3)
    path = f"{world.folder}/data"
    with open(path, "wb") as file:
        file.write(data)
    with _without_splice(world, error) as trace:
        session = world.ok("spawn", "--", *write_raw(path, exit_code=11))
        followed = world.run("tail", "-f", "-n", "all", "--raw", "--exit-status", session)
        assert (followed.returncode, followed.stdout == data, world.log(session) == data) == (11, True, True)
        script = "cat $0; cat $0 >&2; exit 12"
        session = world.ok("spawn", "--no-pty", "--", "sh", "-c", script, path)
        assert world.run("wait", session).returncode == 12
        for stream in ("out", "err"):
            got = world.run("tail", "-n", "all", "--raw", "--stream", stream, session)
            assert got.stdout == data, stream
        shell = world.ok("spawn", "bash")
        assert world.run("exec", shell, f"wc -c < {path}; exit 13").returncode == 13
        assert world.run("verify").returncode == 0
        _check_refused(trace, error, 3)


def test_a_mover_killed_without_splice_loses_no_more_than_it_held(world: World) -> None:
    data, kills, rnd = pour_bytes(TOTAL, seed=4), 12, random.Random(4)
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    with _without_splice(world, "EINVAL") as trace:
        pouring = pour_by_steps(TOTAL, seed=4, steps=kills + 1, gate=gate, exit_code=14)
        session = world.ok("spawn", "--", *pouring)
        program = world.json("info", session)["pid"]
        _kill_mover(program)  # it has nothing in its hands, so this costs nothing
        with open(gate, "wb", buffering=0) as steps:
            for _ in range(kills):
                size = len(world.log(session)) + rnd.randrange(64 * KB)
                steps.write(b".")
                until(lambda size=size: len(world.log(session)) > size)  # type: ignore[misc]
                _kill_mover(program)
            steps.write(b".")
        assert world.run("wait", session).returncode == 14
        log = world.log(session)
        _check_refused(trace, "EINVAL", kills + 1)
    lost = _lost(data, log)
    assert len(lost) <= kills
    assert all(0 < size <= HELD for size in lost), lost


def _kill_mover(program: int) -> None:
    """The one there is; and wait until there is another."""
    with open(f"/proc/{program}/stat", encoding="ascii") as file:
        keeper = int(file.read().rpartition(")")[2].split()[1])
    until(lambda: _movers(keeper, program))
    (mover,) = _movers(keeper, program)
    os.kill(mover, signal.SIGKILL)
    until(lambda: _movers(keeper, program) not in ([], [mover]))


def _movers(keeper: int, program: int) -> list[int]:
    with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split() if int(word) != program]


def _lost(data: bytes, log: bytes) -> list[int]:
    """How much is missing at each place where the log goes on later; it must be in order, and nothing else in it."""
    lost, at, seen = [], 0, 0
    while seen < len(log):
        window = log[seen : seen + WINDOW]
        found = data.find(window, at)
        assert found >= 0, f"byte {seen} of the log comes from nowhere"
        if found > at:
            lost.append(found - at)
        run = _common(data, found, log, seen)
        at, seen = found + run, seen + run
    if at < len(data):
        lost.append(len(data) - at)
    return lost


def _common(data: bytes, at: int, log: bytes, seen: int) -> int:
    """How far they are the same from there on."""
    low, high = 0, min(len(data) - at, len(log) - seen)
    while low < high:
        middle = (low + high + 1) // 2
        if data[at : at + middle] == log[seen : seen + middle]:
            low = middle
        else:
            high = middle - 1
    return low
