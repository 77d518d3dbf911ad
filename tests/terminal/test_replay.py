from __future__ import annotations

import pyghostty as ghostty
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.terminal.replay import Replay

QUESTIONS = [
    b"\x1b[c",
    b"\x1b[0c",
    b"\x1b[>c",
    b"\x1b[=c",
    b"\x1bZ",
    b"\x05",
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[?996n",
    b"\x1bP$qm\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\x1b[>q",
    b"\x1b[>0q",
    b"\x1b[?2026$p",
    b"\x1b[4$p",
    b"\x1b]4;1;?\x07",
    b"\x1b]10;?\x1b\\",
    b"\x1b]11;?\x07",
    b"\x1b]52;c;?\x07",
    b"\x1b[14t",
    b"\x1b[18t",
    b"\x1b[21t",
    b"\x1b[?u",
    b"\x1b[?4m",
    b"\x1b[?1;1;0S",
    b"\x1b[x",
    b"\x1b_Gi=1,a=q;AAAA\x1b\\",
    b"\x1b[?2048h",
    b"\x1b[1;1;1;1;1;1*y",
    b"\x9bc",
    b"\xc2\x9b6n",
]
PARTS = st.sampled_from(
    [*QUESTIONS, b"\x1b", b"[", b"\x18", b"text", b"\n", b"\r", b"\x1b[", b"6n", b"c", b"\x1b]52;c;"]
)
HOSTILE = st.lists(st.one_of(PARTS, st.binary(max_size=3)), max_size=40).map(b"".join)


def replayed(*parts: bytes) -> bytes:
    replay = Replay()
    return b"".join(map(replay.feed, parts)) + replay.end()


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_question_is_shown_again(question: bytes) -> None:
    shown = replayed(b"before" + question + b"after")
    assert b"\x1b" not in shown
    assert b"\x9b" not in shown
    assert shown.startswith(b"before")
    assert shown.endswith(b"after")


@given(HOSTILE, st.integers(1, 7))
def test_how_output_is_cut_makes_no_difference(output: bytes, size: int) -> None:
    assert replayed(*(output[at : at + size] for at in range(0, len(output), size))) == replayed(output)


@given(HOSTILE)
def test_a_real_terminal_has_nothing_to_answer(output: bytes) -> None:
    said = list[bytes]()
    with ghostty.Terminal(80, 24) as terminal:
        terminal.on_reply(said.append)
        terminal.feed(replayed(output))
        assert said == []


@given(HOSTILE)
def test_what_was_replayed_may_be_replayed(output: bytes) -> None:
    once = replayed(output)
    assert replayed(once) == once


def test_a_clipboard_is_left_alone() -> None:
    assert replayed(b"a\x1b]52;c;aGVsbG8=\x07b") == b"ab"


def test_what_draws_is_shown() -> None:
    drawn = (
        "\x1b[2J\x1b[1;1H\x1b[1;38;5;2mcolour\x1b[0m\r\n\x1b[?1049h\x1b[3;10r\x1b(0lqk\x1b(B é 漢 🙂\x1b[?25l".encode()
    )
    assert replayed(drawn) == drawn


def test_how_keys_and_the_mouse_are_sent_is_shown_too() -> None:
    modes = b"\x1b[?1h\x1b=\x1b[?1000;1006h\x1b[?2004h\x1b[>1u\x1b[>4;2m"
    assert replayed(modes) == modes


def test_a_title_is_shown_with_an_end_of_our_own() -> None:
    assert replayed(b"\x1b]2;make\x07") == b"\x1b]2;make\x1b\\"


def test_a_whole_reset_only_empties_the_screen() -> None:
    assert replayed(b"\x1bc") == b"\x1b[!p\x1b[?1049l\x1b[H\x1b[2J"


def test_a_mode_that_makes_the_terminal_report_is_left_out_of_those_set_with_it() -> None:
    assert replayed(b"\x1b[?2004;1004;1h") == b"\x1b[?2004;1h"
    assert replayed(b"\x1b[4h") == b"\x1b[4h"
