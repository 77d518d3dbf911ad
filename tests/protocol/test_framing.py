"""Frames: however the bytes are cut, the same frames come out, and bad ones are refused at once."""

from __future__ import annotations

import contextlib
import itertools
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.errors import Internal, PeerBroke
from orchctl.protocol.frames import (
    CONTROL_LIMIT_BYTES,
    DATA_LIMIT_BYTES,
    Control,
    Data,
    Decoder,
    Frame,
    control_frame,
    data_head,
)
from orchctl.session.stream import Chunk

PROPERTY = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])

u32 = st.integers(0, (1 << 32) - 1)
u64 = st.integers(0, (1 << 64) - 1)
frames = st.builds(Control, st.binary(max_size=40)) | st.builds(
    Data, u32, st.builds(Chunk, u64, st.binary(max_size=40))
)


def _bytes_of(frame: Frame) -> bytes:
    if isinstance(frame, Control):
        return control_frame(frame.payload)
    return data_head(frame.stream, frame.chunk.offset, len(frame.chunk.data)) + frame.chunk.data


def _pieces(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted([0, len(data), *(place % (len(data) + 1) for place in places)])
    return [data[start:end] for start, end in itertools.pairwise(cuts)]


@PROPERTY
@given(st.lists(frames, max_size=5), st.lists(st.integers(0, 1000), max_size=10))
def test_any_cutting_of_the_bytes_gives_the_same_frames(sent: list[Frame], places: list[int]) -> None:
    decoder = Decoder()
    data = b"".join(map(_bytes_of, sent))
    assert [frame for piece in _pieces(data, places) for frame in decoder.feed(piece)] == sent
    assert decoder.pending_bytes == 0


@PROPERTY
@given(st.lists(frames, min_size=1, max_size=4))
def test_one_byte_at_a_time_gives_the_same_frames(sent: list[Frame]) -> None:
    decoder = Decoder()
    data = b"".join(map(_bytes_of, sent))
    assert [frame for byte in data for frame in decoder.feed(bytes([byte]))] == sent


@PROPERTY
@given(st.lists(frames, min_size=1, max_size=4), st.data())
def test_what_is_held_is_the_unfinished_frame_and_no_more(sent: list[Frame], data: st.DataObject) -> None:
    whole = b"".join(map(_bytes_of, sent))
    cut = data.draw(st.integers(0, len(whole)))
    decoder = Decoder()
    got = list(decoder.feed(whole[:cut]))
    assert got == sent[: len(got)]
    assert decoder.pending_bytes == cut - sum(len(_bytes_of(frame)) for frame in got)
    assert [*got, *decoder.feed(whole[cut:])] == sent


@PROPERTY
@given(st.lists(frames, min_size=2, max_size=4))
def test_a_reader_that_stops_halfway_loses_nothing(sent: list[Frame]) -> None:
    decoder = Decoder()
    feeding = decoder.feed(b"".join(map(_bytes_of, sent)))
    assert next(feeding) == sent[0]
    del feeding
    assert list(decoder.feed(b"")) == sent[1:]


@PROPERTY
@given(st.binary(max_size=60), st.lists(st.integers(0, 1000), max_size=4))
def test_bytes_of_any_kind_are_frames_or_refused(data: bytes, places: list[int]) -> None:
    decoder = Decoder()
    for piece in _pieces(data, places):
        with contextlib.suppress(PeerBroke):
            assert all(isinstance(frame, Control | Data) for frame in decoder.feed(piece))
    assert decoder.pending_bytes <= len(data)


@PROPERTY
@given(st.lists(frames, max_size=3), st.integers(0, 255).filter(lambda kind: kind not in {1, 2}), u32)
def test_frames_before_a_bad_one_are_still_given(sent: list[Frame], kind: int, length: int) -> None:
    feeding = Decoder().feed(b"".join(map(_bytes_of, sent)) + struct.pack(">IB", length, kind))
    assert [next(feeding) for _ in sent] == sent
    with pytest.raises(PeerBroke, match=f"unknown kind {kind}"):
        next(feeding)


@pytest.mark.parametrize(("kind", "limit"), [(1, CONTROL_LIMIT_BYTES), (2, DATA_LIMIT_BYTES + 16)])
def test_a_frame_that_is_too_long_is_refused_before_it_is_waited_for(kind: int, limit: int) -> None:
    assert list(Decoder().feed(struct.pack(">IB", limit, kind))) == []
    with pytest.raises(PeerBroke, match=f"{limit + 1} bytes; at most {limit}") as caught:
        list(Decoder().feed(struct.pack(">IB", limit + 1, kind)))
    assert caught.value.code == "bad-frame"


def test_the_largest_frames_pass() -> None:
    assert (CONTROL_LIMIT_BYTES, DATA_LIMIT_BYTES) == (1_048_576, 65_536)
    sent: list[Frame] = [Control(b"x" * CONTROL_LIMIT_BYTES), Data(1, Chunk(0, b"y" * DATA_LIMIT_BYTES))]
    assert list(Decoder().feed(b"".join(map(_bytes_of, sent)))) == sent


@pytest.mark.parametrize("length", range(16))
def test_a_data_frame_without_its_whole_header_is_refused(length: int) -> None:
    with pytest.raises(PeerBroke, match="without its header") as caught:
        list(Decoder().feed(struct.pack(">IB", length, 2) + bytes(length)))
    assert caught.value.code == "bad-frame"


def test_a_message_of_ours_that_is_too_long_is_our_mistake() -> None:
    with pytest.raises(Internal) as caught:
        control_frame(b"x" * (CONTROL_LIMIT_BYTES + 1))
    assert caught.value.code == "too-large"


def test_frames_look_as_they_have_always_looked() -> None:
    assert control_frame(b"{}") == b"\x00\x00\x00\x02\x01{}"
    assert data_head(3, 258, 2) == b"\x00\x00\x00\x12\x02\x00\x00\x00\x03\x00\x00\x00\x00" + bytes(6) + b"\x01\x02"
