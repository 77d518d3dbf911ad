"""JSON objects with a checksum: what was changed is never believed, and what older versions wrote is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.log import journal

OBJECT = {"id": "11111111", "command": ["sleep", "1000"], "name": None, "cols": 80}
_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@given(st.dictionaries(st.text(max_size=6).filter(lambda key: key != journal.FIELD), _VALUES, min_size=1))
def test_what_was_dumped_is_loaded_and_every_json_reader_reads_it(data: dict[str, object]) -> None:
    text = journal.dump(data)
    assert journal.load(text.encode("ascii")) == data
    assert {key: value for key, value in json.loads(text).items() if key != journal.FIELD} == data


def test_what_an_older_version_wrote_is_loaded() -> None:
    assert journal.load(json.dumps(OBJECT).encode("ascii")) == OBJECT


def test_no_flipped_bit_is_believed() -> None:
    text = journal.dump(OBJECT).encode("ascii")
    for at in range(8 * len(text)):
        damaged = bytearray(text)
        damaged[at // 8] ^= 1 << at % 8
        with pytest.raises(ValueError, match=r"."):
            journal.load(bytes(damaged))


def test_no_cut_is_believed() -> None:
    text = journal.dump(OBJECT).encode("ascii")
    for size in range(len(text)):
        with pytest.raises(ValueError, match=r"."):
            journal.load(text[:size])


@pytest.mark.parametrize("text", [b"", b"[]", b"1", b"\xff", b"[" * 100_000, b'{"crc32": "00000000"}'])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        journal.load(text)
