"""A reader's place in a log, and where the last lines begin."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import PeerBroke
from orchctl.session.stream import Chunk, Cursor, Gap, gap_before, start_of_last_lines

PROPERTY = settings(deadline=None, max_examples=150)

offsets = st.integers(0, 1 << 50)
logs = st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r\n", b"\x00"]), max_size=20).map(b"".join) | st.binary()


def _chunks(data: bytes, places: list[int], offset: int) -> list[Chunk]:
    """`data`, which begins at `offset`, cut at all these places."""
    cuts = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [Chunk(offset + start, data[start:end]) for start, end in itertools.pairwise(cuts)]


def _reference(count: int, data: bytes) -> int:
    """Where the last `count` lines of `data` begin, the simple way."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()  # the newline before it ended a line, and no other has begun
    lines = [line + b"\n" for line in lines]
    left_out = lines[: max(0, len(lines) - count)]
    return min(len(data), sum(map(len, left_out)))


@PROPERTY
@given(logs, st.lists(st.integers(0, 1000)), st.integers(0, 6), offsets)
def test_the_last_lines_begin_where_the_simple_way_finds_them(
    data: bytes, places: list[int], count: int, offset: int
) -> None:
    found = start_of_last_lines(count, reversed(_chunks(data, places, offset)))
    if found is None:
        assert data == b"" or _reference(count, data) == 0
    else:
        assert found == offset + _reference(count, data)


@PROPERTY
@given(logs, st.integers(1, 70), st.integers(0, 6))
def test_the_size_of_the_blocks_does_not_matter(data: bytes, size: int, count: int) -> None:
    blocks = _chunks(data, list(range(0, len(data), size)), 0)
    assert start_of_last_lines(count, reversed(blocks)) == start_of_last_lines(count, reversed(_chunks(data, [], 0)))


@PROPERTY
@given(logs, st.integers(0, 6))
def test_empty_blocks_change_nothing(data: bytes, count: int) -> None:
    whole = Chunk(0, data)
    between = [Chunk(len(data), b""), whole, Chunk(0, b"")]
    assert start_of_last_lines(count, between) == start_of_last_lines(count, [whole])


@pytest.mark.parametrize(
    ("data", "count", "expected"),
    [
        (b"one\ntwo\nthree\n", 1, 8),
        (b"one\ntwo\nthree\n", 2, 4),
        (b"one\ntwo\nthree", 1, 8),
        (b"one\ntwo\n\n", 1, 8),
        (b"one\ntwo\n", 0, 8),
        (b"one\ntwo\n", 3, None),
        (b"one", 2, None),
    ],
)
def test_a_last_line_counts_with_and_without_its_newline(data: bytes, count: int, expected: int | None) -> None:
    assert start_of_last_lines(count, [Chunk(0, data)]) == expected


@pytest.mark.parametrize("count", [0, 1])
def test_a_log_without_blocks_has_no_last_lines(count: int) -> None:
    assert start_of_last_lines(count, []) is None


@PROPERTY
@given(st.binary(), st.lists(st.integers(0, 1000)), offsets)
def test_a_reader_takes_a_stream_however_it_was_cut(data: bytes, places: list[int], offset: int) -> None:
    cursor = Cursor(offset)
    taken = [cursor.take(chunk) for chunk in _chunks(data, places, offset)]
    assert b"".join(chunk.data for chunk in taken) == data
    assert cursor.offset == offset + len(data)


@PROPERTY
@given(offsets, offsets.filter(bool), st.binary(), st.booleans())
def test_a_reader_refuses_bytes_from_anywhere_else_and_stays(
    offset: int, distance: int, data: bytes, ahead: bool
) -> None:
    cursor = Cursor(offset)
    with pytest.raises(PeerBroke) as caught:
        cursor.take(Chunk(offset + distance if ahead else offset - distance, data))
    assert caught.value.code == "bad-stream"
    assert cursor.offset == offset


@PROPERTY
@given(offsets, offsets, offsets)
def test_a_reader_steps_over_a_gap_only_where_it_stands_and_only_forward(offset: int, first: int, end: int) -> None:
    for gap in (Gap(first, end), Gap(offset, end)):
        cursor = Cursor(offset)
        if gap.first == offset < gap.end:
            assert cursor.skip(gap) == gap
            assert cursor.offset == gap.end
        else:
            with pytest.raises(PeerBroke) as caught:
                cursor.skip(gap)
            assert caught.value.code == "bad-stream"
            assert cursor.offset == offset


@pytest.mark.parametrize("end", [9, 10])
def test_a_gap_of_nothing_or_less_is_refused(end: int) -> None:
    with pytest.raises(PeerBroke):
        Cursor(10).skip(Gap(10, end))


@PROPERTY
@given(offsets, offsets)
def test_what_retention_has_overtaken_is_a_gap_that_the_reader_can_step_over(offset: int, first_kept: int) -> None:
    gap = gap_before(offset, first_kept)
    if first_kept <= offset:
        assert gap is None
    else:
        assert gap is not None
        cursor = Cursor(offset)
        cursor.skip(gap)
        assert cursor.offset == first_kept
