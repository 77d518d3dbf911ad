"""From a real terminal into real segments: every byte once and in order, by splice or without."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import select
import tempfile
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import segments
from orchctl.log.disk import RealDisk
from orchctl.log.segments import PARTS, SMALLEST
from orchctl.log.writer import SegmentWriter
from orchctl.pair.output import Closed, Conduit
from tests.world import DEADLINE_S

PROPERTY = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
STREAM = random.Random(2).randbytes(1 << 20)
RING = PARTS * SMALLEST
PIECE = 2000  # what a terminal surely holds
WAYS = [(True, True), (True, False), (False, True), (False, False)]  # splice from the terminal, and into the file

any_way = pytest.mark.parametrize(("into_pipe", "into_file"), WAYS)


class Grudging(RealDisk):
    """A disk that takes no more than `room` bytes, and perhaps none by splice; it counts them."""

    def __init__(self, *, splices: bool) -> None:
        self.splices = splices
        self.room: int | None = None
        self.moved = self.written = 0
        self.fds: list[int] = []

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        self.fds.append(super().open(path, write=write, create=create, append=append))
        return self.fds[-1]

    def close(self, fd: int) -> None:
        self.fds.remove(fd)
        super().close(fd)

    def write(self, fd: int, data: bytes, offset: int) -> int:
        count = super().write(fd, data[: self._taken(len(data))], offset)
        self.written += count
        return self._took(count)

    def move(self, source: int, fd: int, limit: int, offset: int) -> int:
        if not self.splices:
            raise OSError(errno.EINVAL, "no splice here")
        count = super().move(source, fd, self._taken(limit), offset)
        self.moved += count
        return self._took(count)

    def _taken(self, count: int) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, "full")
        return count if self.room is None else min(self.room, count)

    def _took(self, count: int) -> int:
        if self.room is not None:
            self.room -= count
        return count


class Line:
    """A terminal, a pipe, a log and the conduit between them; `STREAM` is what the program prints."""

    def __init__(self, folder: str, *, into_file: bool = True) -> None:
        self.folder = folder
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        for fd in (self.master, self.slave):
            os.set_blocking(fd, False)
        self.pipe = os.pipe()
        self.disk = Grudging(splices=into_file)
        self.noted: list[int] = []
        self.printed = 0
        self.take_over()

    def take_over(self) -> None:
        """What a new mover does."""
        self.log = SegmentWriter(self.disk, self.folder, RING, lambda *_: None)
        self.log.needed = 0  # nothing goes
        self.conduit = Conduit(self.master, self.pipe, self.log, self.noted.append)

    def print(self, count: int) -> int:
        """As much of it as the terminal takes now."""
        with contextlib.suppress(BlockingIOError):
            self.printed += os.write(self.slave, STREAM[self.printed :][:count])
        return self.printed

    def pull(self, _: int = 0) -> int:
        """A piece that was printed."""
        assert select.select([self.master], [], [], DEADLINE_S)[0], "nothing came"
        return self.conduit.pull(0)

    def carry(self, count: int) -> None:
        """Print so much, and move all of it."""
        goal = self.printed + count
        while self.log.end < goal:
            self.print(goal - self.printed)
            self.pull(0)
            self.conduit.push()

    def hang_up(self) -> None:
        os.close(self.slave)
        self.slave = -1

    def stored(self) -> bytes:
        starts = segments.starts(os.listdir(self.folder))
        return b"".join(Path(self.folder, segments.name(start)).read_bytes() for start in starts)

    def close(self) -> None:
        for fd in {self.master, self.slave, *self.pipe, *self.disk.fds} - {-1}:
            os.close(fd)


@contextlib.contextmanager
def laid(*, into_pipe: bool = True, into_file: bool = True) -> Iterator[Line]:
    """A line; splice is refused by the kernel where the test says so."""
    real = os.splice
    with tempfile.TemporaryDirectory(prefix="oc-") as folder, pytest.MonkeyPatch.context() as patch:
        line = Line(folder, into_file=into_file)

        def refuse(source: int, target: int, count: int, **options: Any) -> int:
            if source == line.master:
                raise OSError(errno.EINVAL, "no splice here")
            return real(source, target, count, **options)

        if not into_pipe:
            patch.setattr(os, "splice", refuse)
        try:
            yield line
        finally:
            line.close()


@any_way
@PROPERTY
@given(counts=st.lists(st.integers(1, 3 * SMALLEST), max_size=5))
def test_bytes_arrive_in_order_whatever_can_be_spliced(into_pipe: bool, into_file: bool, counts: list[int]) -> None:
    with laid(into_pipe=into_pipe, into_file=into_file) as line:
        for count in counts:
            line.carry(count)
            assert line.conduit.pending == 0
        assert line.stored() == STREAM[: sum(counts)]
        assert line.noted == sorted(set(line.noted))
        assert set(segments.starts(os.listdir(line.folder))) <= {0, *line.noted}
        spliced = sum(counts) if into_pipe and into_file else 0
        assert (line.disk.moved, line.disk.written) == (spliced, sum(counts) - spliced)


@any_way
def test_a_terminal_with_nothing_to_say_gives_nothing(into_pipe: bool, into_file: bool) -> None:
    with laid(into_pipe=into_pipe, into_file=into_file) as line:
        assert line.conduit.pull(0) == 0
        line.conduit.push()
        assert (line.conduit.pending, line.noted) == (0, [])


@any_way
@PROPERTY
@given(rooms=st.lists(st.integers(0, PIECE // 2), max_size=6))
def test_what_a_full_disk_does_not_take_waits_and_arrives_once(
    into_pipe: bool, into_file: bool, rooms: list[int]
) -> None:
    with laid(into_pipe=into_pipe, into_file=into_file) as line:
        line.print(PIECE)
        pulled = line.pull(0)
        for room in rooms:
            line.disk.room = room
            if room < line.conduit.pending:
                with pytest.raises(OSError, match="full"):
                    line.conduit.push()
            else:
                line.conduit.push()
            assert line.log.end + line.conduit.pending == pulled
            assert line.stored() == STREAM[: line.log.end]
        line.disk.room = None
        line.conduit.push()
        line.carry(PIECE)
        assert line.stored() == STREAM[: line.printed]


def test_a_full_disk_does_not_end_the_splicing() -> None:
    with laid() as line:
        line.disk.room = 0
        line.print(PIECE)
        line.pull(0)
        with pytest.raises(OSError, match="full"):
            line.conduit.push()
        line.disk.room = None
        line.carry(PIECE)
        assert (line.disk.moved, line.disk.written) == (2 * PIECE, 0)


@pytest.mark.parametrize("into_file", [True, False])
@pytest.mark.parametrize("room", [0, 700])
def test_a_new_conduit_finds_what_its_predecessor_left_in_the_pipe(into_file: bool, room: int) -> None:
    with laid() as line:
        line.print(PIECE)
        pulled = line.pull(0)
        line.disk.room = room
        with pytest.raises(OSError, match="full"):
            line.conduit.push()
        line.disk.room, line.disk.splices = None, into_file
        line.take_over()
        assert (line.log.end, line.conduit.pending) == (room, pulled - room)
        line.conduit.push()
        assert line.stored() == STREAM[:pulled]
        line.carry(PIECE)
        assert line.stored() == STREAM[: line.printed]


@any_way
@pytest.mark.parametrize("count", [0, 1, len(STREAM)])
def test_the_end_comes_after_all_that_was_printed_before_it(into_pipe: bool, into_file: bool, count: int) -> None:
    with laid(into_pipe=into_pipe, into_file=into_file) as line:
        line.print(count)
        line.hang_up()
        with contextlib.suppress(Closed):
            while True:
                line.pull(0)
                line.conduit.push()
        assert line.printed >= min(count, PIECE)
        assert line.stored() == STREAM[: line.printed]
        with pytest.raises(Closed):
            line.conduit.pull(0)
        assert line.conduit.pending == 0
