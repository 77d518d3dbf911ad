"""Bytes of any kind, and good frames gone bad: the decoders refuse them, and do nothing else."""

from __future__ import annotations

import contextlib
import typing
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchctl.errors import PeerBroke
from orchctl.protocol import codec, messages
from orchctl.protocol.frames import CONTROL_LIMIT_BYTES, Decoder
from tests.protocol.test_codec import values_of

REQUESTS: tuple[type[Any], ...] = typing.get_args(messages.Request)
good = st.sampled_from(REQUESTS).flatmap(values_of).map(lambda message: codec.encode(7, message))
edits = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 2), st.binary(min_size=1, max_size=4)), max_size=6)
tokens = st.sampled_from(
    [*"{}[]:,", '"id"', '"kind"', '"session.get"', "1", "-1", "1e999", "NaN", '"\\ud800"', "null", '"\\u0000"']
)


def mutated(frame: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """The frame with bytes replaced, put in or taken out."""
    for place, how, data in changes:
        at = place % (len(frame) + 1)
        frame = frame[:at] + (data if how < 2 else b"") + frame[at + (len(data) if how != 1 else 0) :]
    return frame


def survive(data: bytes) -> None:
    """Everything in it is a message, or refused with `PeerBroke`."""
    decoder = Decoder()
    with contextlib.suppress(PeerBroke):
        for frame in decoder.feed(data):
            for decode in (codec.decode, codec.decode_hello):
                with contextlib.suppress(PeerBroke):
                    decode(frame)
    assert decoder.pending_bytes <= min(len(data), CONTROL_LIMIT_BYTES + 5)


def test_good_frames_gone_bad_are_messages_or_refused(long_form: bool) -> None:
    @settings(max_examples=20_000 if long_form else 400, suppress_health_check=list(HealthCheck))
    @given(st.lists(good, min_size=1, max_size=2), edits)
    def check(frames: list[bytes], changes: list[tuple[int, int, bytes]]) -> None:
        survive(mutated(b"".join(frames), changes))

    check()


def test_json_of_any_kind_is_a_message_or_refused(long_form: bool) -> None:
    @settings(max_examples=20_000 if long_form else 400, suppress_health_check=list(HealthCheck))
    @given(st.lists(tokens, max_size=30).map("".join))
    @example('{"id":1,"kind":"session.get","session":"x"}')
    def check(text: str) -> None:
        payload = text.encode()
        survive(len(payload).to_bytes(4, "big") + b"\x01" + payload)

    check()


def test_bytes_of_any_kind_are_messages_or_refused(long_form: bool) -> None:
    @settings(max_examples=20_000 if long_form else 400)
    @given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 3))
    def check(data: bytes, length: int, kind: int) -> None:
        survive(data)
        survive(length.to_bytes(4, "big") + bytes([kind]) + data)

    check()
