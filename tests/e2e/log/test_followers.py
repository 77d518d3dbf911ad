"""Many followers of one session, some of them stopped: all get the log, and the stopped ones cost nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from tests.programs import pour_by_steps, pour_bytes, step_ends
from tests.rawclient import memory_kib
from tests.world import DEADLINE_S, ORCHCTL, World, until

MB = 1 << 20
FOLLOWERS, LONG_FOLLOWERS, STOPPED = 30, 100, 5
GROWTH_KIB = 5 << 10

_FOLLOW = """
import json, sys
from orchctl import Client
from orchctl.session.stream import Chunk
credit = int(sys.argv[4]) or None
with Client(state_dir=sys.argv[1]) as client, open(sys.argv[3], "wb", buffering=0) as copy:
    for piece in client.output(sys.argv[2], follow=True, credit_bytes=credit):
        if isinstance(piece, Chunk):
            copy.write(piece.data)
            print(json.dumps(["bytes", piece.offset, piece.end]), flush=True)
        else:
            print(json.dumps(["gap", piece.first, piece.end]), flush=True)
"""


@contextlib.contextmanager
def _gate(world: World) -> Iterator[tuple[str, int]]:
    """A fifo that is open for writing as long as somebody waits at it."""
    path = f"{world.folder}/gate"
    os.mkfifo(path)
    fd = os.open(path, os.O_RDWR)
    try:
        yield path, fd
    finally:
        os.close(fd)


def _start(stack: contextlib.ExitStack, world: World, words: list[str], out: str) -> subprocess.Popen[bytes]:
    """A follower that does not outlive the test, whatever becomes of it."""
    with open(out, "wb") as file:
        started = subprocess.Popen(words, env=world.env, stdin=subprocess.DEVNULL, stdout=file)
    stack.callback(started.wait)
    stack.callback(started.kill)
    return started


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def _all_are(copies: list[str], size: int) -> bool:
    return all(_size(copy) == size for copy in copies)


def test_thirty_followers_get_the_log_and_five_stopped_ones_cost_no_memory(world: World, long_form: bool) -> None:
    total, many = 10 * MB, LONG_FOLLOWERS if long_form else FOLLOWERS
    first, second, third, _ = step_ends(total, seed=30, steps=4)
    copies = [f"{world.folder}/copy-{number}" for number in range(many)]
    with _gate(world) as (gate, fd), contextlib.ExitStack() as stack:
        session = world.ok("spawn", *pour_by_steps(total, seed=30, steps=4, gate=gate, exit_code=3))
        words = [ORCHCTL, "tail", "-f", "-n", "all", "--raw", "--exit-status", session]
        followers = [_start(stack, world, words, copy) for copy in copies]
        for end in (first, second):  # the second time all of them are there when it comes, as later on
            os.write(fd, b".")
            until(partial(_all_are, copies, end), "not all followers came along")
        for follower in followers[:STOPPED]:
            follower.send_signal(signal.SIGSTOP)
        supervisor = world.supervisor()
        before = highest = memory_kib(supervisor)
        os.write(fd, b".")

        def others_are_there() -> bool:
            nonlocal highest
            highest = max(highest, memory_kib(supervisor))
            return _all_are(copies[STOPPED:], third)

        until(others_are_there, "the others did not go on")
        assert _all_are(copies[:STOPPED], second)
        for follower in followers[:STOPPED]:
            follower.send_signal(signal.SIGCONT)
        os.write(fd, b".")
        assert [follower.wait(DEADLINE_S) for follower in followers] == [3] * many
    assert world.supervisor() == supervisor
    print(f"memory before {before} KiB, at most {highest} KiB while {STOPPED} followers stood")
    assert highest - before < GROWTH_KIB
    wanted = pour_bytes(total, seed=30)
    assert world.log(session) == wanted
    for copy in copies:
        with open(copy, "rb") as file:
            assert file.read() == wanted


def test_a_stopped_follower_that_retention_overtakes_gets_the_exact_gap(world: World) -> None:
    total = 12 * MB
    _, second, _ = step_ends(total, seed=31, steps=3)
    world.keep_of_each_session("256K")  # four times that, as long as somebody needs it
    with _gate(world) as (gate, fd), world.client() as client, contextlib.ExitStack() as stack:
        session = world.ok("spawn", *pour_by_steps(total, seed=31, steps=3, gate=gate))
        followers = []
        for number in range(STOPPED):
            words = [sys.executable, "-c", _FOLLOW, world.state, session, f"{world.folder}/copy-{number}"]
            words += [str(20_000 * (number % 2))]  # some with credit
            followers.append(_start(stack, world, words, f"{world.folder}/pieces-{number}"))
        os.write(fd, b"1")
        until(lambda: all(_size(f"{world.folder}/copy-{number}") > 0 for number in range(STOPPED)))
        supervisor = world.supervisor()
        for follower in followers:
            follower.send_signal(signal.SIGSTOP)
        before = memory_kib(supervisor)
        os.write(fd, b"2")
        until(lambda: client.info(session).output.next_offset == second)
        grown = memory_kib(supervisor) - before
        for follower in followers:
            follower.send_signal(signal.SIGCONT)
        os.write(fd, b"3")
        assert [follower.wait(DEADLINE_S) for follower in followers] == [0] * STOPPED
    assert grown < GROWTH_KIB
    wanted = pour_bytes(total, seed=31)
    for number in range(STOPPED):
        with open(f"{world.folder}/pieces-{number}", "rb") as file:
            pieces: list[tuple[str, int, int]] = [json.loads(line) for line in file]
        with open(f"{world.folder}/copy-{number}", "rb") as file:
            for what, first, end in pieces:
                if what == "bytes":
                    assert file.read(end - first) == wanted[first:end]
            assert file.read() == b""
        ends = [end for _, _, end in pieces]
        assert [first for _, first, _ in pieces] == [0, *ends[:-1]]  # each begins where the one before it ended
        assert ends[-1] == total
        gaps = [(first, end) for what, first, end in pieces if what == "gap"]
        assert gaps != []
        assert sum(end - first for first, end in gaps) + _size(f"{world.folder}/copy-{number}") == total
