from __future__ import annotations

import pyghostty as ghostty
from hypothesis import given
from hypothesis import strategies as st

from orchctl.terminal.modes import TerminalModes

MODES = (1, 6, 7, 9, 25, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004, 2026)
CHANGES = st.one_of(
    st.tuples(st.sampled_from(MODES), st.sampled_from("hl")).map(lambda one: b"\x1b[?%d%c" % (one[0], one[1].encode())),
    st.sampled_from(
        [b"\x1b[2;9r", b"\x1b[>1u", b"\x1b[<u", b"\x1b[=5;1u", b"\x1b=", b"\x1b>", b"\x1b(0", b"\x0e", b"\x1b[4h"]
    ),
    st.sampled_from([b"\x1b[1;31m", b"\x1b[3 q", b"\x1b[>4;2m", b"text", b"\x1bc", b"\x1b[!p", b"\x1b[10;10H"]),
)


def undone(*written: bytes) -> bytes:
    modes = TerminalModes()
    for part in written:
        modes.feed(part)
    return modes.undo()


@given(st.lists(CHANGES, max_size=30).map(b"".join), st.integers(1, 9))
def test_a_real_terminal_is_as_it_was(written: bytes, size: int) -> None:
    undo = undone(*(written[at : at + size] for at in range(0, len(written), size)))
    with ghostty.Terminal(80, 24) as terminal, ghostty.Terminal(80, 24) as fresh:
        terminal.feed(written + undo)
        assert [mode for mode in MODES if terminal.mode(mode) != fresh.mode(mode)] == []
        assert not terminal.mode(4, ansi=True)
        assert terminal.get("active_screen", "int32_t") == 0
        assert terminal.get("kitty_keyboard_flags", "uint8_t") == 0
        terminal.feed(b"\x1b[H\x1b[2J" + b"q\r\n" * 30)  # in plain letters, over the whole screen
        fresh.feed(b"q\r\n" * 30)
        assert terminal.text() == fresh.text()
        assert terminal.style(0, 5) == fresh.style(0, 5)


def test_what_was_not_changed_is_not_touched() -> None:
    assert undone(b"text \x1b[31mred") == b"\x1b[0m\x1b[?25h"
    assert undone(b"\x1b[?1049h\x1b[?1049l\x1b[?1000h\x1b[?1000l") == b"\x1b[0m\x1b[?25h"


def test_the_alternate_screen_is_left() -> None:
    modes = TerminalModes()
    modes.feed(b"\x1b[?1049h")
    assert modes.alternate
    assert b"\x1b[?1049l" in modes.undo()
    assert not modes.alternate


def test_keys_are_sent_as_before_on_both_screens() -> None:
    assert undone(b"\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[>3u").startswith(b"\x1b[<2u\x1b[?1049l\x1b[<1u")


def test_a_sequence_that_was_begun_is_cancelled() -> None:
    assert undone(b"\x1b]2;half a title").startswith(b"\x18")


def test_colours_are_the_terminals_own_again() -> None:
    assert b"\x1b]111\x1b\\" in undone(b"\x1b]11;#000000\x07")
    assert b"\x1b]111" not in undone(b"\x1b]11;?\x07")


def test_undone_twice_is_undone_once() -> None:
    modes = TerminalModes()
    modes.feed(b"\x1b[?1049h\x1b[?2004h\x1b[2;9r")
    modes.undo()
    assert modes.undo() == b"\x1b[0m\x1b[?25h"
