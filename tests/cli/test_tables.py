"""Lines that match, with names, numbers and colours."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.cli.tables import Shown
from orchctl.session.model import Session
from orchctl.session.search import Count, Line

NAMED = Session(id="0123456789", name="db")
PARTS = st.lists(
    st.sampled_from([b"x", b"\xc3\xa9", b"\xff", b"\x1b[32m", b"\x1b[0m", b"\x1b[2J", b"\x07", b" "]), max_size=12
)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (Line(0, 7, b"a line"), b"db:7:a line\n"),
        (Line(0, 7, b"a line", matches=False), b"db-7-a line\n"),
        (Line(0, 7, b"a line", apart=True), b"--\ndb:7:a line\n"),
        (Line(0, 7, b"\x1b]2;t\x07\xff", spans=((0, 1),)), b"db:7:\x1b]2;t\x07\xff\n"),
        (Count(3), b"db:3\n"),
    ],
)
def test_a_pipe_gets_lines_as_grep_prints_them(line: Line | Count, shown: bytes) -> None:
    assert Shown(prefix=True, numbers=True, painted=False, terminal=False).put(NAMED, line) == shown


def test_a_session_without_a_name_has_the_beginning_of_its_id() -> None:
    shown = Shown(prefix=True, numbers=False, painted=False, terminal=False)
    assert shown.put(Session(id="0123456789"), Line(0, 1, b"x")) == b"01234567:x\n"


def test_matches_are_painted_and_the_line_keeps_its_own_colours() -> None:
    shown = Shown(prefix=False, numbers=False, painted=True, terminal=True)
    line = Line(0, 1, b"\x1b[32mgreen here\x1b[0m x", spans=((11, 15), (20, 21)))
    assert shown.put(NAMED, line) == b"\x1b[32mgreen \x1b[0m\x1b[1;31mhere\x1b[0m \x1b[1;31mx\x1b[0m\x1b[0m\n"


@given(PARTS.map(b"".join), st.lists(st.integers(0, 30), max_size=6), st.booleans())
def test_nothing_but_text_and_colour_reaches_a_terminal(text: bytes, places: list[int], painted: bool) -> None:
    places = sorted(min(place, len(text)) for place in places)
    spans = tuple(zip(places[::2], places[1::2], strict=False))
    shown = Shown(prefix=False, numbers=False, painted=painted, terminal=True).put(NAMED, Line(0, 1, text, spans=spans))
    bare = re.sub(r"\x1b\[[0-9;:]*m", "", shown.decode())
    assert all(char.isprintable() for char in bare[:-1])
    assert bare.endswith("\n")


def test_a_line_with_very_many_matches_is_shown_in_time() -> None:
    text = b"\x1b[32mx\x1b[33m" * 50_000
    spans = tuple((at, at + 1) for at in range(5, len(text), 11))
    shown = Shown(prefix=False, numbers=False, painted=True, terminal=True).put(NAMED, Line(0, 1, text, spans=spans))
    assert shown.count(b"\x1b[1;31mx\x1b[0m") == 50_000
