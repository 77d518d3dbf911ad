"""When bytes came: records that survive any damage, and the search in them."""

from __future__ import annotations

import struct
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.log import time_index
from orchctl.log.time_index import RECORD_BYTES, Moment

PROPERTY = settings(deadline=None, max_examples=150)

offsets = st.integers(0, (1 << 64) - 1)
times = st.floats(allow_nan=False)
single = st.builds(Moment, offsets, times, times, st.integers(0, (1 << 32) - 1))
several = st.lists(single, max_size=8).map(lambda some: sorted(some, key=lambda moment: moment.offset))
END = 40
searched = st.lists(st.tuples(st.integers(0, END - 1), st.integers(0, 20)), max_size=10).map(
    lambda pairs: [Moment(offset, 0.0, float(unix_s)) for offset, unix_s in sorted(pairs, key=lambda pair: pair[0])]
)  # the clock goes as it likes
steady = searched.map(
    lambda some: [
        Moment(moment.offset, 0.0, unix_s)
        for moment, unix_s in zip(some, sorted(moment.unix_s for moment in some), strict=True)
    ]
)


def encoded(moments: list[Moment]) -> bytes:
    return b"".join(map(time_index.encode, moments))


def test_a_record_is_as_it_has_always_been() -> None:
    body = struct.pack("<QddI", 4096, 12.5, 1.75e9, 2)
    assert time_index.encode(Moment(4096, 12.5, 1.75e9, 2)) == body + struct.pack("<I", zlib.crc32(body))
    assert time_index.name(4096) == "00000000000000004096.idx"
    assert Moment(0, 0.0, 0.0).stream == 0


@PROPERTY
@given(single)
def test_a_record_has_32_bytes(moment: Moment) -> None:
    assert len(time_index.encode(moment)) == RECORD_BYTES == 32


@PROPERTY
@given(several)
def test_what_was_noted_is_read(moments: list[Moment]) -> None:
    assert time_index.decode(encoded(moments)) == time_index.Decoded(moments, 0)


@PROPERTY
@given(several, st.integers(0, 300))
def test_a_torn_end_costs_the_torn_record_alone(moments: list[Moment], length: int) -> None:
    data = encoded(moments)[:length]
    assert time_index.decode(data) == time_index.Decoded(moments[: len(data) // RECORD_BYTES], 0)


@PROPERTY
@given(several.filter(bool), st.data())
def test_a_flipped_bit_costs_its_record_and_never_makes_another(moments: list[Moment], data: st.DataObject) -> None:
    damaged = bytearray(encoded(moments))
    place = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[place // 8] ^= 1 << place % 8
    hit = place // 8 // RECORD_BYTES
    assert time_index.decode(bytes(damaged)) == time_index.Decoded(moments[:hit] + moments[hit + 1 :], 1)


@PROPERTY
@given(st.binary(max_size=200))
def test_every_whole_record_is_either_good_or_bad(data: bytes) -> None:
    found = time_index.decode(data)
    assert len(found.moments) + found.bad == len(data) // RECORD_BYTES


@PROPERTY
@given(st.lists(single, max_size=8))
def test_a_record_that_goes_back_is_bad(moments: list[Moment]) -> None:
    kept = list[Moment]()
    for moment in moments:
        if not kept or moment.offset >= kept[-1].offset:
            kept.append(moment)
    assert time_index.decode(encoded(moments)) == time_index.Decoded(kept, len(moments) - len(kept))


def test_zeros_are_no_record() -> None:
    assert time_index.decode(bytes(2 * RECORD_BYTES)) == time_index.Decoded([], 2)


@PROPERTY
@given(searched, st.integers(-1, 21))
def test_the_first_byte_that_came_then_or_later_is_found_however_the_clock_went(
    moments: list[Moment], unix_s: int
) -> None:
    expected = next((moment.offset for moment in moments if moment.unix_s >= unix_s), END)
    assert time_index.offset_at(moments, unix_s, END) == expected


@PROPERTY
@given(searched, st.integers(0, END))
def test_a_byte_came_when_the_last_note_up_to_it_says(moments: list[Moment], offset: int) -> None:
    before = [moment.unix_s for moment in moments if moment.offset <= offset]
    assert time_index.time_of(moments, offset) == (before[-1] if before else None)


@PROPERTY
@given(searched, st.integers(0, END))
def test_looking_from_when_a_byte_came_misses_no_note_from_it_on(moments: list[Moment], offset: int) -> None:
    unix_s = time_index.time_of(moments, offset)
    assert unix_s is None or time_index.offset_at(moments, unix_s, END) <= offset


@PROPERTY
@given(steady, st.integers(-1, 21))
def test_with_a_steady_clock_what_is_found_parts_earlier_from_later(moments: list[Moment], unix_s: int) -> None:
    found = time_index.offset_at(moments, unix_s, END)
    assert all(moment.unix_s < unix_s for moment in moments if moment.offset < found)
    assert all(moment.unix_s >= unix_s for moment in moments if moment.offset > found)
    came_at = time_index.time_of(moments, found)
    assert found == END or (came_at is not None and came_at >= unix_s)


def test_a_clock_that_was_set_back_hides_nothing() -> None:
    moments = [Moment(0, 1.0, 100.0), Moment(10, 2.0, 50.0), Moment(20, 3.0, 60.0), Moment(30, 4.0, 110.0)]
    assert [time_index.offset_at(moments, unix_s, END) for unix_s in (40, 55, 100, 105, 111)] == [0, 0, 0, 30, END]
    assert [time_index.time_of(moments, offset) for offset in (0, 9, 10, 35)] == [100.0, 100.0, 50.0, 110.0]
