"""Marks cut out of a log: however it was divided, what stays keeps its bytes and its addresses."""

from __future__ import annotations

from orchctl.session.stream import Chunk
from orchctl.shell.marks import MarkCutter

LONGEST = b"\x1b]6973;0123456789abcdef;P;" + b"x" * 150 + b"\x07"


def test_the_longest_mark_is_cut_wherever_it_is_divided_and_what_stays_keeps_its_place() -> None:
    log = b"before" + LONGEST + b"behind"
    for at in range(len(log) + 1):
        cutter = MarkCutter()
        found = cutter.feed(Chunk(7, log[:at])) + cutter.feed(Chunk(7 + at, log[at:])) + cutter.end()
        assert b"".join(chunk.data for chunk in found) == b"beforebehind", at
        for chunk in found:
            assert log[chunk.offset - 7 : chunk.end - 7] == chunk.data, at


def test_what_looked_like_a_mark_and_was_none_is_given_at_the_end() -> None:
    cutter = MarkCutter()
    assert cutter.feed(Chunk(0, b"a" + LONGEST[:-1])) == [Chunk(0, b"a")]
    assert cutter.held_bytes == len(LONGEST) - 1
    assert cutter.end() == [Chunk(1, LONGEST[:-1])]
    assert cutter.held_bytes == 0
