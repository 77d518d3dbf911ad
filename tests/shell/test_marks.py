"""Marks in output: found however the bytes were cut, and nothing that only looks like one is taken for one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchctl.session.stream import Chunk
from orchctl.shell.marks import ANY_MARK, LIMIT_BYTES, Mark, MarkScanner, prefix, whole_marks

PROPERTY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
NONCE = "0123456789abcdef"
OTHER = "fedcba9876543210"
OPENING = prefix(NONCE)


def written(kind: str, *args: str, nonce: str = NONCE) -> bytes:
    """A mark as a shell writes it."""
    return f"\x1b]6973;{';'.join([nonce, kind, *args])}\x07".encode("latin-1")


TELLING = [
    OPENING, OPENING[:1], OPENING[:9], OPENING[:-1], OPENING[9:], prefix(OTHER), b"P;1;0", b"\x07", b"\x1b", b";",
    b"\r\n", written("P", "1", "0"), written("D", "id", "7"), written("P", "1", "0", nonce=OTHER),
    b"x" * LIMIT_BYTES, b"x" * (LIMIT_BYTES - len(OPENING) - 1), b"x" * (LIMIT_BYTES - len(OPENING)),
]  # fmt: skip
logs = st.lists(st.sampled_from(TELLING) | st.binary(min_size=1, max_size=3), max_size=12).map(b"".join)
cuts = st.lists(st.integers(0, 5000), max_size=8)
offsets = st.integers(0, 1 << 50)
kinds = st.sampled_from("PBCD")
words = st.text(st.characters(codec="ascii", exclude_characters=";", exclude_categories=["Cc"]), max_size=20)
marks = st.builds(lambda kind, args: written(kind, *args), kinds, st.lists(words, max_size=4))
calm = st.binary(max_size=30).map(lambda data: data.replace(b"\x1b", b"").replace(b"\x07", b""))


def pieces_of(data: bytes, places: list[int]) -> list[bytes]:
    """`data` cut at all these places."""
    edges = sorted([0, len(data), *(place % (len(data) + 1) for place in places)])
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def scanned(scanner: MarkScanner, feeds: list[bytes]) -> list[Chunk | Mark]:
    """What a scanner gives, with neighbouring bytes put together: where they were cut means nothing."""
    found = list[Chunk | Mark]()
    for piece in itertools.chain.from_iterable(map(scanner.feed, feeds)):
        if found and isinstance(found[-1], Chunk) and isinstance(piece, Chunk):
            assert piece.offset == found[-1].end
            found[-1] = Chunk(found[-1].offset, found[-1].data + piece.data)
        else:
            found.append(piece)
    return found


@PROPERTY
@given(logs, cuts, offsets)
def test_any_cutting_of_the_bytes_gives_the_same_pieces(data: bytes, places: list[int], offset: int) -> None:
    whole, cut = MarkScanner(NONCE, offset), MarkScanner(NONCE, offset)
    assert scanned(cut, pieces_of(data, places)) == scanned(whole, [data])
    assert cut.safe_offset == whole.safe_offset


@PROPERTY
@given(logs)
def test_one_byte_at_a_time_gives_the_same_pieces(data: bytes) -> None:
    each = pieces_of(data, list(range(len(data))))
    assert scanned(MarkScanner(NONCE, 0), each) == scanned(MarkScanner(NONCE, 0), [data])


@PROPERTY
@given(logs, cuts, offsets)
def test_every_byte_is_given_out_once_and_in_order(data: bytes, places: list[int], offset: int) -> None:
    scanner, at = MarkScanner(NONCE, offset), offset
    for part in pieces_of(data, places):
        for piece in scanner.feed(part):
            start = piece.start if isinstance(piece, Mark) else piece.offset
            assert start == at
            assert piece.end > start
            if isinstance(piece, Chunk):
                assert piece.data == data[start - offset : piece.end - offset]
            at = piece.end
        assert scanner.safe_offset == at
    assert offset + len(data) - LIMIT_BYTES < at <= offset + len(data)


@PROPERTY
@given(st.lists(marks | calm, max_size=8), cuts)
def test_marks_between_other_bytes_are_found_with_kind_arguments_and_place(log: list[bytes], places: list[int]) -> None:
    expected, at = list[Mark](), 0
    for part in log:
        if part.startswith(OPENING):
            kind, *args = part[len(OPENING) : -1].decode("latin-1").split(";")
            expected.append(Mark(kind, tuple(args), at, at + len(part)))
        at += len(part)
    found = scanned(MarkScanner(NONCE, 0), pieces_of(b"".join(log), places))
    assert [piece for piece in found if isinstance(piece, Mark)] == expected
    assert whole_marks(NONCE, b"".join(log), 0) == expected


@PROPERTY
@given(st.lists(calm | marks.map(lambda mark: mark.replace(NONCE.encode(), OTHER.encode())), max_size=6), cuts)
def test_a_mark_of_another_session_is_output(log: list[bytes], places: list[int]) -> None:
    data = b"".join(log)
    found = scanned(MarkScanner(NONCE, 0), pieces_of(data + b".", places))
    assert found == [Chunk(0, data + b".")]


@PROPERTY
@given(calm, marks, st.integers(0, 200), calm, cuts)
@example(b"", written("P", "1", "0"), len(OPENING), b"", [])
def test_a_mark_that_was_cut_off_hides_none_that_follows(
    before: bytes, torn: bytes, length: int, between: bytes, places: list[int]
) -> None:
    output = before + torn[: length % len(torn)] + between
    end = written("D", "id", "7")
    found = scanned(MarkScanner(NONCE, 0), pieces_of(output + end, places))
    assert found[-1] == Mark("D", ("id", "7"), len(output), len(output + end))
    assert b"".join(piece.data for piece in found if isinstance(piece, Chunk)) == output


@PROPERTY
@given(st.binary(min_size=LIMIT_BYTES).map(lambda data: data.replace(b"\x07", b"")), cuts)
def test_a_mark_that_never_ends_is_output(rest: bytes, places: list[int]) -> None:
    data = OPENING + rest.ljust(LIMIT_BYTES, b"x")
    found = scanned(MarkScanner(NONCE, 0), pieces_of(data, places))
    assert found == [Chunk(0, data[: found[-1].end])]
    assert found[-1].end > LIMIT_BYTES - len(OPENING)


@PROPERTY
@given(logs, offsets)
@example(OPENING + b"P;" + b"x" * (LIMIT_BYTES - len(OPENING) - 3) + b"\x07", 0)
@example(OPENING + b"P;1\x1b[m\x07", 0)
def test_marks_looked_for_in_a_whole_piece_are_those_that_a_scanner_finds(data: bytes, offset: int) -> None:
    found = [piece for piece in MarkScanner(NONCE, offset).feed(data) if isinstance(piece, Mark)]
    assert whole_marks(NONCE, data, offset) == found


@PROPERTY
@given(kinds, st.lists(words, max_size=4), st.lists(calm, min_size=2, max_size=2))
def test_what_views_cut_is_what_a_scanner_takes_for_a_mark(kind: str, args: list[str], around: list[bytes]) -> None:
    data = written(kind, *args).join(around)
    (found,) = whole_marks(NONCE, data, 0)
    assert [match.span() for match in ANY_MARK.finditer(data)] == [(found.start, found.end)]


@pytest.mark.parametrize(("length", "is_mark"), [(LIMIT_BYTES, True), (LIMIT_BYTES + 1, False)])
def test_the_longest_mark_has_200_bytes(length: int, is_mark: bool) -> None:
    data = OPENING + b"P;" + b"x" * (length - len(OPENING) - 3) + b"\x07"
    assert [isinstance(piece, Mark) for piece in scanned(MarkScanner(NONCE, 0), [data])] == [is_mark]


def test_only_what_may_become_a_mark_waits() -> None:
    scanner = MarkScanner(NONCE, 100)
    assert scanner.feed(b"out\x1b]69") == [Chunk(100, b"out")]
    assert scanner.safe_offset == 103
    assert scanner.feed(b"8") == [Chunk(103, b"\x1b]698")]
    assert scanner.feed(OPENING + b"P;3") == []
    assert scanner.feed(b"2;130\x07$ ") == [Mark("P", ("32", "130"), 108, 108 + len(OPENING) + 9), Chunk(141, b"$ ")]


def test_marks_look_as_they_have_always_looked() -> None:
    assert prefix(NONCE) == b"\x1b]6973;0123456789abcdef;"
    assert whole_marks(NONCE, b"\x1b]6973;0123456789abcdef;D;a1;0\x07", 5) == [Mark("D", ("a1", "0"), 5, 36)]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b]6973;0123456789ABCDEF;P;1;0\x07",
        b"\x1b]6973;0123;P;1;0\x07",
        b"\x1b]6973;0123456789abcdef;p;1;0\x07",
        b"\x1b]6973;0123456789abcdef;P;1;0\x1b\\",
        b"\x1b]6974;0123456789abcdef;P;1;0\x07",
        b"\x1b]0;title\x07",
    ],
)
def test_no_view_cuts_what_only_looks_like_a_mark(data: bytes) -> None:
    assert ANY_MARK.search(data) is None
