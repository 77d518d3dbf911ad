"""Typing into a real terminal: in order, each once, and never silently cut."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import termios
import tty
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.pair import wire
from orchctl.pair.input import CANONICAL_LIMIT_BYTES, PATIENCE_S, Typist
from tests.world import DEADLINE_S, until

PROPERTY = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
BIG = bytes(range(32, 256)) * 2400  # more than any terminal holds, in one line


def once(number: int) -> bytes:
    return number.to_bytes(wire.ONCE_BYTES, "big")


class Desk:
    """A typist, the terminal it types into, and the receipts it gave."""

    def __init__(self, *, raw: bool) -> None:
        self.master, self.slave = os.openpty()
        self._line_mode = termios.tcgetattr(self.slave)
        self._line_mode[3] &= ~termios.ECHO  # nobody here reads an echo
        self.read_lines()
        if raw:
            tty.setraw(self.slave)
        os.set_blocking(self.master, False)
        self.receipts: list[tuple[int, int, int, int]] = []
        self.typist = Typist(self.master, self._receipt)

    def _receipt(self, asker: int, receipt: bytes) -> None:
        name, taken, outcome = wire.RECEIPT.unpack(receipt)
        self.receipts.append((asker, int.from_bytes(name, "big"), taken, outcome))

    def read_lines(self) -> None:
        termios.tcsetattr(self.slave, termios.TCSANOW, self._line_mode)

    def read(self, count: int) -> bytes:
        """What the program gets, at least `count` bytes of it, while the typist goes on."""
        got = b""
        while len(got) < count:
            wanted = [self.master] if self.typist.busy else []
            readable, writable, _ = select.select([self.slave], wanted, [], DEADLINE_S)
            assert readable or writable, f"only {len(got)} of {count} bytes came"
            if writable:
                self.typist.go_on(now=0)
            if readable:
                got += os.read(self.slave, 65536)
        return got

    def fill(self) -> None:
        """Type past the typist until the terminal takes no more, and will take no more."""
        self._stuff()
        until(lambda: self._held() >= CANONICAL_LIMIT_BYTES, "the terminal never got full")
        self._stuff()

    def _held(self) -> int:
        count = array.array("i", [0])
        fcntl.ioctl(self.slave, termios.FIONREAD, count)
        return count[0]

    def _stuff(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.master, BIG)

    def hang_up(self) -> None:
        os.close(self.slave)
        self.slave = -1

    def close(self) -> None:
        os.close(self.master)
        if self.slave >= 0:
            self.hang_up()


@contextlib.contextmanager
def opened(*, raw: bool) -> Iterator[Desk]:
    desk = Desk(raw=raw)
    try:
        yield desk
    finally:
        desk.close()


@pytest.fixture
def raw() -> Iterator[Desk]:
    with opened(raw=True) as desk:
        yield desk


@pytest.fixture
def lines() -> Iterator[Desk]:
    with opened(raw=False) as desk:
        yield desk


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=200)), max_size=12))
def test_inputs_are_typed_in_order_and_each_once(asked: list[tuple[int, bytes]]) -> None:
    first: dict[int, bytes] = {}
    with opened(raw=True) as desk:
        for asker, (number, data) in enumerate(asked):
            desk.typist.add(asker, once(number), data, now=0)
            first.setdefault(number, data)
        expected = b"".join(first.values())
        assert desk.read(len(expected)) == expected
        desk.typist.check(now=1000)  # nothing waits, so there is nothing to give up
        assert desk.receipts == [
            (asker, number, len(first[number]), wire.TYPED_ALL) for asker, (number, _) in enumerate(asked)
        ]
        assert not desk.typist.busy
        assert desk.typist.deadline is None


def test_more_than_the_terminal_holds_is_typed_as_the_program_reads(raw: Desk) -> None:
    raw.typist.add(1, once(1), BIG, now=0)
    raw.typist.add(2, once(2), b"the end", now=0)
    assert raw.typist.busy
    assert raw.read(len(BIG) + 7) == BIG + b"the end"
    assert raw.receipts == [(1, 1, len(BIG), wire.TYPED_ALL), (2, 2, 7, wire.TYPED_ALL)]


def test_an_input_that_nobody_reads_is_given_up_once_patience_is_over(raw: Desk) -> None:
    raw.fill()
    raw.typist.add(1, once(1), b"hello", now=100)
    assert raw.typist.deadline == 100 + PATIENCE_S
    raw.typist.go_on(now=103)
    raw.typist.check(now=104.9)
    assert raw.receipts == []
    raw.typist.check(now=105)
    assert raw.receipts == [(1, 1, 0, wire.TYPED_BLOCKED)]
    assert not raw.typist.busy


def test_the_next_input_gets_patience_of_its_own(raw: Desk) -> None:
    raw.fill()
    raw.typist.add(1, once(1), b"one", now=100)
    raw.typist.add(2, once(2), b"two", now=104)
    raw.typist.check(now=105)
    assert raw.typist.deadline == 105 + PATIENCE_S
    raw.typist.check(now=110)
    assert raw.receipts == [(1, 1, 0, wire.TYPED_BLOCKED), (2, 2, 0, wire.TYPED_BLOCKED)]


def test_a_receipt_tells_how_much_of_a_given_up_input_was_taken(raw: Desk) -> None:
    raw.typist.add(1, once(1), BIG, now=100)
    raw.typist.check(now=100 + PATIENCE_S)
    ((_, _, taken, outcome),) = raw.receipts
    assert 0 < taken < len(BIG)
    assert outcome == wire.TYPED_BLOCKED
    assert raw.read(taken) == BIG[:taken]


def test_every_byte_that_is_taken_renews_patience(raw: Desk) -> None:
    raw.fill()
    raw.typist.add(1, once(1), BIG, now=100)
    while not select.select([], [raw.master], [], 0)[1]:
        assert select.select([raw.slave], [], [], DEADLINE_S)[0]
        os.read(raw.slave, 65536)
    raw.typist.go_on(now=103)
    assert raw.typist.deadline == 103 + PATIENCE_S


def test_whoever_asks_again_for_a_waiting_input_gets_the_receipt(raw: Desk) -> None:
    raw.fill()
    raw.typist.add(1, once(1), b"hello", now=100)
    raw.typist.add(2, once(1), b"hello", now=101)
    raw.typist.check(now=105)
    assert raw.receipts == [(2, 1, 0, wire.TYPED_BLOCKED)]
    assert not raw.typist.busy  # it waited once, and is not typed a second time


def test_the_last_256_receipts_are_remembered(raw: Desk) -> None:
    for number in range(257):
        raw.typist.add(1, once(number), b"x", now=0)
    assert raw.read(257) == b"x" * 257
    raw.typist.add(2, once(1), b"x", now=0)
    raw.typist.add(2, once(0), b"forgotten", now=0)
    assert raw.read(9) == b"forgotten"
    assert raw.receipts[257:] == [(2, 1, 1, wire.TYPED_ALL), (2, 0, 9, wire.TYPED_ALL)]


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_the_longest_line_that_the_kernel_takes_whole_is_typed_and_a_longer_one_is_not(lines: Desk, end: bytes) -> None:
    longest = b"x" * CANONICAL_LIMIT_BYTES
    lines.typist.add(1, once(1), b"y" + longest + end, now=0)
    assert lines.receipts == [(1, 1, 0, wire.TYPED_TOO_LONG)]
    lines.typist.add(1, once(2), longest + end, now=0)
    assert lines.read(len(longest) + 1) == longest + b"\n"
    assert lines.receipts[1:] == [(1, 2, len(longest) + 1, wire.TYPED_ALL)]


def test_many_lines_may_be_longer_together(lines: Desk) -> None:
    text = (b"x" * 999 + b"\n") * 20
    lines.typist.add(1, once(1), text, now=0)
    assert lines.read(len(text)) == text
    assert lines.receipts == [(1, 1, len(text), wire.TYPED_ALL)]


def test_a_line_of_two_inputs_is_not_cut_silently_either(lines: Desk) -> None:
    lines.typist.add(1, once(1), b"x" * 4000, now=0)
    lines.typist.add(1, once(2), b"y" * 4000 + b"\n", now=0)
    lines.typist.add(1, once(3), b"\nend\n", now=0)
    got = lines.read(1)
    while not got.endswith(b"end\n"):
        got += lines.read(1)
    assert len(got) == sum(taken for _, _, taken, _ in lines.receipts)


@pytest.mark.parametrize("key", [b"\x15", b"\x03"])
def test_a_line_that_was_taken_back_does_not_count(lines: Desk, key: bytes) -> None:
    lines.typist.add(1, once(1), b"x" * 4000 + key, now=0)
    lines.typist.add(1, once(2), b"y" * 200 + b"\n", now=0)
    assert lines.receipts == [(1, 1, 4001, wire.TYPED_ALL), (1, 2, 201, wire.TYPED_ALL)]
    assert lines.read(201) == b"y" * 200 + b"\n"


def test_what_was_read_key_by_key_does_not_count_either(raw: Desk) -> None:
    raw.typist.add(1, once(1), b"x" * 4000, now=0)
    assert raw.read(4000) == b"x" * 4000
    raw.read_lines()
    raw.typist.add(1, once(2), b"y" * 200 + b"\n", now=0)
    assert raw.receipts[1:] == [(1, 2, 201, wire.TYPED_ALL)]


def test_an_input_for_a_program_that_has_gone_is_not_said_to_be_typed(raw: Desk) -> None:
    raw.hang_up()
    raw.typist.add(1, once(1), b"hello", now=0)
    assert raw.receipts == [(1, 1, 0, wire.TYPED_BLOCKED)]


def test_what_cannot_be_written_to_takes_nothing(raw: Desk) -> None:
    with open(os.devnull, "rb") as unwritable:
        os.dup2(unwritable.fileno(), raw.master)
    raw.typist.add(1, once(1), b"hello", now=0)
    assert raw.receipts == [(1, 1, 0, wire.TYPED_BLOCKED)]


def test_what_was_allowed_under_an_earlier_epoch_is_not_typed(raw: Desk) -> None:
    raw.typist.add(1, once(1), b"old", now=0, epoch=1)
    raw.typist.raise_fence(2, now=0)
    raw.typist.add(1, once(2), b"late", now=0, epoch=1)
    raw.typist.add(2, once(3), b"new", now=0, epoch=2)
    raw.typist.add(3, once(4), b"of nobody", now=0)
    assert raw.read(15) == b"oldnewof nobody"
    assert raw.receipts == [
        (1, 1, 3, wire.TYPED_ALL), (1, 2, 0, wire.TYPED_STALE), (2, 3, 3, wire.TYPED_ALL), (3, 4, 9, wire.TYPED_ALL),
    ]  # fmt: skip


def test_an_input_of_a_newer_epoch_raises_the_fence_itself(raw: Desk) -> None:
    raw.typist.add(1, once(1), b"new", now=0, epoch=5)
    raw.typist.add(1, once(2), b"old", now=0, epoch=4)
    raw.typist.raise_fence(3, now=0)
    raw.typist.add(1, once(3), b"old", now=0, epoch=3)
    assert [outcome for *_, outcome in raw.receipts] == [wire.TYPED_ALL, wire.TYPED_STALE, wire.TYPED_STALE]


def test_what_waits_when_the_epoch_ends_is_never_typed_and_says_how_much_was(raw: Desk) -> None:
    raw.typist.add(1, once(1), BIG, now=0, epoch=1)
    raw.typist.add(1, once(2), b"waits", now=0, epoch=1)
    raw.typist.raise_fence(2, now=0)
    (_, _, taken, begun), waited = raw.receipts
    assert (begun, waited) == (wire.TYPED_STALE, (1, 2, 0, wire.TYPED_STALE))
    assert raw.read(taken) == BIG[:taken]
    assert not raw.typist.busy
    raw.typist.add(2, once(2), b"again", now=0, epoch=2)
    raw.typist.add(2, once(1), BIG, now=0, epoch=2)
    assert raw.read(5) == b"again"
    assert raw.receipts[2:] == [(2, 2, 5, wire.TYPED_ALL), (2, 1, taken, wire.TYPED_STALE)]


def test_an_input_that_was_typed_says_so_also_when_its_epoch_is_over(raw: Desk) -> None:
    raw.typist.add(1, once(1), b"old", now=0, epoch=1)
    raw.typist.raise_fence(2, now=0)
    raw.typist.add(2, once(1), b"old", now=0, epoch=1)
    assert raw.receipts == [(1, 1, 3, wire.TYPED_ALL), (2, 1, 3, wire.TYPED_ALL)]


def _on_a_pipe(ended: list[int], *, already: bool = False) -> tuple[Typist, int, int, list[tuple[int, int, int]]]:
    """A typist that writes to a pipe, both ends of that, and its receipts; `ended` grows when it asks for the end."""
    read, write = os.pipe2(os.O_NONBLOCK)
    receipts: list[tuple[int, int, int]] = []

    def receipt(_: int, data: bytes) -> None:
        name, taken, outcome = wire.RECEIPT.unpack(data)
        receipts.append((int.from_bytes(name, "big"), taken, outcome))

    typist = Typist(write, receipt, terminal=False, end=lambda: ended.append(1), ended=already)
    return typist, read, write, receipts


def test_the_end_comes_after_what_was_added_before_and_once() -> None:
    """It is asked for when all of that is written, and answered when it is done; what comes later is not written."""
    ended: list[int] = []
    typist, read, write, receipts = _on_a_pipe(ended)
    typist.add(1, once(1), bytes(1 << 17), now=0)
    typist.add(1, once(2), b"", now=0, end=True)
    typist.add(1, once(3), b"late", now=0)
    assert (ended, receipts) == ([], [])
    size = 0
    while not ended:
        size += len(os.read(read, 1 << 16))
        typist.go_on(now=0)
    assert (receipts, typist.busy, typist.ending) == ([(1, 1 << 17, wire.TYPED_ALL)], False, once(2))
    typist.check(now=10 * PATIENCE_S)  # whoever ends it may take its time
    typist.add(2, once(2), b"", now=0, end=True)
    assert ended == [1]
    typist.go_on_after_end(now=0)
    assert receipts[1:] == [(2, 0, wire.TYPED_ALL), (3, 0, wire.TYPED_BLOCKED)]
    typist.add(3, once(2), b"", now=0, end=True)
    assert (receipts[3:], ended) == ([(2, 0, wire.TYPED_ALL)], [1])
    size += len(os.read(read, 1 << 17))
    assert size == 1 << 17
    os.close(read)
    os.close(write)


def test_an_end_under_way_is_not_called_back_by_a_newer_epoch() -> None:
    ended: list[int] = []
    typist, read, write, receipts = _on_a_pipe(ended)
    typist.add(1, once(1), b"", now=0, epoch=1, end=True)
    typist.raise_fence(2, now=0)
    assert receipts == []
    typist.go_on_after_end(now=0)
    assert receipts == [(1, 0, wire.TYPED_ALL)]
    os.close(read)
    os.close(write)


def test_a_typist_of_an_input_that_has_ended_writes_nothing() -> None:
    typist, read, write, receipts = _on_a_pipe([], already=True)
    typist.add(1, once(1), b"x", now=0)
    assert receipts == [(1, 0, wire.TYPED_BLOCKED)]
    with pytest.raises(BlockingIOError):
        os.read(read, 1)
    os.close(read)
    os.close(write)
