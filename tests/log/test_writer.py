"""Writing a log in segments on a real disk: nothing is lost or doubled, and nothing goes unrecorded."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import segments, time_index
from orchctl.log.disk import RealDisk
from orchctl.log.segments import KEPT_FOR_READERS, SMALLEST, Segment
from orchctl.log.writer import SegmentWriter

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
STREAM = random.Random(1).randbytes(1 << 20)
RING = 4 * SMALLEST
PIPE_BYTES = 1 << 16  # what a pipe takes at once

counts = st.integers(1, 3 * SMALLEST) | st.sampled_from([SMALLEST - 1, SMALLEST, SMALLEST + 1, RING, PIPE_BYTES])
steps = st.lists(
    st.tuples(st.sampled_from(["write", "move"]), counts)
    | st.tuples(st.sampled_from(["roll", "take_over"]), st.just(0))
    | st.tuples(st.sampled_from(["need", "trim"]), st.none() | st.integers(0, 5 * RING)),
    max_size=14,
)


class Fragile(RealDisk):
    """A disk that makes no file while it is `full`, removes none while `stuck`, and takes `at_once` bytes at a time."""

    def __init__(self) -> None:
        self.full, self.stuck, self.at_once = False, False, PIPE_BYTES
        self.open_fds: set[int] = set()

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        if create and self.full:
            raise OSError(errno.ENOSPC, "full")
        fd = super().open(path, write=write, create=create, append=append)
        self.open_fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self.open_fds.remove(fd)
        super().close(fd)

    def write(self, fd: int, data: bytes, offset: int) -> int:
        return super().write(fd, data[: self.at_once], offset)

    def unlink(self, path: str) -> None:
        if self.stuck:
            raise OSError(errno.EIO, "stuck")
        super().unlink(path)


class Shelf:
    """A log, its writer, and what was said to be dropped; `STREAM` is written to it from its beginning."""

    def __init__(self, folder: Path, ring_bytes: int = RING) -> None:
        self.folder, self.ring_bytes = folder, ring_bytes
        self.segment_bytes = segments.size_for(ring_bytes)
        self.disk = Fragile()
        self.dropped: list[tuple[int, int]] = []
        self.mute = False
        self.take_over()

    def take_over(self, _: int = 0) -> None:
        self.writer = SegmentWriter(self.disk, str(self.folder), self.ring_bytes, self._record)

    def write(self, count: int) -> None:
        data = STREAM[self.writer.end : self.writer.end + count]
        while data:
            data = data[self.writer.write(data) :]

    def move(self, count: int) -> None:
        out, into = os.pipe()
        try:
            goal = self.writer.end + os.write(into, STREAM[self.writer.end :][: min(count, PIPE_BYTES)])
            while self.writer.end < goal:
                self.writer.move(out)
        finally:
            os.close(out)
            os.close(into)

    def roll(self, _: int = 0) -> None:
        self.writer.roll()

    def need(self, offset: int | None) -> None:
        self.writer.needed = offset

    def trim(self, keep_bytes: int | None = None) -> None:
        self.writer.trim(keep_bytes)

    def _record(self, first: int, end: int) -> None:
        if self.mute:
            raise OSError(errno.ENOSPC, "cannot be written down")
        kept = self.kept()
        assert kept[0].start == first == (self.dropped[-1][1] if self.dropped else 0)
        assert end in [segment.end for segment in kept[:-1]], "it is gone before it was written down"
        self.dropped.append((first, end))

    def kept(self) -> list[Segment]:
        starts = segments.starts(os.listdir(self.folder))
        return [Segment(start, (self.folder / segments.name(start)).stat().st_size) for start in starts]

    def check(self) -> None:
        """What is kept is the end of what was written, and what is not was said to be dropped."""
        kept = self.kept()
        assert segments.whole(kept) == kept
        assert kept[0].start == (self.dropped[-1][1] if self.dropped else 0)
        assert (kept[-1].start, kept[-1].end) == (self.writer.start, self.writer.end)
        data = b"".join((self.folder / segments.name(segment.start)).read_bytes() for segment in kept)
        assert data == STREAM[kept[0].start : self.writer.end]
        assert all(segment.size <= self.segment_bytes for segment in kept)


@contextlib.contextmanager
def opened(folder: Path, ring_bytes: int = RING) -> Iterator[Shelf]:
    shelf = Shelf(folder, ring_bytes)
    try:
        yield shelf
    finally:
        for fd in shelf.disk.open_fds.copy():
            shelf.disk.close(fd)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with opened(tmp_path) as made:
        yield made


@PROPERTY
@given(steps, st.sampled_from([1, RING, 3 * RING]), st.sampled_from([1000, PIPE_BYTES]))
def test_whatever_is_done_the_log_is_the_end_of_the_stream(
    done: list[tuple[str, int | None]], ring_bytes: int, at_once: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder, opened(Path(folder), ring_bytes) as shelf:
        shelf.disk.at_once = at_once
        written = 0
        for step, number in done:
            getattr(shelf, step)(number)
            written += min(number or 0, PIPE_BYTES) if step in ("write", "move") else 0
            assert shelf.writer.end == written
            shelf.check()


@PROPERTY
@given(st.lists(counts, max_size=12), st.booleans())
def test_a_log_that_nobody_reads_stays_within_its_ring(many: list[int], taken_over: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder, opened(Path(folder)) as shelf:
        for count in many:
            shelf.write(count)
            if taken_over:
                shelf.take_over()
            shelf.check()
            assert sum(segment.size for segment in shelf.kept()) <= RING


def test_a_writer_has_one_file_open(shelf: Shelf) -> None:
    shelf.write(20 * SMALLEST)
    assert len(shelf.disk.open_fds) == 1


def test_a_full_segment_that_was_left_behind_is_not_written_to(shelf: Shelf) -> None:
    shelf.write(SMALLEST)
    shelf.take_over()
    assert shelf.kept() == [Segment(0, SMALLEST)]
    shelf.write(1)
    assert shelf.kept() == [Segment(0, SMALLEST), Segment(SMALLEST, 1)]


def test_rolling_an_empty_segment_does_nothing(shelf: Shelf) -> None:
    shelf.roll()
    assert shelf.kept() == [Segment(0, 0)]
    shelf.write(10)
    shelf.roll()
    shelf.roll()
    assert shelf.kept() == [Segment(0, 10), Segment(10, 0)]
    shelf.take_over()
    shelf.write(5)
    assert shelf.kept() == [Segment(0, 10), Segment(10, 5)]


def test_what_somebody_needs_is_kept_until_nobody_does(shelf: Shelf) -> None:
    shelf.write(2 * RING)
    first = shelf.kept()[0].start
    shelf.need(first + 1)
    shelf.write(2 * RING)
    assert shelf.kept()[0].start == first
    shelf.need(None)
    shelf.trim()
    shelf.check()
    assert shelf.kept()[0].start == 3 * RING


def test_a_reader_that_stands_still_holds_four_rings_and_no_more(shelf: Shelf) -> None:
    shelf.need(0)
    shelf.write(KEPT_FOR_READERS * RING)
    assert shelf.dropped == []
    shelf.write(3 * SMALLEST)
    assert shelf.kept()[0].start == 3 * SMALLEST
    shelf.check()


@pytest.mark.parametrize(("keep_bytes", "first"), [(0, 14), (SMALLEST, 14), (2 * SMALLEST, 13), (9 * RING, 11)])
def test_trimming_keeps_that_much_whoever_needs_more_but_never_more_than_the_ring(
    shelf: Shelf, keep_bytes: int, first: int
) -> None:
    shelf.need(0)
    shelf.write(15 * SMALLEST)
    shelf.trim(keep_bytes)
    shelf.check()
    assert shelf.kept()[0].start == first * SMALLEST


def test_an_index_goes_with_its_segment(shelf: Shelf) -> None:
    for start in (0, SMALLEST):
        (shelf.folder / time_index.name(start)).touch()
    shelf.write(RING + 1)
    assert sorted(shelf.folder.glob("*.idx")) == [shelf.folder / time_index.name(SMALLEST)]


def test_where_no_new_segment_can_be_made_writing_goes_on_later(shelf: Shelf) -> None:
    shelf.write(SMALLEST)
    shelf.disk.full = True
    for step in (shelf.write, shelf.move, shelf.roll):
        with pytest.raises(OSError, match="full"):
            step(1)
        shelf.check()
    shelf.disk.full = False
    shelf.write(RING)
    assert shelf.writer.end == SMALLEST + RING
    shelf.check()


def test_what_cannot_be_written_down_is_not_dropped(shelf: Shelf) -> None:
    shelf.write(RING)
    shelf.mute = True
    for step in (shelf.write, shelf.trim):
        with pytest.raises(OSError, match="written down"):
            step(1)
        assert shelf.kept()[0].start == 0
    shelf.check()
    shelf.mute = False
    shelf.write(2 * RING)
    shelf.check()
    assert sum(segment.size for segment in shelf.kept()) <= RING


def test_what_was_said_to_be_dropped_and_could_not_be_is_not_said_again(tmp_path: Path) -> None:
    disk, dropped = Fragile(), list[tuple[int, int]]()
    writer = SegmentWriter(disk, str(tmp_path), RING, lambda first, end: dropped.append((first, end)))
    for _ in range(RING // SMALLEST):
        writer.write(b"x" * SMALLEST)
    disk.stuck = True
    with pytest.raises(OSError, match="stuck"):
        writer.write(b"x")
    disk.stuck = False
    writer.trim(0)
    writer.close()
    assert dropped == [(0, SMALLEST), (SMALLEST, RING)]
    assert segments.starts(os.listdir(tmp_path)) == [RING]
