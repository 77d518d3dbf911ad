from __future__ import annotations

import pyghostty as ghostty
from hypothesis import given
from hypothesis import strategies as st

from orchctl.session.search import Painting
from orchctl.terminal.replay import empty, notice, repaint


def painted(sequence: str, *, title: str = "") -> bytes:
    return repaint(Painting(offset=0, cols=80, rows=24, title=title, sequence=sequence), 24)


def test_a_screen_is_painted_on_an_empty_one() -> None:
    assert painted("a\r\nb\x1b[2;2H") == empty(24) + b"\x1b[?7la\r\nb\x1b[2;2H\x1b[?7h"


def test_what_the_screen_showed_before_is_in_the_terminals_history() -> None:
    with ghostty.Terminal(20, 5, scrollback=100) as terminal:
        terminal.feed(b"one\r\ntwo\r\nthree")
        terminal.feed(empty(5))
        assert terminal.text().strip() == ""
        assert terminal.contents().split() == ["one", "two", "three"]


def test_lines_that_wrap_are_left_to_the_program_that_has_turned_wrapping_off() -> None:
    assert not painted("\x1b[?7ltext").endswith(b"\x1b[?7h")


def test_nothing_in_a_title_or_a_screen_makes_the_terminal_answer() -> None:
    made = painted("\x1b[?2048h\x1b[c", title="a\x1b]0;b\x07\x1b[6nc\x9bc")
    said = list[bytes]()
    with ghostty.Terminal(80, 24) as terminal:
        terminal.on_reply(said.append)
        terminal.feed(made)
    assert said == []


@given(st.text(), st.integers(1, 200))
def test_a_notice_is_one_line_and_leaves_the_cursor(text: str, cols: int) -> None:
    made = notice(text, cols)
    assert made.startswith(b"\x1b7\x1b[1;1H")
    assert made.endswith(b"\x1b8\x07")
    inside = made.removeprefix(b"\x1b7\x1b[1;1H\x1b(B\x1b[0;7m").removesuffix(b"\x1b[0m\x1b[K\x1b8\x07")
    assert len(inside.decode()) <= cols
    assert not any(byte < 0x20 or byte == 0x7F for byte in inside)
