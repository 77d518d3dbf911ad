"""An interrupt tells whom it reached: what was seen before it may have left the front meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchctl.pair import wire
from orchctl.supervisor.exec.running import interrupt
from orchctl.supervisor.pair import PairLink

SHELL, PROGRAM = 100, 200
HELLO = wire.frame(wire.HELLO, json.dumps({"protocol": 1}).encode())


class ScriptedPair:
    """The other end of a link: the group in front is one until the signal comes, and another one when it does."""

    def __init__(self, connection: socket.socket, before: int, reached: dict[str, Any]) -> None:
        self._connection = connection
        self._decoder = wire.Decoder()
        self._before = before
        self._reached = reached
        self.signalled = 0

    def hear(self) -> None:
        for kind, payload in self._decoder.feed(self._connection.recv(4096)):
            if kind == wire.SIGNAL:
                assert wire.NUMBER.unpack(payload) == (signal.SIGINT,)
                self.signalled += 1
            elif kind == wire.LOOK:
                seen = {"front": self._before, "child": SHELL, "image": 1} | (self._reached if self.signalled else {})
                self._connection.sendall(wire.frame(wire.SEEN, json.dumps(seen).encode()))


def _heard(tmp_path: Path, before: int, reached: dict[str, Any], going: Callable[[], bool]) -> tuple[list[bool], int]:
    """What is said about an interrupt, and how many signals there were."""
    told: list[bool] = []

    async def main() -> int:
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(HELLO)
            link = PairLink(str(tmp_path), lambda: None)
            tending = asyncio.create_task(link.tend(ours))
            await asyncio.wait_for(link.greeted.wait(), 60)
            pair = ScriptedPair(theirs, before, reached)
            asyncio.get_running_loop().add_reader(theirs, pair.hear)
            await asyncio.wait_for(interrupt(link, told.append, going), 60)
            asyncio.get_running_loop().remove_reader(theirs)
        await asyncio.wait_for(tending, 60)
        return pair.signalled

    signals = asyncio.run(main())
    return told, signals


@pytest.mark.parametrize(
    ("before", "reached", "program"),
    [
        (SHELL, {"signalled": PROGRAM}, True),
        (PROGRAM, {"signalled": SHELL}, False),
        (PROGRAM, {"signalled": PROGRAM}, True),
        (SHELL, {"signalled": SHELL}, False),
        (PROGRAM, {"signalled": None}, True),  # it changed in that very moment
        (PROGRAM, {}, True),  # a pair of an older version
        (SHELL, {}, False),
    ],
)
def test_a_program_was_interrupted_if_the_signal_reached_it(
    tmp_path: Path, before: int, reached: dict[str, Any], program: bool
) -> None:
    told, signals = _heard(tmp_path, before, reached, lambda: False)
    assert (any(told), signals) == (program, 1)
    assert told[0] is False  # before the signal nobody knows


def test_a_program_that_comes_to_the_front_later_is_interrupted_too(tmp_path: Path) -> None:
    told, signals = _heard(tmp_path, SHELL, {"signalled": SHELL, "front": PROGRAM, "image": 2}, lambda: True)
    assert (any(told), signals) == (False, 2)
