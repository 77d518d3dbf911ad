from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.terminal.escapes import STRING_BYTES, Escapes, Kind, Piece

FRAGMENTS = st.sampled_from(
    [
        b"\x1b",
        b"[",
        b"]",
        b"P",
        b"\\",
        b"\x07",
        b"\x18",
        b"6n",
        b"?1049h",
        b"52;c;",
        b"m",
        b"\n",
        b"a",
        b"\xc3\xa9",
        b"\x9b",
    ]
)
OUTPUT = st.lists(st.one_of(FRAGMENTS, st.binary(max_size=4)), max_size=40).map(b"".join)


def joined(pieces: list[Piece]) -> list[Piece]:
    """Text and strings that came in parts as one."""
    found = list[Piece]()
    for piece in pieces:
        kind = Kind.STRING if piece.kind is Kind.STRING_REST else piece.kind
        parts = piece.kind is Kind.STRING_REST or (piece.kind is Kind.TEXT and found and found[-1].kind is Kind.TEXT)
        if parts:
            found[-1] = Piece(kind, found[-1].data + piece.data)
        else:
            found.append(Piece(kind, piece.data))
    return found


def read(*parts: bytes) -> list[Piece]:
    escapes = Escapes()
    pieces = [piece for part in parts for piece in escapes.feed(part)]
    return joined(pieces + escapes.end())


def kinds(data: bytes) -> list[tuple[str, bytes]]:
    return [(piece.kind.value, piece.data) for piece in read(data)]


@given(OUTPUT, st.data())
def test_how_output_is_cut_makes_no_difference(output: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(output)))
    assert read(output[:at], output[at:]) == read(*(output[i : i + 1] for i in range(len(output)))) == read(output)


@given(OUTPUT)
def test_no_byte_is_lost_or_added(output: bytes) -> None:
    assert sorted(b"".join(piece.data for piece in read(output))) == sorted(output)


def test_text_controls_sequences_and_strings_are_told_apart() -> None:
    assert kinds(b"a\n\x1b[31mb\x0e\x1b[?25hb\x1b7\x1b(0\x1b]2;t\x07\x1bPq\x1b\\c") == [
        ("text", b"a\n\x1b[31mb"),
        ("control", b"\x0e"),
        ("sequence", b"\x1b[?25h"),
        ("text", b"b"),
        ("escape", b"\x1b7"),
        ("escape", b"\x1b(0"),
        ("string", b"\x1b]2;t\x07"),
        ("string", b"\x1bPq\x1b\\"),
        ("text", b"c"),
    ]


def test_a_control_inside_a_sequence_does_not_hide_it() -> None:
    assert kinds(b"\x1b[6\r\x05n") == [("control", b"\r"), ("control", b"\x05"), ("sequence", b"\x1b[6n")]


def test_an_escape_begins_another_sequence_wherever_it_stands() -> None:
    assert kinds(b"\x1b[6\x1b[5n") == [("broken", b"\x1b[6"), ("sequence", b"\x1b[5n")]
    assert kinds(b"\x1b]52;c\x1b[5n") == [("string", b"\x1b]52;c"), ("sequence", b"\x1b[5n")]


def test_a_sequence_that_is_cancelled_ends_there() -> None:
    assert kinds(b"\x1b[6\x18n") == [("broken", b"\x1b[6"), ("control", b"\x18"), ("text", b"n")]


def test_a_string_of_any_length_is_not_kept_in_memory() -> None:
    escapes = Escapes()
    escapes.feed(b"\x1bPq")
    for _ in range(100):
        escapes.feed(b"x" * STRING_BYTES)
        assert not escapes.at_rest
    escapes.feed(b"\x1b")
    assert escapes.feed(b"\\") == [Piece(Kind.STRING_REST, b"\x1b\\")]
    assert escapes.at_rest


def test_half_a_character_is_something_under_way() -> None:
    escapes = Escapes()
    assert escapes.feed("é".encode()[:1]) == []
    assert not escapes.at_rest
    assert escapes.feed("é".encode()[1:]) == [Piece(Kind.TEXT, "é".encode())]
    assert escapes.at_rest
