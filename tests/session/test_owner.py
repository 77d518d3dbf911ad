"""The line that names a supervisor's owner."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.session.layout import Owner, decode, encode

NUMBERS = st.integers(0, 10**18)


@given(NUMBERS, NUMBERS)
def test_what_is_written_is_read(pid: int, ticks: int) -> None:
    assert decode(encode(Owner(pid, ticks))) == Owner(pid, ticks)


@given(NUMBERS, NUMBERS, st.integers(1, 4))
def test_a_line_that_was_cut_names_nobody(pid: int, ticks: int, cut: int) -> None:
    assert decode(encode(Owner(pid, ticks))[:-cut]) is None


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"1\n", b"1 2 3\n", b"a b\n", b"-1 2\n", b"\xb2 1\n", b"9" * 30 + b" 1\n"]
)
def test_anything_else_names_nobody(line: bytes) -> None:
    assert decode(line) is None
