"""What pairs and supervisors say. Frozen: a test here may be added, never changed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.pair import wire

PROPERTY = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
ONCE = bytes(range(16))

frames = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=40)), max_size=5)


def _pieces(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted([0, len(data), *(place % (len(data) + 1) for place in places)])
    return [data[start:end] for start, end in itertools.pairwise(cuts)]


@PROPERTY
@given(frames, st.lists(st.integers(0, 1000), max_size=10))
def test_any_cutting_of_the_bytes_gives_the_same_frames(sent: list[tuple[int, bytes]], places: list[int]) -> None:
    decoder = wire.Decoder()
    data = b"".join(itertools.starmap(wire.frame, sent))
    assert [frame for piece in _pieces(data, places) for frame in decoder.feed(piece)] == sent


@PROPERTY
@given(frames)
def test_one_byte_at_a_time_gives_the_same_frames(sent: list[tuple[int, bytes]]) -> None:
    decoder = wire.Decoder()
    data = b"".join(itertools.starmap(wire.frame, sent))
    assert [frame for byte in data for frame in decoder.feed(bytes([byte]))] == sent


@PROPERTY
@given(frames.filter(lambda sent: len(sent) > 1))
def test_a_reader_that_stops_halfway_loses_nothing(sent: list[tuple[int, bytes]]) -> None:
    decoder = wire.Decoder()
    assert next(decoder.feed(b"".join(itertools.starmap(wire.frame, sent)))) == sent[0]
    assert list(decoder.feed(b"")) == sent[1:]


@PROPERTY
@given(frames, st.integers(0, 255), st.integers(wire.LIMIT_BYTES + 1, (1 << 32) - 1))
def test_a_frame_that_is_too_long_is_refused_before_it_is_waited_for(
    sent: list[tuple[int, bytes]], kind: int, length: int
) -> None:
    feeding = wire.Decoder().feed(b"".join(itertools.starmap(wire.frame, sent)) + wire.HEAD.pack(kind, length))
    assert [next(feeding) for _ in sent] == sent
    with pytest.raises(wire.Broken, match=str(length)):
        next(feeding)


def test_the_largest_frame_passes() -> None:
    payload = bytes(wire.LIMIT_BYTES)
    assert list(wire.Decoder().feed(wire.frame(wire.INPUT, payload))) == [(wire.INPUT, payload)]


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (wire.INPUT, ONCE + b"ls\r", b"I\x00\x00\x00\x13" + ONCE + b"ls\r"),
        (wire.WATCH, wire.OFFSET.pack(258), b"W\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x01\x02"),
        (wire.RESIZE, wire.SIZE.pack(132, 43), b"R\x00\x00\x00\x04\x00\x84\x00\x2b"),
        (wire.SIGNAL, wire.NUMBER.pack(2), b"S\x00\x00\x00\x04\x00\x00\x00\x02"),
        (wire.KILL, wire.SECONDS.pack(5.0), b"K\x00\x00\x00\x08\x40\x14\x00\x00\x00\x00\x00\x00"),
        (wire.HELLO, b"{}", b"h\x00\x00\x00\x02{}"),
        (wire.GREW, b"", b"g\x00\x00\x00\x00"),
        (wire.JOURNAL, b"", b"j\x00\x00\x00\x00"),
        (wire.TYPED, wire.RECEIPT.pack(ONCE, 3, 1), b"t\x00\x00\x00\x15" + ONCE + b"\x00\x00\x00\x03\x01"),
    ],
)
def test_frames_look_as_they_have_always_looked(kind: int, payload: bytes, expected: bytes) -> None:
    assert wire.frame(kind, payload) == expected
    assert list(wire.Decoder().feed(expected)) == [(kind, payload)]


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (wire.LOOK, b"", b"L\x00\x00\x00\x00"),
        (wire.SEEN, b"{}", b"s\x00\x00\x00\x02{}"),
        (wire.SWEEP, wire.SWEEPING.pack(258, 15), b"X\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x0f"),
        (wire.SWEPT, wire.NUMBER.pack(3), b"x\x00\x00\x00\x04\x00\x00\x00\x03"),
    ],
)
def test_frames_about_what_runs_look_as_they_have_always_looked(kind: int, payload: bytes, expected: bytes) -> None:
    assert wire.frame(kind, payload) == expected
    assert list(wire.Decoder().feed(expected)) == [(kind, payload)]


def test_numbers_with_a_meaning_never_change_it() -> None:
    assert (wire.TYPED_ALL, wire.TYPED_BLOCKED, wire.TYPED_TOO_LONG) == (0, 1, 2)
    assert (wire.LIMIT_BYTES, wire.ONCE_BYTES) == (1 << 20, 16)


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (wire.FENCE, wire.OFFSET.pack(258), b"F\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x01\x02"),
        (wire.INPUT_AT, wire.OFFSET.pack(3) + ONCE + b"x", b"U\x00\x00\x00\x19" + bytes(7) + b"\x03" + ONCE + b"x"),
    ],
)
def test_frames_about_epochs_look_as_they_have_always_looked(kind: int, payload: bytes, expected: bytes) -> None:
    assert wire.frame(kind, payload) == expected
    assert list(wire.Decoder().feed(expected)) == [(kind, payload)]


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (wire.PIPES, b"0badcafe\0", b"V\x00\x00\x00\x090badcafe\x00"),
        (wire.PIPED, b"0badcafe\0why", b"v\x00\x00\x00\x0c0badcafe\x00why"),
        (wire.DRAIN, wire.FLAG.pack(True) + b"0badcafe\0", b"D\x00\x00\x00\x0a\x010badcafe\x00"),
        (wire.DRAINED, wire.FLAG.pack(False) + b"0badcafe\0", b"d\x00\x00\x00\x0a\x000badcafe\x00"),
    ],
)
def test_frames_about_pipes_look_as_they_have_always_looked(kind: int, payload: bytes, expected: bytes) -> None:
    assert wire.frame(kind, payload) == expected
    assert list(wire.Decoder().feed(expected)) == [(kind, payload)]


def test_the_word_for_pipes_never_changes() -> None:
    assert wire.PIPING == "pipes"


def test_words_about_epochs_never_change_their_meaning() -> None:
    assert (wire.TYPED_STALE, wire.FENCING) == (3, "fence")


def test_the_end_of_input_is_a_word_that_a_pair_announces() -> None:
    assert wire.frame(wire.END_INPUT, wire.OFFSET.pack(3) + ONCE) == b"C\x00\x00\x00\x18" + bytes(7) + b"\x03" + ONCE
    assert wire.ENDING == "eof"
