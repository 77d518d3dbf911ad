"""Frames on the socket: a length, a kind byte, a payload. Sans-IO: bytes in, frames out.

u32 length of the payload | u8 kind | payload
kind 1  control: a JSON object, at most 1 MiB; at most 16 KiB until hello was said
kind 2  data: u32 stream | u32 zero | u64 offset | at most 64 KiB of raw bytes
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from orchctl.errors import Internal, PeerBroke
from orchctl.lazy_dataclass import dataclass
from orchctl.session.stream import Chunk

CONTROL = 1
DATA = 2
CONTROL_LIMIT_BYTES = 1 << 20
DATA_LIMIT_BYTES = 1 << 16
REQUEST_LIMIT_BYTES = CONTROL_LIMIT_BYTES - (1 << 16)  # an answer that repeats it, as a session its command, has room
HELLO_LIMIT_BYTES = 1 << 14  # nobody knows yet who speaks

_HEAD = struct.Struct(">IB")
_DATA_HEAD = struct.Struct(">IIQ")
_LIMITS = {CONTROL: CONTROL_LIMIT_BYTES, DATA: DATA_LIMIT_BYTES + _DATA_HEAD.size}


@dataclass(frozen=True, slots=True)
class Control:
    """A control frame's payload, not yet parsed."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Data:
    """Output bytes for one of the reader's streams."""

    stream: int
    chunk: Chunk
    channel: int = 0


Frame = Control | Data


def control_frame(payload: bytes) -> bytes:
    """The bytes of a control frame."""
    if len(payload) > CONTROL_LIMIT_BYTES:
        raise Internal(f"a message of {len(payload)} bytes; at most {CONTROL_LIMIT_BYTES}", code="too-large")
    return _HEAD.pack(len(payload), CONTROL) + payload


def data_head(stream: int, offset: int, length: int, channel: int = 0) -> bytes:
    """What goes in front of `length` raw bytes; the bytes themselves are never copied for it."""
    return _HEAD.pack(_DATA_HEAD.size + length, DATA) + _DATA_HEAD.pack(stream, channel, offset)


class Decoder:
    """Collects received bytes and gives whole frames back, however the bytes were cut."""

    def __init__(self, *, control_limit_bytes: int = CONTROL_LIMIT_BYTES) -> None:
        self._buffer = bytearray()
        self._limits = {**_LIMITS, CONTROL: control_limit_bytes}

    def trust(self) -> None:
        """Hello was said: from the next frame on the usual limit holds."""
        self._limits = _LIMITS

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes. A bad length or kind is refused before it is waited for."""
        self._buffer += data
        start = 0
        try:
            while len(self._buffer) - start >= _HEAD.size:
                length, kind = _HEAD.unpack_from(self._buffer, start)
                if kind not in self._limits:
                    raise PeerBroke(f"a frame of unknown kind {kind}", code="bad-frame")
                if length > self._limits[kind]:
                    raise PeerBroke(f"a frame of {length} bytes; at most {self._limits[kind]}", code="bad-frame")
                end = start + _HEAD.size + length
                if len(self._buffer) < end:
                    return
                payload = bytes(memoryview(self._buffer)[start + _HEAD.size : end])
                start = end
                yield _frame(kind, payload)
        finally:
            del self._buffer[:start]

    @property
    def pending_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return len(self._buffer)


def _frame(kind: int, payload: bytes) -> Frame:
    if kind == CONTROL:
        return Control(payload)
    if len(payload) < _DATA_HEAD.size:
        raise PeerBroke("a data frame without its header", code="bad-frame")
    stream, channel, offset = _DATA_HEAD.unpack_from(payload)
    return Data(stream, Chunk(offset, payload[_DATA_HEAD.size :]), channel)
