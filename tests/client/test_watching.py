"""Patterns in a growing text: found in any chunking, once they are there, and never across a gap."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as some

from orchctl.client.streams import WINDOW_BYTES
from orchctl.client.watching import Expecting, Search
from orchctl.session.model import Expected


def _cut(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted({one % (len(data) + 1) for one in at}), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(some.binary(max_size=60), some.binary(max_size=60), some.lists(some.integers(0, 200), max_size=6))
def test_a_word_is_found_however_the_bytes_were_cut(before: bytes, after: bytes, at: list[int]) -> None:
    before = before.replace(b"w", b"").replace(b"\x1b", b"")
    search = Search(["output=never", "output=word"], terminal=False)
    found = [one for part in _cut(before + b"word" + after, at) if (one := search.feed(part)) is not None]
    assert found[0] == ("output=word", b"word")


@given(some.lists(some.integers(0, 30), max_size=6))
def test_what_a_terminal_makes_of_newlines_is_undone(at: list[int]) -> None:
    search = Search(["output=^two$\\n"], terminal=True)
    found = [search.feed(part) for part in _cut(b"one\r\ntwo\r\nthree\r\n", at)]
    assert ("output=^two$\\n", b"two\n") in found


def test_the_one_that_begins_first_is_told() -> None:
    assert Search(["output=bar", "output=foo"], terminal=False).feed(b"foobar") == ("output=foo", b"foo")


def test_both_sides_of_a_gap_are_no_text() -> None:
    search = Search(["output=word"], terminal=False)
    assert search.feed(b"wo") is None
    search.gap()
    assert search.feed(b"rd") is None
    assert search.end() is None


def test_what_was_held_back_counts_at_the_end() -> None:
    search = Search(["output=x\\r"], terminal=True)
    assert search.feed(b"x\r") is None
    assert search.end() == ("output=x\\r", b"x\r")


@given(some.lists(some.integers(0, 30), max_size=6))
def test_the_text_before_is_whole_in_any_chunking(at: list[int]) -> None:
    expecting = Expecting(["never", b"(e)nd"])
    found = [one for part in _cut(b"some text, the end", at) if (one := expecting.feed(part)) is not None]
    assert found[0] == Expected(index=1, match=b"end", before=b"some text, the ", groups=(b"e",))


def test_what_falls_out_of_the_window_is_counted() -> None:
    expecting = Expecting(["end"])
    for _ in range(5):
        assert expecting.feed(b"x" * (WINDOW_BYTES // 2)) is None
    found = expecting.feed(b"end")
    assert found is not None
    assert (found.dropped_bytes, len(found.before)) == (WINDOW_BYTES * 3 // 2, WINDOW_BYTES)
