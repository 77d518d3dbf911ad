"""Journals: whatever happened to the file, what is read was written."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log.journal import Record, decode, encode

PROPERTY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
records = st.dictionaries(st.text(max_size=6), scalars | st.lists(scalars, max_size=3), max_size=4)
journals = st.lists(records, min_size=1, max_size=5)


def _sealed(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _in_order(some: list[Record], all_of_them: list[Record]) -> bool:
    """Whether `some` is what is left of `all_of_them` when a few are taken out."""
    rest = iter(all_of_them)
    return all(any(one == other for other in rest) for one in some)


@PROPERTY
@given(journals, st.integers(0, 1 << 40))
def test_what_was_written_is_read(written: list[Record], offset: int) -> None:
    data = b"".join(map(encode, written))
    result = decode(data, offset=offset)
    assert result.records == written
    assert result.next_offset == offset + len(data)
    assert result.bad_lines == 0


@PROPERTY
@given(journals, st.data())
def test_a_torn_journal_gives_its_whole_lines_and_goes_on_from_there(
    written: list[Record], data: st.DataObject
) -> None:
    whole = b"".join(map(encode, written))
    torn = whole[: data.draw(st.integers(0, len(whole)))]
    first = decode(torn)
    assert first.records == written[: torn.count(b"\n")]
    assert first.bad_lines == 0
    second = decode(whole[first.next_offset :], offset=first.next_offset)
    assert first.records + second.records == written
    assert second.next_offset == len(whole)


@PROPERTY
@given(journals, st.data())
def test_a_flipped_byte_costs_the_records_it_touches_and_invents_none(
    written: list[Record], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(map(encode, written)))
    place = data.draw(st.integers(0, len(whole) - 1))
    is_newline = whole[place] == ord("\n")
    whole[place] ^= data.draw(st.integers(1, 255))
    result = decode(bytes(whole))
    assert _in_order(result.records, written)
    assert len(result.records) >= len(written) - (2 if is_newline else 1)
    if not (is_newline and place == len(whole) - 1):  # a last line without its newline is torn, not bad
        assert result.bad_lines >= 1


@PROPERTY
@given(journals, records, journals, st.data())
def test_a_torn_line_takes_the_record_behind_it_along_and_no_other(
    before: list[Record], torn: Record, after: list[Record], data: st.DataObject
) -> None:
    line = encode(torn)
    half = line[: data.draw(st.integers(1, len(line) - 1))]
    result = decode(b"".join([*map(encode, before), half, *map(encode, after)]))
    assert result.records == before + after[1:]
    assert result.bad_lines == 1


@PROPERTY
@given(st.binary(max_size=200) | st.lists(st.sampled_from([b"\n", b" ", b"00000000", b"{}", b"\xff"])).map(b"".join))
def test_bytes_of_any_kind_are_read_without_complaint_and_give_nothing(data: bytes) -> None:
    result = decode(data)
    assert result.records == []
    assert result.bad_lines == data.count(b"\n")
    assert result.next_offset == data.rfind(b"\n") + 1


@pytest.mark.parametrize("text", [b"", b"[]", b"1", b"null", b'"{}"', b"{", b"{}{}", b"\xff", b"{\x00}", b"{'a':1}"])
def test_a_line_with_a_right_crc_is_still_no_record_unless_it_is_an_object(text: bytes) -> None:
    result = decode(_sealed(text) + encode({"type": "next"}))
    assert result.records == [{"type": "next"}]
    assert result.bad_lines == 1


def test_a_crc_in_capitals_or_too_short_is_not_ours() -> None:
    line = encode({"type": "started", "pid": 12})
    crc, text = line.split(b" ", 1)
    assert decode(crc.upper().replace(b"0", b"O") + b" " + text).records == []
    assert decode(crc[1:] + b" " + text).records == []
    assert decode(line.replace(b" ", b"  ", 1)).records == []


def test_a_record_is_one_line_that_people_can_read() -> None:
    assert encode({"type": "exit", "status": 0}) == b'208f97d5 {"type":"exit","status":0}\n'
    assert encode({"text": "ä\n"}).count(b"\n") == 1


def test_an_empty_journal_holds_nothing() -> None:
    assert decode(b"", offset=7) == decode(b"no newline yet", offset=7)
    assert decode(b"", offset=7).next_offset == 7
