"""Segments: the names on disk, what is missing between them, and what retention lets go."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.log import segments
from orchctl.log.segments import KEPT_FOR_READERS, LARGEST, PARTS, SMALLEST, Segment
from orchctl.session import layout

PROPERTY = settings(deadline=None, max_examples=150)

offsets = st.integers(0, (1 << 64) - 1)
sizes = st.lists(st.integers(0, 50), max_size=12)
rings = st.integers(0, 200)


def in_a_row(first: int, lengths: list[int]) -> list[Segment]:
    starts = itertools.accumulate(lengths, initial=first)
    return [Segment(start, size) for start, size in zip(starts, lengths, strict=False)]


def apart(pieces: list[tuple[int, int]]) -> list[Segment]:
    """Segments of these sizes, each with that much missing before it."""
    found, end = list[Segment](), 0
    for missing, size in pieces:
        found.append(Segment(end + missing, size))
        end += missing + size
    return found


def total(some: list[Segment]) -> int:
    return sum(segment.size for segment in some)


@PROPERTY
@given(offsets)
def test_the_offset_is_in_the_name(start: int) -> None:
    assert segments.start_of(segments.name(start)) == start
    assert layout.segment(start) == f"{layout.OUTPUT}/{segments.name(start)}"


@PROPERTY
@given(st.text("0123456789.seg-+_ ²٣", max_size=26) | st.from_regex(r"[0-9]{18,22}\.seg\n?", fullmatch=True))
def test_only_the_very_name_is_that_of_a_segment(file: str) -> None:
    start = segments.start_of(file)
    assert start is None or segments.name(start) == file


@pytest.mark.parametrize(
    "file",
    [
        "",
        "0.seg",
        f"{'0' * 20}",
        f"{'0' * 20}.idx",
        f"{'0' * 21}.seg",
        f"{'0' * 20}.seg~",
        f"+{'0' * 19}.seg",
        f"{'٣' * 20}.seg",
        "quarantine",
    ],
)
def test_other_files_are_no_segments(file: str) -> None:
    assert segments.start_of(file) is None


@PROPERTY
@given(
    st.sets(offsets, max_size=8), st.lists(st.sampled_from(["quarantine", "x.seg", f"{'1' * 20}.idx"])), st.randoms()
)
def test_segments_are_found_in_order_among_other_files(found: set[int], others: list[str], order: Random) -> None:
    files = [*map(segments.name, found), *others]
    order.shuffle(files)
    assert segments.starts(files) == sorted(found)


@PROPERTY
@given(st.integers(0, 1 << 40))
def test_a_ring_has_eight_segments_unless_they_get_too_small_or_too_large(ring: int) -> None:
    size = segments.size_for(ring)
    assert SMALLEST <= size <= LARGEST
    assert size == ring // PARTS or (size == SMALLEST > ring // PARTS) or (size == LARGEST < ring // PARTS)


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=10))
def test_segments_and_the_holes_between_them_are_the_whole_log(pieces: list[tuple[int, int]]) -> None:
    log = apart(pieces)
    holes = segments.holes(log)
    assert all(first < end for first, end in holes)
    held = [at for segment in log for at in range(segment.start, segment.end)]
    missing = [at for first, end in holes for at in range(first, end)]
    assert sorted(held + missing) == (list(range(log[0].start, log[-1].end)) if log else [])


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), max_size=10))
def test_a_log_is_whole_up_to_its_first_hole(pieces: list[tuple[int, int]]) -> None:
    log = apart(pieces)
    whole, holes = segments.whole(log), segments.holes(log)
    assert whole == [segment for segment in log if not holes or segment.end <= holes[0][0]]
    assert bool(whole) == bool(log)


def test_a_log_is_whole_up_to_its_first_overlap() -> None:
    log = [Segment(5, 5), Segment(10, 5), Segment(14, 5), Segment(19, 5)]
    assert segments.whole(log) == log[:2]
    assert segments.holes(log) == []


@PROPERTY
@given(offsets, sizes, rings, st.none() | st.integers(0, 300))
def test_retention_drops_from_the_front_and_never_the_last(
    first: int, lengths: list[int], ring: int, needed: int | None
) -> None:
    log = in_a_row(first, lengths)
    dropped = segments.overdue(log, ring, None if needed is None else first + needed)
    assert dropped == log[: len(dropped)]
    assert len(dropped) < max(1, len(log))


@PROPERTY
@given(sizes.filter(bool), rings)
def test_what_nobody_reads_goes_until_the_rest_fits_and_no_further(lengths: list[int], ring: int) -> None:
    log = in_a_row(0, lengths)
    dropped = segments.overdue(log, ring, None)
    rest = log[len(dropped) :]
    assert total(rest) <= ring or len(rest) == 1
    assert not dropped or total([dropped[-1], *rest]) > ring


@PROPERTY
@given(sizes.filter(bool), rings, st.integers(0, 300))
def test_what_somebody_reads_is_kept_up_to_four_rings(lengths: list[int], ring: int, needed: int) -> None:
    log = in_a_row(0, lengths)
    dropped = segments.overdue(log, ring, needed)
    rest = log[len(dropped) :]
    if total(rest) > ring and len(rest) > 1:
        assert rest[0].end > needed
        assert total(rest) <= KEPT_FOR_READERS * ring
    for at, segment in enumerate(dropped):
        assert total(log[at:]) > (ring if segment.end <= needed else KEPT_FOR_READERS * ring)


@PROPERTY
@given(sizes, rings, st.integers(0, 300))
def test_reading_never_makes_more_go(lengths: list[int], ring: int, needed: int) -> None:
    log = in_a_row(0, lengths)
    assert len(segments.overdue(log, ring, needed)) <= len(segments.overdue(log, ring, None))


def test_the_segment_in_which_somebody_reads_is_kept() -> None:
    log = in_a_row(0, [10] * 10)
    assert segments.overdue(log, 40, None) == log[:6]
    assert segments.overdue(log, 40, 30) == log[:3]
    assert segments.overdue(log, 40, 29) == log[:2]
    assert segments.overdue(log, 20, 0) == log[:2]
    assert segments.overdue(log, 100, 100) == []
