"""A long input to a program that reads slowly arrives once and whole, whichever process of ours is killed meanwhile.

Counted by the receiver: it writes down how many bytes it has read, and the digest of all that came before a mark.
"""

from __future__ import annotations

import collections
import hashlib
import os
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from signal import SIGKILL

import pytest

from orchctl import OrchctlError
from tests.e2e import pair_processes
from tests.world import World, until

INPUT_BYTES = 96 << 10
MARK = b"\0that is all\0"  # digests count what came before it
ROUNDS_OF_ONE_SESSION = 10
MAYBE_TYPED = {"pty": 4, "pipe": 1}  # of the 200 rounds of the long form: where one write is in doubt
AHEAD_BYTES = {"pty": 24 << 10, "pipe": 68 << 10}  # what the kernel holds of what is typed and not read, at most
_SLOW_READER = """
import hashlib, os, sys, time, tty
mark, folder = bytes.fromhex(sys.argv[1]), sys.argv[2]
if os.isatty(0):
    tty.setraw(0)
count, data, number = os.open(folder + "/count", os.O_WRONLY | os.O_CREAT), b"", 0
os.pwrite(count, b"%12d" % 0, 0)
print("ready", flush=True)
while piece := os.read(0, 1024):
    data += piece
    before, found, after = data.partition(mark)
    os.pwrite(count, b"%12d" % len(before), 0)
    if found:
        number += 1
        with open(f"{folder}/{number}.new", "w") as file:
            file.write(f"{len(before)} {hashlib.sha256(before).hexdigest()}")
        os.rename(f"{folder}/{number}.new", f"{folder}/{number}")
        data = after
        os.pwrite(count, b"%12d" % len(data), 0)
    time.sleep(0.008)
"""


@dataclass
class Reader:
    """A session that reads slowly, and what it has read of the present input."""

    world: World
    kind: str
    folder: str
    session: str = ""
    rounds: int = 0
    errors: list[str] = field(default_factory=list)

    def start(self) -> None:
        os.mkdir(self.folder)
        way = ["--stdin=open", "--no-pty"] if self.kind == "pipe" else []
        program = [sys.executable, "-c", _SLOW_READER, MARK.hex(), self.folder]
        self.session = self.world.ok("spawn", *way, "--", *program)
        until(lambda: b"ready" in self.world.log(self.session), "it never reads")

    def count(self) -> int:
        with open(f"{self.folder}/count", encoding="ascii") as file:
            return int(file.read())

    def digest(self) -> str:
        """Of the last input that was marked."""
        path = f"{self.folder}/{self.rounds}"
        until(lambda: os.path.exists(path), lambda: f"{self.count()} bytes came, and no mark")
        with open(path, encoding="ascii") as file:
            return file.read()

    def send(self, data: bytes) -> None:
        """In a thread of its own; errors are noted."""
        with self.world.client() as client:
            try:
                client.send(self.session, data)
            except OrchctlError as error:
                self.errors.append(error.code)

    def mark(self) -> None:
        self.rounds += 1
        with self.world.client() as client:
            client.send(self.session, MARK)


def _kill(world: World, session: str, kind: str) -> None:
    if kind == "supervisor":
        os.kill(world.supervisor(), SIGKILL)
    elif kind == "keeper":
        pair_processes.kill_keeper(world, session)
    else:
        pair_processes.kill_mover(world, session)


def _one_round(reader: Reader, rnd: random.Random, landed: collections.Counter[str]) -> bool:
    """One input, and one kill of each kind while it is typed; whether it came exactly."""
    data = rnd.randbytes(INPUT_BYTES).replace(b"\0", b"\1")
    last = INPUT_BYTES - AHEAD_BYTES[reader.kind]
    moments = sorted(rnd.sample(range(1, last), 3))
    kinds = rnd.sample(["keeper", "mover", "supervisor"], 3)
    pair_processes.wait_until_whole(reader.world, reader.session)
    sending = threading.Thread(target=reader.send, args=(data,))
    sending.start()
    for moment, kind in zip(moments, kinds, strict=True):
        until(lambda moment=moment: reader.count() >= moment or not sending.is_alive())  # type: ignore[misc]
        time.sleep(rnd.random() * 0.003)  # anywhere between two pieces, or in one
        landed[kind] += sending.is_alive() and 0 < reader.count() < INPUT_BYTES
        _kill(reader.world, reader.session, kind)
    sending.join()
    reader.mark()
    return reader.digest() == f"{len(data)} {hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize("kind", ["pty", "pipe"])
def test_a_long_input_is_typed_once_while_keeper_mover_and_supervisor_are_killed(
    world: World, kind: str, long_form: bool
) -> None:
    rounds = (160 if kind == "pty" else 40) if long_form else (4 if kind == "pty" else 2)
    rnd, landed, inexact, maybe = random.Random(96), collections.Counter[str](), 0, 0
    for number in range(rounds):
        if number % ROUNDS_OF_ONE_SESSION == 0:
            reader = Reader(world, kind, f"{world.folder}/reader{number}")
            reader.start()
        reader.errors.clear()
        exact = _one_round(reader, rnd, landed)
        assert reader.errors in ([], ["maybe-typed"])
        said = bool(reader.errors)
        print(f"{kind} round {number}: exact {exact}, maybe-typed {said}")
        inexact, maybe = inexact + (not exact), maybe + said
        assert exact or said, f"round {number} is wrong and nobody was told"
    print(
        f"{kind}: {rounds} rounds, {inexact} inexact, {maybe} maybe-typed, kills in the middle of the input: {landed}"
    )
    assert min(landed[kind] for kind in ("keeper", "mover", "supervisor")) * 2 >= rounds
    assert maybe <= (MAYBE_TYPED[kind] if long_form else kind == "pipe")
