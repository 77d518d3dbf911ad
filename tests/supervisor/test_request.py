"""Answers in parts: everything in order, and no part that a message cannot hold."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from orchctl.protocol import codec
from orchctl.supervisor.request import PAGE_BYTES, pages

lengths = st.integers(0, 200) | st.sampled_from([PAGE_BYTES - 3, PAGE_BYTES - 2, PAGE_BYTES - 1, PAGE_BYTES // 2])


@given(st.lists(lengths, max_size=12))
def test_all_comes_in_order_and_what_fits_together_stays_together(found: list[int]) -> None:
    values = ["x" * length for length in found]
    parts = pages(values)
    assert [value for part in parts for value in part] == values
    assert all(part for part in parts) or parts == [[]]
    for part in parts:
        assert len(part) == 1 or sum(map(codec.size_of, part)) <= PAGE_BYTES
    for part, following in itertools.pairwise(parts):
        assert sum(map(codec.size_of, part)) + codec.size_of(following[0]) > PAGE_BYTES


def test_what_characters_take_is_counted_and_not_how_many_they_are() -> None:
    commands = ["😀" * 4096] * 50  # 12 bytes each in a message
    assert len(pages(commands)) == 10
    assert pages([]) == [[]]
