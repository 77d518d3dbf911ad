"""Inputs outlive the mover that types them: the next one goes on where it died, and types no byte twice."""

from __future__ import annotations

import contextlib
import os
import tty
from collections.abc import Iterator
from typing import Any

import pytest

from orchctl.pair import wire
from orchctl.pair.feed import open_pipe
from orchctl.pair.input import Typist
from orchctl.pair.input_queue import DATA_BYTES, REMEMBERED, Input, Inputs
from tests.world import until

LONG = bytes(range(1, 256)) * 40  # several pieces, and less than a terminal holds
SHORT = b"and another\r"
ONE, TWO = b"1" * wire.ONCE_BYTES, b"2" * wire.ONCE_BYTES


class Killed(Exception):
    """The mover ends here."""


class MortalInputs(Inputs):
    """Its user dies before its step number `dies_at`, counted from 1; each step is one change of what is shared."""

    steps = 0
    dies_at = 0

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise Killed

    def begin(self, one: Input) -> None:
        self._step()
        super().begin(one)

    def count(self, one: Input, *, doubt: bool = False) -> None:
        self._step()
        super().count(one, doubt=doubt)

    def finish(self, one: Input, outcome: int) -> None:
        self._step()
        super().finish(one, outcome)

    def staging(self, one: Input) -> None:
        self._step()
        super().staging(one)

    def stage(self, one: Input, end: int) -> None:
        self._step()
        super().stage(one, end)

    def unstage(self) -> None:
        self._step()
        super().unstage()


class Terminal:
    """A terminal whose program reads each key, and what both processes of a pair hold of it."""

    def __init__(self, *, piped: bool) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        for fd in (self.master, self._slave):
            os.set_blocking(fd, False)
        self.pipe = open_pipe() if piped else -1
        self.inputs = MortalInputs()
        self.receipts: list[tuple[bytes, int, int]] = []
        self.came = b""

    def typist(self) -> Typist:
        """A new mover's."""
        return Typist(self.master, self._receipt, inputs=self.inputs, pipe=self.pipe)

    def _receipt(self, _: int, receipt: bytes) -> None:
        self.receipts.append(wire.RECEIPT.unpack(receipt))

    def type_all(self, typist: Typist) -> None:
        """To the end of what waits, and read it."""

        def typed() -> bool:
            self.read()
            typist.go_on(now=0)
            return not typist.busy

        until(typed)

    def read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._slave, 65536):
                self.came += piece

    def read_all(self, count: int) -> bytes:
        """At least so many bytes; and what comes after them, should there be more."""

        def all_came() -> bool:
            self.read()
            return len(self.came) >= count

        until(all_came, lambda: f"{len(self.came)} of {count} bytes came")
        self.read()
        return self.came

    def close(self) -> None:
        for fd in {self.master, self._slave, self.pipe} - {-1}:
            os.close(fd)


@contextlib.contextmanager
def opened(*, piped: bool) -> Iterator[Terminal]:
    terminal = Terminal(piped=piped)
    try:
        yield terminal
    finally:
        terminal.close()


def _ask_for_both(terminal: Terminal, typist: Typist) -> None:
    typist.add(7, ONE, LONG, now=0)
    typist.add(7, TWO, SHORT, now=0)
    terminal.type_all(typist)


def _die_at(terminal: Terminal, step: int) -> bool:
    """Type until death at this step, and go on with another mover, which is asked again; whether it was reached."""
    terminal.inputs.dies_at = step
    try:
        _ask_for_both(terminal, terminal.typist())
    except Killed:
        terminal.inputs.dies_at = 0
        following = terminal.typist()
        terminal.type_all(following)
        _ask_for_both(terminal, following)
        return True
    return False


def test_a_mover_that_dies_at_any_step_leaves_no_byte_out_and_types_none_twice() -> None:
    step, reached = 0, True
    while reached:
        step += 1
        with opened(piped=True) as terminal:
            reached = _die_at(terminal, step)
            assert terminal.read_all(len(LONG + SHORT)) == LONG + SHORT, step
            assert set(terminal.receipts) >= {(ONE, len(LONG), wire.TYPED_ALL), (TWO, len(SHORT), wire.TYPED_ALL)}, step
    assert step > 10


def test_without_the_pipe_what_was_in_doubt_is_said_and_nothing_else_is_wrong() -> None:
    step, reached, maybe = 0, True, 0
    while reached:
        step += 1
        with opened(piped=False) as terminal:
            reached = _die_at(terminal, step)
            outcomes: dict[Any, Any] = {name: (taken, outcome) for name, taken, outcome in terminal.receipts}
            doubtful = [name for name, (_, outcome) in outcomes.items() if outcome == wire.TYPED_MAYBE]
            maybe += len(doubtful)
            if doubtful:
                assert doubtful in ([ONE], [TWO])
                continue
            assert terminal.read_all(len(LONG + SHORT)) == LONG + SHORT, step
    assert maybe >= 2  # between the write and its count, of a piece in the middle and of the last one


def test_what_waits_keeps_its_order_with_the_next_mover() -> None:
    with opened(piped=True) as terminal:
        first = terminal.typist()
        first.add(1, ONE, LONG * 8, now=0)  # more than a terminal holds
        first.add(1, TWO, SHORT, now=0)
        following = terminal.typist()
        assert following.busy
        following.add(2, TWO, SHORT, now=0)  # whoever asks again first does not go first
        terminal.type_all(following)
        assert terminal.read_all(len(LONG * 8 + SHORT)) == LONG * 8 + SHORT
        assert terminal.receipts == [(TWO, len(SHORT), wire.TYPED_ALL)]  # nobody has asked for the other again


def test_receipts_are_known_to_the_next_mover() -> None:
    with opened(piped=True) as terminal:
        typist = terminal.typist()
        for number in range(REMEMBERED + 10):
            typist.add(1, number.to_bytes(wire.ONCE_BYTES, "big"), b"x", now=0)
            terminal.read()
        following = terminal.typist()
        terminal.receipts.clear()
        assert not following.add(1, (10).to_bytes(wire.ONCE_BYTES, "big"), b"x", now=0)
        assert not following.add(1, (REMEMBERED + 9).to_bytes(wire.ONCE_BYTES, "big"), b"x", now=0)
        assert [outcome for _, _, outcome in terminal.receipts] == [wire.TYPED_ALL] * 2
        assert following.add(1, (9).to_bytes(wire.ONCE_BYTES, "big"), b"x", now=0)  # the oldest are forgotten


def test_what_is_staged_of_an_input_whose_epoch_is_over_is_not_typed() -> None:
    with opened(piped=True) as terminal:
        typist = terminal.typist()
        typist.add(1, ONE, LONG * 8, 0, 1)
        taken = len(LONG * 8) - len(_rest(typist))
        typist.raise_fence(2, 0)
        assert terminal.receipts == [(ONE, taken, wire.TYPED_STALE)]
        typist.add(1, TWO, SHORT, 0, 2)
        terminal.type_all(typist)
        assert terminal.read_all(taken + len(SHORT)) == (LONG * 8)[:taken] + SHORT


def _rest(typist: Typist) -> bytes:
    (waiting, *_), _ = typist._inputs.restore()
    return waiting.data[waiting.taken :]


def test_the_length_of_an_unfinished_line_is_known_to_the_next_mover() -> None:
    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        inputs, receipts = Inputs(), list[bytes]()
        for once, outcome in ((ONE, wire.TYPED_ALL), (TWO, wire.TYPED_TOO_LONG)):
            Typist(master, lambda _, receipt: receipts.append(receipt), inputs=inputs).add(1, once, b"x" * 3000, now=0)
            assert wire.RECEIPT.unpack(receipts[-1])[2] == outcome
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("taken", [0, 5])
def test_an_input_for_whose_bytes_there_is_no_room_is_not_handed_on(taken: int) -> None:
    inputs = Inputs()
    inputs.begin(Input(1, ONE, bytes(DATA_BYTES)))
    late = Input(1, TWO, b"no room", taken=taken)
    inputs.begin(late)
    inputs.count(late)
    waiting, receipts = inputs.restore()
    assert [one.once for one in waiting] == [ONE]
    assert receipts == ({TWO: wire.RECEIPT.pack(TWO, taken, wire.TYPED_MAYBE)} if taken else {})


def test_the_memory_of_long_inputs_is_given_back_once_nobody_waits() -> None:
    inputs = Inputs()
    for _ in range(20):
        one = Input(1, ONE, b"x" * (DATA_BYTES - 1))
        inputs.begin(one)
        inputs.forget(one)
    one = Input(1, ONE, b"y" * 10)
    inputs.begin(one)
    assert inputs.restore()[0][0].data == one.data
    assert inputs._memory[-DATA_BYTES // 2 :] == bytes(DATA_BYTES // 2)
