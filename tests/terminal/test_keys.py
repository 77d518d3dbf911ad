from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.terminal.keys import FOLLOW_S, WHOLE_S, Keyboard, Kind, Meant, Typed

DETACH = (0x1C, 0x04)
REPORTS = [
    b"\x1b[?62;22c",
    b"\x1b[>1;10;0c",
    b"\x1b[24;80R",
    b"\x1b[?1;1R",
    b"\x1b[0n",
    b"\x1b[?997;1n",
    b"\x1b[?2026;2$y",
    b"\x1b[4;2$y",
    b"\x1b]11;rgb:0000/0000/0000\x1b\\",
    b"\x1b]52;c;aGk=\x07",
    b"\x1bP1$r0m\x1b\\",
    b"\x1bP1+r544e=78\x1b\\",
    b"\x1bP>|xterm(388)\x1b\\",
    b"\x1bP!|00000000\x1b\\",
    b"\x1b[8;24;80t",
    b"\x1b[?1u",
    b"\x1b[I",
    b"\x1b[O",
    b"\x1b[<35;10;10M",
    b"\x1b[MC!!",
    b"\x1b_Gi=1;OK\x1b\\",
]
KEYS = [b"a", b"\r", b"\x03", b"\x1b[A", b"\x1bOP", b"\x1b[1;5C", b"\x1b[3~", b"\x1bx", b"\x1b[97;5u", b"\x1b[<0;1;1M"]
PASTE = b"\x1b[200~" + b"\x1c\x04\x1b[0n" + b"\x1b[201~"
INPUT = st.lists(st.one_of(st.sampled_from([*REPORTS, *KEYS, PASTE]), st.binary(max_size=3)), max_size=20).map(b"".join)


def typed(*parts: bytes) -> list[Typed | Meant]:
    keyboard = Keyboard(DETACH)
    found = [one for part in parts for one in keyboard.feed(part)]
    while keyboard.patience_s is not None:
        found += keyboard.give_back()
    return found


def bytes_of(found: list[Typed | Meant]) -> bytes:
    return b"".join(one.data for one in found if isinstance(one, Typed))


@given(INPUT.filter(lambda data: b"\x1c" not in data), st.integers(1, 9))
def test_every_byte_comes_out_once_and_in_order(data: bytes, size: int) -> None:
    assert bytes_of(typed(*(data[at : at + size] for at in range(0, len(data), size)))) == data


@given(st.lists(st.sampled_from([*REPORTS, *KEYS, PASTE]), max_size=20).map(b"".join), st.integers(1, 9))
def test_how_it_is_cut_makes_no_difference(data: bytes, size: int) -> None:
    def each(found: list[Typed | Meant]) -> list[tuple[Kind, int]]:
        return [(one.kind, byte) for one in found if isinstance(one, Typed) for byte in one.data]

    assert each(typed(*(data[at : at + size] for at in range(0, len(data), size)))) == each(typed(data))


@pytest.mark.parametrize("report", REPORTS)
def test_what_a_terminal_reports_is_not_typed(report: bytes) -> None:
    assert typed(b"a" + report + b"b") == [Typed(Kind.KEYS, b"a"), Typed(Kind.REPORT, report), Typed(Kind.KEYS, b"b")]


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_typed(key: bytes) -> None:
    assert typed(key) == [Typed(Kind.KEYS, key)]


@pytest.mark.parametrize("key", [b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b[", b"\x1b", b"\x1bO"])
def test_a_key_that_looks_like_the_beginning_of_a_report_is_held_for_a_moment_only(key: bytes) -> None:
    keyboard = Keyboard(DETACH)
    assert keyboard.feed(key) == []
    assert keyboard.patience_s == WHOLE_S
    assert keyboard.give_back() == [Typed(Kind.KEYS, key)]
    assert keyboard.feed(b"x") == [Typed(Kind.KEYS, b"x")]


def test_the_detach_keys_are_found_however_they_come() -> None:
    assert typed(b"ls\r\x1c\x04") == [Typed(Kind.KEYS, b"ls\r"), Meant.DETACH]
    assert typed(b"\x1c", b"\x04") == [Meant.DETACH]
    assert typed(b"\x1b[9", b"2;5u\x1b[100", b";5u") == [Meant.DETACH]
    assert typed(b"\x1c\x1b[0n\x04") == [Typed(Kind.REPORT, b"\x1b[0n"), Meant.DETACH]


def test_a_first_detach_key_waits_for_the_next() -> None:
    keyboard = Keyboard(DETACH)
    assert keyboard.feed(b"a\x1c") == [Typed(Kind.KEYS, b"a")]
    assert keyboard.patience_s == FOLLOW_S
    assert keyboard.give_back() == [Typed(Kind.KEYS, b"\x1c")]


def test_nothing_in_a_paste_is_meant_for_us() -> None:
    assert typed(PASTE) == [Typed(Kind.KEYS, PASTE)]


def test_a_paste_that_never_ends_does_not_keep_anybody_from_leaving() -> None:
    keyboard = Keyboard(DETACH)
    keyboard.feed(b"\x1b[200~half")
    assert keyboard.patience_s == FOLLOW_S
    keyboard.give_back()
    assert keyboard.feed(b"\x1c\x04") == [Meant.DETACH]
