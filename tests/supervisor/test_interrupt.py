"""An interrupt tells whom it reached: what was seen before it may have left the front meanwhile.

Further steps against a command are taken only if the interrupt did not end it.
"""

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
from orchctl.protocol.messages import ExecCommand
from orchctl.session.command import Command
from orchctl.shell.execution import Escalation
from orchctl.supervisor.clock import boot_s
from orchctl.supervisor.exec.running import Overtime, Running, interrupt
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
        self.steps: list[tuple[int, int]] = []

    def hear(self) -> None:
        for kind, payload in self._decoder.feed(self._connection.recv(4096)):
            if kind == wire.SIGNAL:
                assert wire.NUMBER.unpack(payload) == (signal.SIGINT,)
                self.signalled += 1
                self.steps.append((kind, signal.SIGINT))
            elif kind == wire.SWEEP:
                self.steps.append((kind, wire.SWEEPING.unpack(payload)[1]))
                self._connection.sendall(wire.frame(wire.SWEPT, wire.NUMBER.pack(1)))
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


def _swept(tmp_path: Path, *, leaves: bool) -> list[tuple[int, int]]:
    """The steps against a command that is past its time, whose shell leaves it after its second interrupt or not."""

    async def main() -> list[tuple[int, int]]:
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(HELLO)
            link = PairLink(str(tmp_path), lambda: None)
            tending = asyncio.create_task(link.tend(ours))
            await asyncio.wait_for(link.greeted.wait(), 60)
            pair = ScriptedPair(theirs, PROGRAM, {"signalled": PROGRAM})
            asyncio.get_running_loop().add_reader(theirs, pair.hear)
            running = Running(ExecCommand(session="s", exec_id="e"), Command(session="s", id="e", number=1, text="x"))
            running.escalation = Escalation(boot_s(), 0.01)
            overtime = Overtime(link, lambda _: leaves and pair.signalled >= 2)
            while len(pair.steps) < 4 and not (leaves and running.held_at is not None):
                await overtime.wait(running, asyncio.Event())
            asyncio.get_running_loop().remove_reader(theirs)
        await asyncio.wait_for(tending, 60)
        return pair.steps

    return asyncio.run(main())


def test_what_is_started_after_the_interrupt_that_ended_a_command_gets_no_signal(tmp_path: Path) -> None:
    """It may be the prompt's own."""
    assert _swept(tmp_path, leaves=True) == [(wire.SIGNAL, signal.SIGINT)] * 2
    steps = _swept(tmp_path, leaves=False)
    assert steps == [
        (wire.SIGNAL, signal.SIGINT),
        (wire.SIGNAL, signal.SIGINT),
        (wire.SWEEP, signal.SIGTERM),
        (wire.SIGNAL, signal.SIGINT),
    ]
