"""The plain view: what a terminal would show of each line in the end, in bounded memory."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.terminal.plain import LIMIT, REACH
from orchctl.terminal.views import PlainView
from tests.terminal.test_views import PROPERTY, cuts, harmless, logs, shown

MOVES = [
    "\r", "\b", "\n", "\t", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[C", "\x1b[3C", "\x1b[D", "\x1b[2D", "\x1b[5G",
    "\x1b[P", "\x1b[2@", "\x1b[2X", "\x1b[31m", "\x1b]0;title\x07", "\x1b[A", "\x1b[H", "\x1b[2J", "\x1bM", "\x1bc",
    "\x1b(B", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x9b", "\x9dx\x9c", "\x18", "\x1b\\", "é", "e\u0301", "你", "😀",
    "\u202e", "\u200d", "a", "bc",
]  # fmt: skip
drawn = st.lists(st.sampled_from(MOVES) | st.text(max_size=3), max_size=14).map("".join)


def plain(text: str | bytes) -> str:
    return shown(PlainView(), text.encode() if isinstance(text, str) else text).decode()


@settings(PROPERTY, max_examples=400)
@given(drawn, cuts)
def test_any_cutting_of_what_was_drawn_shows_the_same(text: str, places: list[int]) -> None:
    data = text.encode()
    assert shown(PlainView(), data, places) == shown(PlainView(), data)
    assert shown(PlainView(), data, list(range(len(data)))) == shown(PlainView(), data)


@PROPERTY
@given(drawn.map(str.encode) | logs | st.binary(), cuts)
def test_nothing_but_text_newlines_and_tabs_comes_out(data: bytes, places: list[int]) -> None:
    assert all(map(harmless, shown(PlainView(), data, places).decode()))


@PROPERTY
@given(st.text(st.characters(exclude_categories=["Cs"]).filter(harmless), max_size=60), cuts)
def test_text_that_writes_over_nothing_stays_as_it_is(text: str, places: list[int]) -> None:
    assert shown(PlainView(), text.encode(), places).decode() == text
    assert shown(PlainView(), text.replace("\n", "\r\n").encode(), places).decode() == text


STEPS = st.lists(
    st.tuples(st.just("write"), st.text("abc ", min_size=1, max_size=5))
    | st.tuples(st.just("right"), st.integers(1, 9))
    | st.tuples(st.just("left"), st.integers(1, 9))
    | st.tuples(st.just("back"), st.just(0))
    | st.tuples(st.just("start"), st.just(0))
    | st.tuples(st.just("erase"), st.integers(0, 2)),
    max_size=12,
)
SPELLED = {"right": "\x1b[%dC", "left": "\x1b[%dD", "back": "\b", "start": "\r", "erase": "\x1b[%dK", "write": "%s"}


@settings(PROPERTY, max_examples=400)
@given(STEPS)
def test_a_line_shows_what_a_grid_of_cells_would_show(steps: list[tuple[str, int | str]]) -> None:
    grid, at = [" "] * 200, 0
    for what, value in steps:
        if isinstance(value, str):
            grid[at : at + len(value)] = value
            at += len(value)
        elif what == "erase":
            start, end = {0: (at, 200), 1: (0, at + 1), 2: (0, 200)}[value]
            grid[start:end] = " " * (end - start)
        else:
            at = max(0, {"right": at + value, "left": at - value, "back": at - 1, "start": 0}[what])
    text = "".join(SPELLED[what] % value if "%" in SPELLED[what] else SPELLED[what] for what, value in steps)
    assert plain(text).rstrip(" ") == "".join(grid).rstrip(" ")


@pytest.mark.parametrize(
    ("drawn_text", "seen"),
    [
        ("  0%\r 50%\r100%\r\ndone\r\n", "100%\ndone\n"),
        ("[####    ]\r\x1b[K[########]\r\n", "[########]\n"),
        ("downloading...\r\x1b[2Kok\n", "ok\n"),
        ("working |\b/\b-\b\\\b done\n", "working  done\n"),
        ("long line\rab\n", "abng line\n"),
        ("spin\r    \r\n", "\n"),
        ("trailing  \n", "trailing  \n"),
        ("\x1b[31mred\x1b[0m \x1b[38;2;1;2;3mand\x1b[m\n", "red and\n"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("a\tb\n", "a\tb\n"),
        ("a\tb\rXYZ\n", "XYZ     b\n"),
        ("你好\rx\n", "x 好\n"),
        ("e\u0301\rx\n", "x\n"),
        ("one\r\ntwo\r\n\x1b[2A\x1b[2Kone!\r\n\x1b[2Ktwo!\r\n", "one\ntwo\none!\ntwo!\n"),
        ("\x1b[2J\x1b[1;1Htop\x1b[2;3Hnext", "top\n  next"),
        ("$ ls \x1b[3Px\n", "$ ls x\n"),
        ("abcd\x1b[4D\x1b[2@xy\n", "xyabcd\n"),
        ("abcd\x1b[3D\x1b[2X\n", "a  d\n"),
        ("\x1b[?2004h$ \x1b[>4;2mx\x1b[?2004l\n", "$ x\n"),
        ("a\x1b[99999999999999999999mb\n", "ab\n"),
        ("a\x1b[" + "1" * 5000 + "Cb\n", "ab\n"),
        ("a\x1b[5\n6Cb", "a\nb"[:2] + " " * 56 + "b"),
        ("a\x1b]never ended", "a"),
        ("a\x1b]cut off\x1b[31mb\n", "ab\n"),
        ("a\x1bPq#0\x9cb\x9f1\x07c\n", "abc\n"),
        ("a\x07\x00\x7f\x05b\n", "ab\n"),
        ("x\x1b[", "x"),
        ("x\x1b", "x"),
    ],
)
def test_what_is_drawn_and_what_is_seen(drawn_text: str, seen: str) -> None:
    assert plain(drawn_text) == seen


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert plain(b"a\xff\xe2\x82b\n") == "a\ufffd\ufffdb\n"


def test_a_line_comes_when_it_is_over() -> None:
    view = PlainView()
    assert [view.feed(data) for data in (b"10%", b"\r99%", b"\r\n$ ", b"\r\n")] == [b"", b"", b"99%\n", b"$ \n"]
    assert (view.feed(b"> "), view.end(), view.end()) == (b"", b"> ", b"")


@pytest.mark.parametrize("opening", [b"\x1b]0;", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX", b"\xc2\x9d", b"\xc2\x90"])
@pytest.mark.parametrize("closing", [b"\x07", b"\x1b\\", b"\xc2\x9c"])
def test_a_string_of_a_megabyte_is_cut_without_being_held(opening: bytes, closing: bytes) -> None:
    view, block = PlainView(), b"A" * 11_000
    view.feed(b"before\nhead ")
    view.feed(opening)
    tracemalloc.start()
    try:
        for _ in range(100):
            assert view.feed(block) == b""
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()
    assert view.feed(closing + b"tail\n") == b"head tail\n"


def test_a_line_without_an_end_comes_in_parts_and_is_not_held() -> None:
    view, block = PlainView(), b"x" * 10_000
    shown_bytes, tail = 0, b""
    tracemalloc.start()
    try:
        for _ in range(300):
            shown_bytes += len(view.feed(block))
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    tail = view.end()
    assert shown_bytes + len(tail) == 3_000_000
    assert len(tail) < LIMIT


@PROPERTY
@given(st.integers(0, 3), st.integers(0, 40), cuts)
def test_a_long_line_breaks_at_the_same_place_however_it_was_cut(wide: int, more: int, places: list[int]) -> None:
    data = ("x" * (LIMIT - 2) + "你" * wide + "y" * more + "\rz\n").encode()
    assert shown(PlainView(), data, places) == shown(PlainView(), data)


def test_no_sequence_can_ask_for_gigabytes() -> None:
    asked = ["\x1b[999999999Cx\n", "\x1b[999999999Gx\n", "x\r\x1b[999999999@y\n", "\x1b[1;999999999Hx\n"] * 50
    assert len(plain("".join(asked))) <= len(asked) * (REACH + 2)


def test_after_any_two_moves_the_next_line_is_in_order() -> None:
    for one, other in itertools.product(MOVES, repeat=2):
        assert plain(f"ab你{one}{other}\x18\nnext\n").endswith("\nnext\n"), (one, other)
