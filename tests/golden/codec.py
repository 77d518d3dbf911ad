"""The only place here that imports what encodes and decodes in the code under test: moved modules are edited here."""

from __future__ import annotations

import typing
from typing import Any

from orchctl.pair import wire
from orchctl.plain import to_plain
from orchctl.protocol import codec, frames, messages

REQUESTS = frozenset(str(one.kind) for one in typing.get_args(messages.Request))
ANSWERS = frozenset(str(one.kind) for one in typing.get_args(messages.Answer))
# every kind of frame is a constant of one letter; capitals are the supervisor's
PAIR_KINDS = frozenset(
    chr(value)
    for name, value in vars(wire).items()
    if name.isupper() and type(value) is int and value < 128 and chr(value).isalpha()
)


def decode(frame: bytes) -> dict[str, Any]:
    """What a control frame says, as the code under test understands it, and as it would say it itself."""
    (found,) = frames.Decoder().feed(frame)
    number, message = codec.decode(found)
    again = codec.encode(number, message)
    assert list(frames.Decoder().feed(again)), "what we encode we decode"
    return {"id": number, "kind": message.kind, **typing.cast(dict[str, Any], to_plain(message))}


def decode_hello(frame: bytes) -> dict[str, Any]:
    """The same of the first frame of a connection."""
    (found,) = frames.Decoder().feed(frame)
    return typing.cast(dict[str, Any], to_plain(codec.decode_hello(found)))


def encode(frame: bytes) -> bytes:
    """A control frame decoded and encoded again."""
    (found,) = frames.Decoder().feed(frame)
    return codec.encode(*codec.decode(found))


def decode_data(frame: bytes) -> tuple[int, int, int, bytes]:
    """Stream, channel, offset and bytes of a data frame."""
    (found,) = frames.Decoder().feed(frame)
    assert isinstance(found, frames.Data)
    return found.stream, found.channel, found.chunk.offset, bytes(found.chunk.data)


def decode_pair(frame: bytes) -> tuple[str, bytes]:
    """Kind and payload of a frame between supervisor and pair."""
    ((kind, payload),) = wire.Decoder().feed(frame)
    return chr(kind), payload


def encode_pair(kind: str, payload: bytes) -> bytes:
    """The bytes of such a frame."""
    return wire.frame(ord(kind), payload)
