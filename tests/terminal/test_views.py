"""Views: the same text however the bytes were cut, and a safe one that can do nothing to a terminal."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchctl.terminal import one_line, visible
from orchctl.terminal.safe import within_line
from orchctl.terminal.views import (
    MarkView,
    NewlineView,
    PlainView,
    RawView,
    SafeView,
    TextView,
    View,
)

PROPERTY = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
WHOLE_LINES = partial(SafeView, live=False)
VIEWS: list[Callable[[], View]] = [
    RawView, MarkView, TextView, WHOLE_LINES, PlainView, partial(NewlineView, mapped=True)
]  # fmt: skip
VIEW_IDS = ["RawView", "MarkView", "TextView", "SafeView", "PlainView", "kind5"]

SGR = re.compile(r"\x1b\[[0-9;:]*m")
# the rule itself: text without C0, DEL, C1, bidi controls and surrogates; newline, tab, and colour of a sane length
ONLY_THIS = re.compile(
    "(?:[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\n|\t|\x1b\\[[0-9;:]{0,64}m)*"
)
EMBEDDINGS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = "\u061c\u200e\u200f"

TELLING = [
    b"\r", b"\n", b"\t", b"\x1b", b"\x1b[", b"31", b";", b":", b"m", b"\x1b[0m", b"\x1b[" + b"1" * 64,
    b"\x1b]0;t\x07", b"\x9b", b"\xc2\x9b", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80",
    b"\xe2", b"\x80", b"\xff", b"\x00", b"a", b"\x08", b"\x7f", b"\x18", b"\x1b[2J", b"\x1b[5D", b"\x1b[K",
    b"\x1b[3;4H", b"\x1b[?2004h", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b]52;c;eA==\x07", b"\x1bP+q\x1b\\", b"\x1b_x",
    b"\x1bc", b"\x1b(B", b"\x1b]8;;u\x1b\\", b"\xc2\x9d52;c;x\xc2\x9c",
]  # fmt: skip
MARK = b"\x1b]6973;0123456789abcdef;P;12;130\x07"
MARK_PARTS = [MARK, MARK[:3], MARK[:4], MARK[4:], MARK[:7], MARK[:24], MARK[24:], MARK[:-1], b"\x07", b"x" * 170]
tellings = st.sampled_from(TELLING) | st.binary(min_size=1, max_size=2)
calm_logs = st.lists(tellings, max_size=12).map(b"".join)
logs = st.lists(tellings | st.sampled_from(MARK_PARTS), max_size=12).map(b"".join)
cuts = st.lists(st.integers(0, 1000), max_size=6)


def shown(view: View, data: bytes, places: list[int] | None = None) -> bytes:
    """What a view makes of `data`, cut at all these places."""
    edges = sorted([0, len(data), *(place % (len(data) + 1) for place in places or [])])
    pieces = [data[start:end] for start, end in itertools.pairwise(edges)]
    return b"".join(map(view.feed, pieces)) + view.end()


def harmless(char: str) -> bool:
    """Whether a terminal only prints it, in its place."""
    if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}:
        return char in "\n\t"
    return unicodedata.bidirectional(char) not in EMBEDDINGS and char not in MARKS


@pytest.mark.parametrize("kind", VIEWS, ids=VIEW_IDS)
@PROPERTY
@given(logs, cuts)
@example(MARK[:4] + MARK + MARK[4:], [4 + len(MARK)])
def test_any_cutting_of_the_bytes_shows_the_same(kind: Callable[[], View], data: bytes, places: list[int]) -> None:
    assert shown(kind(), data, places) == shown(kind(), data)


@pytest.mark.parametrize("kind", VIEWS, ids=VIEW_IDS)
@PROPERTY
@given(logs)
def test_one_byte_at_a_time_shows_the_same(kind: Callable[[], View], data: bytes) -> None:
    assert shown(kind(), data, list(range(len(data)))) == shown(kind(), data)


@PROPERTY
@given(logs)
def test_the_raw_view_changes_nothing(data: bytes) -> None:
    assert shown(RawView(), data) == data


@PROPERTY
@given(calm_logs, cuts)
def test_the_text_view_undoes_the_newline_mapping_and_nothing_else(data: bytes, places: list[int]) -> None:
    assert shown(TextView(), data, places) == data.replace(b"\r\n", b"\n")


@PROPERTY
@given(st.lists(calm_logs, min_size=1, max_size=4), cuts)
def test_marks_are_cut_from_every_view_but_the_raw_one(parts: list[bytes], places: list[int]) -> None:
    marked, bare = MARK.join(parts), b"".join(parts)
    assert shown(MarkView(), marked, places) == bare
    assert shown(TextView(), marked, places) == shown(TextView(), bare)
    assert b"6973" not in shown(SafeView(), marked, places)
    assert shown(RawView(), marked, places) == marked


@PROPERTY
@given(logs.map(lambda data: data.replace(b"\x07", b"")), cuts)
def test_a_mark_that_does_not_end_is_output(data: bytes, places: list[int]) -> None:
    assert shown(MarkView(), data, places) == data


@PROPERTY
@given(logs | st.binary(), cuts)
def test_the_newline_view_gives_back_what_a_terminal_has_mapped(data: bytes, places: list[int]) -> None:
    view = NewlineView(mapped=True)
    assert shown(view, data.replace(b"\n", b"\r\n"), places) == data
    assert view.exact


@PROPERTY
@given(logs, logs, cuts)
def test_the_newline_view_is_exact_up_to_the_first_newline_that_was_not_mapped(
    before: bytes, after: bytes, places: list[int]
) -> None:
    view, data = NewlineView(mapped=True), before.replace(b"\n", b"\r\n")
    assert shown(view, data.rstrip(b"\r") + b"\n" + after, places) == before.rstrip(b"\r") + b"\n" + after
    assert not view.exact


@PROPERTY
@given(logs, cuts)
def test_where_no_newline_was_mapped_the_newline_view_changes_nothing(data: bytes, places: list[int]) -> None:
    view = NewlineView(mapped=False)
    assert shown(view, data, places) == data
    assert not view.exact


@PROPERTY
@given(logs | st.binary(), cuts)
def test_the_safe_view_shows_only_printable_text_newlines_tabs_and_colour(data: bytes, places: list[int]) -> None:
    for live in (True, False):
        text = shown(SafeView(live=live), data, places).decode("utf-8")
        assert ONLY_THIS.fullmatch(text)
        assert all(map(harmless, SGR.sub("", text)))


@PROPERTY
@given(logs)
def test_what_is_safe_already_is_left_alone(data: bytes) -> None:
    once = shown(SafeView(), data)
    assert shown(SafeView(), once) == once


@PROPERTY
@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])))
def test_text_with_nothing_to_hide_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert one_line(text) == text
    assert shown(SafeView(), text.encode()) == text.encode()


@PROPERTY
@given(st.text(st.characters(codec=None)))
def test_a_line_for_a_table_is_one_line_without_colour(text: str) -> None:
    line = one_line(text)
    assert all(harmless(char) and char not in "\n\t" for char in line)


def test_every_character_that_can_act_is_spelled_out_and_no_other_is() -> None:
    everything = [chr(code) for code in range(0x110000)]
    calm = "".join(filter(harmless, everything))
    assert visible(calm) == calm
    for char in itertools.filterfalse(harmless, everything):
        assert all(map(harmless, visible(char)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x1b[31mred\x1b[0m", b"\x1b[31mred\x1b[0m"),
        (b"\x1b[38:2::1:2:3mx\x1b[m", b"\x1b[38:2::1:2:3mx\x1b[0m"),
        (b"\x1b[1m\x1b[31mx\x1b[0;32my\nz", b"\x1b[1;31mx\x1b[0m\x1b[32my\x1b[0m\n\x1b[32mz\x1b[0m"),
        (b"\x1b[7m#\x1b[27m\x1b[24m x\x1b[8mshown", b"\x1b[7m#\x1b[0m xshown"),
        (b"\x1b[38;5;9;1mx\x1b[39my\x1b[22mz", b"\x1b[38;5;9;1mx\x1b[0m\x1b[1my\x1b[0mz"),
        (b"\x1b[48;2;1;2;3mx\x1b[38;5mz", b"\x1b[48;2;1;2;3mxz\x1b[0m"),
        (b"\x1b[2J", b""),
        (b"\x1b]0;title\x07", b""),
        (b"\x1b]2;title\x1b\\a", b"a"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"\x1b[?2004h$ ls\r\n\x1b[?2004l\rone\r\n", b"$ ls\none\n"),
        (b"\x1b[6n\x1b[c\x1b[>q\x1b=\x1b7\x1b(B.", b"."),
        (b"10%\r20%\r100%\r\ndone\r\n", b"100%\ndone\n"),
        (b"long line\rshort\x1b[K\n", b"short\n"),
        (b"abc\x08\x08X\n", b"aXc\n"),
        (b"\x1b]52;c;ZXZpbA==\x07", b"^[]52;c;ZXZpbA==^G"),
        (b"\x1b]9;hello\x07\x1b]9;4;1;50\x07", b"^[]9;hello^G"),
        (b"\x1bPq#0\x1b\\", b"^[Pq#0^[\\"),
        (b"\x1b_Gi=1\x1b\\", b"^[_Gi=1^[\\"),
        (b"\x1b^x\x1b\\", b"^[^x^[\\"),
        (b"\x1b]0;never ends\nnext\n", b"^[]0;never ends\nnext\n"),
        (b"\x1b[1;\x1b[31mx", b"^[[1;\x1b[31mx\x1b[0m"),
        (b"\x1b[3\x18m", b"^[[3^Xm"),
        (b"\xc2\x9b31m", b"\\x9b31m"),
        (b"\xc2\x9d52;c;x\xc2\x9c", b"\\x9d52;c;x\\x9c"),
        (b"\x1b[" + b"1" * 65 + b"m", b"^[[" + b"1" * 65 + b"m"),
        (b"\x1b", b"^["),
        (b"\x1b[3", b"^[[3"),
        (b"a\r\nb\rc\r", b"a\nc"),
        (b"\x00\x7f\x08\x07", b"^@^?"),
        ("\x9b31m".encode(), b"\\x9b31m"),
        (b"\x9b31m", b"\\x9b31m"),
        (b"\xff\xe2\x82", b"\\xff\\xe2\\x82"),
        ("\u202eevil".encode(), b"\\u202eevil"),
        ("tab\tgrün 😀\n".encode(), "tab\tgrün 😀\n".encode()),
    ],
)
def test_the_safe_view_spells_out_what_it_does_not_show(data: bytes, expected: bytes) -> None:
    assert shown(SafeView(), data) == expected


def test_what_is_live_shows_the_beginning_of_a_line_and_later_how_it_ended() -> None:
    view = SafeView()
    assert view.feed(b"Password: ") == b"Password: "
    assert view.feed(b"\r\n10%") == b"\n10%"
    assert view.feed(b"\r20%") == b""
    assert view.feed(b"\r30%\r\nok") == b"\n30%\nok"
    assert view.feed(b"ay\r\n") == b"ay\n"
    assert view.end() == b""


VIM = (
    b"\x1b[?1049h\x1b[22;0;0t\x1b[?1h\x1b=\x1b[2J\x1b[16;1H~\x1b[1;1Hhello\x1b[?25h\x1b[?1049l\x1b[23;0;0t\x1b[?1l\x1b>"
)


@pytest.mark.parametrize("live", [True, False])
def test_a_program_that_takes_the_screen_is_one_line(live: bool) -> None:
    view = SafeView(live=live)
    names = {None: "", "0badcafe": "vim"}
    view.program = lambda exec_id: names[exec_id]
    start = MARK.replace(b"P;12;130", b"C;0badcafe")
    end = MARK.replace(b"P;12;130", b"D;0badcafe;0")
    data = b"$ vim x\r\n" + start + VIM + b"saved\r\n" + end + MARK + b"$ less y\r\n" + VIM + MARK + b"$ "
    told = b"$ vim x\n[vim: full-screen program]\nsaved\n$ less y\n[full-screen program]\n$ "
    assert shown(view, data) == told
    for place in range(len(data)):
        view = SafeView(live=False)
        view.program = lambda exec_id: names[exec_id]
        assert shown(view, data, [place]) == told


def test_a_program_that_never_gives_the_screen_back_is_over_with_the_next_prompt() -> None:
    data = b"$ vim\r\n" + VIM[: VIM.index(b"\x1b[?1049l")] + MARK + b"$ ls\r\nx\r\n"
    assert shown(SafeView(), data) == b"$ vim\n[full-screen program]\n$ ls\nx\n"


def test_a_colour_cut_in_two_is_put_together_first() -> None:
    view = SafeView()
    assert view.feed(b"a\x1b") == b"a"
    assert view.feed(b"[3") == b""
    assert view.feed(b"1mb") == b"\x1b[31mb\x1b[0m"
    assert view.end() == b""


def test_a_view_holds_back_no_more_than_it_must() -> None:
    view = SafeView()
    assert view.feed(b"\x1b[" + b"1" * 64) == b""
    assert view.feed(b"1") == b"^[[" + b"1" * 65
    text = TextView()
    assert text.feed(b"prompt> \r") == b"prompt> "
    assert text.feed(b"\r") == b"\r"
    assert text.end() == b"\r"


def test_a_mark_waits_only_until_it_is_none() -> None:
    view = MarkView()
    assert view.feed(b"$ \x1b]69") == b"$ "
    assert view.feed(b"73;") == b""
    assert view.feed(MARK[7:] + b"\x1b") == b""
    assert view.feed(b"[m") == b"\x1b[m"
    assert view.feed(MARK[:-1]) == b""
    assert view.feed(b"x" * 200) == MARK[:-1] + b"x" * 200
    assert view.feed(b"\x1b]6973;") == b""
    assert view.end() == b"\x1b]6973;"
    assert view.end() == b""


def test_a_mark_between_the_two_bytes_of_a_newline_leaves_the_newline() -> None:
    assert shown(TextView(), b"a\r" + MARK + b"\nb") == b"a\nb"


def test_the_newline_view_shows_the_bytes_after_a_bare_newline_as_they_are() -> None:
    view = NewlineView(mapped=True)
    told = [(view.feed(data), view.exact) for data in (b"a\r\nb\r", b"\nc\nd\r\ne\r", b"\r\n")]
    assert told == [(b"a\nb", True), (b"\nc\nd\r\ne\r", False), (b"\r\n", False)]
    assert view.end() == b""


def test_names_that_are_not_text_can_be_shown() -> None:
    assert visible(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\udce9"
    assert one_line("a\nb\tc\x1b[31md") == "a^Jb^Ic^[[31md"


def test_the_longest_mark_is_cut_wherever_it_is_divided() -> None:
    longest = MARK[: MARK.index(b"P;") + 2] + b"x" * 150 + b"\x07"
    for at in range(len(longest) + 1):
        view = MarkView()
        assert view.feed(b"a" + longest[:at]) + view.feed(longest[at:] + b"b") + view.end() == b"ab", at


@PROPERTY
@given(st.lists(tellings, max_size=12).map(b"".join))
def test_a_part_of_a_line_shows_only_printable_text_and_colour(data: bytes) -> None:
    text = within_line(data.replace(b"\n", b"").decode("utf-8", "backslashreplace"))
    assert ONLY_THIS.fullmatch(text)


def test_a_part_of_a_line_is_without_what_only_steers() -> None:
    part = "\x1b[?2004h\x1b]0;t\x07\x1b[32mgreen\x1b[0m\x1b[K\x1b(B\x07 \x1b]52;c;x\x07\x1b[12"
    assert within_line(part) == "\x1b[32mgreen\x1b[0m ^[]52;c;x^G^[[12"
    assert within_line("#    \x08\x08\x08abc ") == "# abc "
    assert within_line("old text\rprompt# \x1b[K\r\x1b[8C") == "prompt# "


COLOURED = [
    b"a", b"bc ", b"\x1b[31m", b"\x1b[0m", b"\x1b[1;4m", b"\n", b"\r\n", b"\x1b[38;5;9m", b"\t", b"\x1b[m", b"\xcc\x81",
    b"\x1b[39m", b"\r",
]  # fmt: skip


@PROPERTY
@given(st.lists(st.sampled_from(COLOURED), max_size=20).map(b"".join), cuts)
def test_coloured_lines_are_the_same_whole_and_byte_by_byte(data: bytes, places: list[int]) -> None:
    whole = shown(WHOLE_LINES(), data)
    assert shown(WHOLE_LINES(), data, places) == whole
    assert shown(WHOLE_LINES(), data, list(range(len(data)))) == whole
