"""Reading a log of many real segments: what is there, byte for byte, and what is not, with its exact range."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log.disk import RealDisk
from orchctl.log.reader import BLOCK_BYTES, OutputLog
from orchctl.log.segments import Segment
from orchctl.session import layout
from orchctl.session.model import Output
from orchctl.session.stream import Gap

PROPERTY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
STREAM = bytes(random.Random(3).choices(b"abc\n", k=1 << 10))
LINE = b"x" * 79 + b"\n"

pieces = st.lists(st.tuples(st.integers(1, 30), st.sampled_from([True, True, True, False])), max_size=8)


class Counting(RealDisk):
    """A disk that counts what is read from it."""

    def __init__(self) -> None:
        self.bytes_read = 0

    def read(self, fd: int, limit: int, offset: int) -> bytes:
        data = super().read(fd, limit, offset)
        self.bytes_read += len(data)
        return data


class Kept:
    """What is there of `STREAM`: segments on disk, and the same as a model."""

    def __init__(self, folder: str, cut: list[tuple[int, bool]], *, rolled: bool) -> None:
        self.folder = folder
        os.mkdir(f"{folder}/{layout.OUTPUT}")
        self.segments: list[Segment] = []
        start = 0
        for size, kept in [*cut, *([(0, True)] if rolled else [])]:
            if kept:
                self.add(start, STREAM[start : start + size])
            start += size
        self.first = self.segments[0].start if self.segments else 0
        self.end = self.segments[-1].end if self.segments else 0

    def add(self, start: int, data: bytes) -> None:
        put(self.folder, start, data)
        self.segments.append(Segment(start, len(data)))

    def run_from(self, offset: int) -> int:
        """Up to where there are bytes from here on."""
        for segment in self.segments:
            offset = segment.end if segment.start <= offset < segment.end else offset
        return offset

    def run_before(self, offset: int) -> int:
        """From where on there are bytes up to here."""
        for segment in reversed(self.segments):
            offset = segment.start if segment.start < offset <= segment.end else offset
        return offset

    def gap(self, offset: int) -> Gap | None:
        after = [segment.start for segment in self.segments if segment.start > offset]
        return Gap(offset, after[0]) if after and self.run_from(offset) == offset else None


def put(folder: str | Path, start: int, data: bytes) -> Path:
    path = Path(folder, layout.segment(start))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def last_lines(count: int, data: bytes) -> int:
    """Where they begin, the simple way."""
    lines = data.splitlines(keepends=True)
    return sum(map(len, lines[: max(0, len(lines) - count)]))


@contextlib.contextmanager
def cut_up(cut: list[tuple[int, bool]], *, rolled: bool) -> Iterator[tuple[Kept, OutputLog]]:
    with tempfile.TemporaryDirectory(prefix="oc-") as folder:
        log = OutputLog(folder)
        try:
            yield Kept(folder, cut, rolled=rolled), log
        finally:
            log.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OutputLog]:
    made = OutputLog(str(tmp_path))
    yield made
    made.close()


@PROPERTY
@given(pieces, st.booleans())
def test_a_log_says_which_bytes_there_are(cut: list[tuple[int, bool]], rolled: bool) -> None:
    with cut_up(cut, rolled=rolled) as (kept, log):
        sizes = sum(segment.size for segment in kept.segments)
        assert (log.first, log.end) == (kept.first, kept.end)
        assert log.extent() == Output(
            first_offset=kept.first, next_offset=kept.end, kept_bytes=sizes, dropped_bytes=kept.end - sizes
        )


@PROPERTY
@given(pieces, st.booleans(), st.lists(st.tuples(st.integers(0, 250), st.integers(1, 50)), max_size=10))
def test_any_byte_can_be_read_in_any_order(
    cut: list[tuple[int, bool]], rolled: bool, wanted: list[tuple[int, int]]
) -> None:
    with cut_up(cut, rolled=rolled) as (kept, log):
        for offset, limit in wanted:
            data = log.read(offset, limit)
            assert data == STREAM[offset : offset + len(data)]
            assert len(data) <= limit
            assert bool(data) == (kept.run_from(offset) > offset)
            assert log.span(offset, offset + limit) == STREAM[offset : min(offset + limit, kept.run_from(offset))]
            assert log.gap(offset) == kept.gap(offset)


@PROPERTY
@given(pieces, st.booleans(), st.integers(1, 50))
def test_whoever_reads_on_gets_every_byte_and_every_gap(cut: list[tuple[int, bool]], rolled: bool, limit: int) -> None:
    with cut_up(cut, rolled=rolled) as (kept, log):
        offset, got, missing = 0, b"", 0
        while (data := log.read(offset, limit)) or (gap := log.gap(offset)):
            stepped = 0 if data or gap is None else gap.end - gap.first
            got += data
            missing += stepped
            offset += len(data) + stepped
        assert got == b"".join(STREAM[segment.start : segment.end] for segment in kept.segments)
        assert (offset, missing) == (kept.end, kept.end - len(got))


@PROPERTY
@given(pieces, st.booleans(), st.integers(0, 12), st.integers(0, 250))
def test_the_last_lines_begin_where_they_do_in_the_bytes_up_to_a_gap(
    cut: list[tuple[int, bool]], rolled: bool, count: int, before: int
) -> None:
    with cut_up(cut, rolled=rolled) as (kept, log):
        end = min(log.end, before)
        first = kept.run_before(end)
        assert log.start_of_last_lines(count, end) == first + last_lines(count, STREAM[first:end])


@pytest.mark.parametrize("segment_bytes", [4096, 5000, 1 << 20])
def test_a_thousand_last_lines_of_a_long_log_cost_little_more_than_themselves(
    tmp_path: Path, segment_bytes: int
) -> None:
    data = LINE * (2 * (1 << 20) // len(LINE))
    for start in range(0, len(data), segment_bytes):
        put(tmp_path, start, data[start : start + segment_bytes])
    disk = Counting()
    log = OutputLog(str(tmp_path), disk)
    assert log.start_of_last_lines(1000, log.end) == len(data) - 1000 * len(LINE)
    assert disk.bytes_read <= 1001 * len(LINE) + min(BLOCK_BYTES, segment_bytes)
    log.close()


def test_a_log_that_is_not_there_yet_is_empty(log: OutputLog) -> None:
    assert (log.first, log.end, log.extent()) == (0, 0, Output())
    assert (log.read(0), log.gap(0), log.start_of_last_lines(5, 0)) == (b"", None, 0)


def test_what_is_written_meanwhile_is_found(log: OutputLog, tmp_path: Path) -> None:
    assert log.read(0) == b""
    path = put(tmp_path, 0, b"one")
    assert log.read(0) == b"one"
    path.write_bytes(b"one two")
    assert (log.read(3), log.read(7)) == (b" two", b"")
    put(tmp_path, 7, b" three")
    assert (log.read(7), log.end, log.gap(7)) == (b" three", 13, None)


def test_a_segment_that_goes_while_it_is_read_can_be_read_to_its_end(log: OutputLog, tmp_path: Path) -> None:
    for start, data in ((0, b"0123456789"), (10, b"abc"), (13, b"def")):
        put(tmp_path, start, data)
    assert log.read(0, 4) == b"0123"
    for start in (0, 10):
        Path(tmp_path, layout.segment(start)).unlink()
    assert (log.read(4, 3), log.read(7)) == (b"456", b"789")
    assert (log.read(10), log.gap(10)) == (b"", Gap(10, 13))
    assert log.read(13) == b"def"


def test_one_file_is_open_at_a_time_and_none_after_closing(log: OutputLog, tmp_path: Path) -> None:
    for start in range(0, 50, 5):
        put(tmp_path, start, b"12345")
    assert log.extent().kept_bytes == 50
    assert _open_in(tmp_path) == []
    assert log.span(0, 50) == b"12345" * 10
    assert len(_open_in(tmp_path)) == 1
    log.close()
    log.close()
    assert _open_in(tmp_path) == []
    assert log.read(45) == b"12345"  # and it opens again


def test_other_files_are_no_part_of_the_log(log: OutputLog, tmp_path: Path) -> None:
    path = put(tmp_path, 0, b"one")
    for name in ("00000000000000000003.idx", "3.seg", "quarantine"):
        (path.parent / name).write_bytes(b"two")
    assert (log.end, log.span(0, 10), log.gap(3)) == (3, b"one", None)


def _open_in(folder: Path) -> list[str]:
    paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    files = [os.readlink(path) for path in paths if os.path.islink(path)]
    return [file for file in files if file.startswith(f"{folder}/")]
