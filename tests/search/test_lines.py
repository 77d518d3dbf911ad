"""Lines out of a log in pieces: places, numbers, spans, marks, and lines that are too long to be held."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.search import lines as searching
from orchctl.search.lines import Decoder, LineSearch, encode
from orchctl.search.pattern import Needle
from orchctl.session.search import Count, Line, Search
from orchctl.session.stream import Chunk, Gap
from orchctl.shell.marks import ANY_MARK, MarkCutter

MARK = b"\x1b]6973;0123456789abcdef;C\x07"
PIECES = st.lists(st.sampled_from([b"x", b"\n", b"\r\n", MARK, MARK[:9], b"\x1b", b"\x07", b"yy"]), max_size=30)


def searched(asked: Search, chunks: list[Chunk], *, terminal: bool = True) -> list[Line]:
    """Everything found in them."""
    search, cutter, found = LineSearch(asked, Needle(asked, returns=terminal)), MarkCutter(), list[Line]()
    for chunk in chunks:
        found += search.feed(cutter.feed(chunk))
    found += search.feed(cutter.end())
    return found + list(search.end())


def cut(log: bytes, size: int) -> list[Chunk]:
    return [Chunk(at, log[at : at + size]) for at in range(0, len(log), size)]


@given(PIECES.map(b"".join), st.integers(1, 40))
def test_marks_are_cut_and_the_rest_keeps_its_place(log: bytes, size: int) -> None:
    cutter = MarkCutter()
    found = [one for chunk in cut(log, size) for one in cutter.feed(chunk)] + cutter.end()
    assert b"".join(one.data for one in found) == ANY_MARK.sub(b"", log)
    assert all(log[one.offset : one.end] == one.data for one in found)


@given(PIECES.map(b"".join), st.integers(1, 40))
def test_a_line_is_where_its_offset_says(log: bytes, size: int) -> None:
    asked = Search(pattern="x", numbers=True, spans=True)
    for line in searched(asked, cut(log, size)):
        assert ANY_MARK.sub(b"", log[line.offset :]).startswith(line.text)
        assert all(line.text[start:end] == b"x" for start, end in line.spans)
        assert line.spans
        assert line.number == ANY_MARK.sub(b"", log[: line.offset]).count(b"\n") + 1


def test_a_line_too_long_to_be_held_is_shown_by_the_piece_that_matches() -> None:
    block, count = b"y" * (1 << 20), 3 * searching.LINE_BYTES >> 20
    log = b"first\n" + block * count + b"needle" + block * count + b"needle" + block + b"\nneedle\nlast\n"
    asked = Search(pattern="needle", numbers=True, after=1)
    search = LineSearch(asked, Needle(asked, returns=True))
    found, most = list[Line](), 0
    for chunk in cut(log, 1 << 20):
        found += search.feed([chunk])
        most = max(most, search.held_bytes)
    found += search.end()
    assert [(line.number, line.part, line.matches) for line in found] == [
        (2, True, True),
        (3, False, True),
        (4, False, False),
    ]
    assert b"needle" in found[0].text
    assert len(found[0].text) < 2 * searching.LINE_BYTES
    assert log[found[0].offset :].startswith(found[0].text)
    assert log[found[1].offset :].startswith(b"needle\nlast")
    assert most < 2 * searching.LINE_BYTES


def test_a_match_where_a_long_line_is_divided_is_found() -> None:
    front = b"y" * (searching.LINE_BYTES - 2)
    for shift in range(8):
        log = front + b"z" * shift + b"needle" + b"y" * (1 << 20) + b"\n"
        (line,) = searched(Search(pattern="needle"), cut(log, 1 << 20))
        assert line.part


def test_a_long_line_with_context_is_held_in_bounds_and_told_once() -> None:
    log = b"first\n" + b"y" * (5 * searching.LINE_BYTES) + b"needle\nafter\nlast\n"
    asked = Search(pattern="needle|last", numbers=True, before=2, after=0)
    search = LineSearch(asked, Needle(asked, returns=True))
    found, most = list[Line](), 0
    for chunk in cut(log, 1 << 18):
        found += search.feed([chunk])
        most = max(most, search.held_bytes)
    found += search.end()
    assert [(line.number, line.part, line.matches, line.apart) for line in found] == [
        (2, True, True, False),
        (3, False, False, False),
        (4, False, True, False),
    ]
    assert most < 2 * searching.LINE_BYTES


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.builds(Count, st.integers(0, 1 << 60))
            | st.builds(Gap, st.integers(0, 99), st.integers(100, 1 << 60))
            | st.text()
            | st.builds(
                Line,
                st.integers(0, 1 << 60),
                st.integers(0, 1 << 60),
                st.binary(max_size=30),
                st.booleans(),
                st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3).map(tuple),
                st.booleans(),
                st.booleans(),
            ),
        ),
        max_size=8,
    ),
    st.integers(1, 200),
)
def test_findings_survive_the_pipe_in_any_pieces(said: list[tuple[int, Line | Count | Gap | str]], size: int) -> None:
    said = [(number, one) for number, one in said if not isinstance(one, str) or one.isprintable()]
    data = b"".join(encode(number, one) for number, one in said) + encode(0, None)
    decoder = Decoder()
    heard = [one for at in range(0, len(data), size) for one in decoder.feed(data[at : at + size])]
    assert heard == said
    assert decoder.ended
