"""The frames of both sockets, written anew from the documents and not from the code under test.

Client and supervisor: u32 length of the payload | u8 kind | payload; kind 1 is one JSON object, kind 2 is
u32 stream | u32 channel | u64 offset | raw bytes. Supervisor and pair: u8 kind | u32 length | payload. All big-endian.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.world import DEADLINE_S

CONTROL, DATA = 1, 2
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Control:
    """A JSON object, as the text that was sent."""

    text: str

    def object(self) -> Object:
        """What it says."""
        found: Object = json.loads(self.text)
        return found


@dataclass(frozen=True, slots=True)
class Data:
    """Raw bytes of a stream."""

    stream: int
    channel: int
    offset: int
    raw: bytes


Frame = Control | Data


def encode(frame: Frame) -> bytes:
    """The bytes of a frame between client and supervisor."""
    if isinstance(frame, Control):
        payload = frame.text.encode()
        return struct.pack(">IB", len(payload), CONTROL) + payload
    payload = struct.pack(">IIQ", frame.stream, frame.channel, frame.offset) + frame.raw
    return struct.pack(">IB", len(payload), DATA) + payload


def control(**fields: Any) -> bytes:
    """A control frame with these fields."""
    return encode(Control(json.dumps(fields, separators=(",", ":"))))


def split(buffer: bytearray) -> Iterator[Frame]:
    """Take the whole frames between client and supervisor out of a buffer."""
    while len(buffer) >= 5:
        length, kind = struct.unpack_from(">IB", buffer)
        if len(buffer) < 5 + length:
            return
        payload = bytes(buffer[5 : 5 + length])
        del buffer[: 5 + length]
        if kind == CONTROL:
            yield Control(payload.decode())
        else:
            assert kind == DATA, kind
            stream, channel, offset = struct.unpack_from(">IIQ", payload)
            yield Data(stream, channel, offset, payload[16:])


def pair_frame(kind: str, payload: bytes) -> bytes:
    """The bytes of a frame between supervisor and pair."""
    return struct.pack(">BI", ord(kind), len(payload)) + payload


def split_pair(buffer: bytearray) -> Iterator[tuple[str, bytes]]:
    """Take the whole frames between supervisor and pair out of a buffer."""
    while len(buffer) >= 5:
        kind, length = struct.unpack_from(">BI", buffer)
        if len(buffer) < 5 + length:
            return
        payload = bytes(buffer[5 : 5 + length])
        del buffer[: 5 + length]
        yield chr(kind), payload


def connected(path: str) -> socket.socket:
    """A connection to a Unix socket, whose path may be longer than an address."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(DEADLINE_S)
    folder = os.open(os.path.dirname(path), os.O_PATH)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(folder)
    return connection


class Line:
    """A connection to a supervisor, made of a socket and this module; hello is said and heard first."""

    def __init__(self, path: str, hello: bytes = b'{"protocol":1}') -> None:
        self.socket = connected(path)
        self._buffer = bytearray()
        self._frames: list[Frame] = []
        self.ended = False
        self.socket.sendall(encode(Control(hello.decode())))
        self.hello = self.next()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, **fields: Any) -> None:
        """A request."""
        self.socket.sendall(control(**fields))

    def next(self) -> Frame | None:
        """The next frame; None when the supervisor has hung up."""
        while not self._frames:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                self.ended = True
                return None
            self._buffer += data
            self._frames += split(self._buffer)
        return self._frames.pop(0)

    def answer(self, **fields: Any) -> Object:
        """The first answer to a request."""
        self.say(**fields)
        while isinstance(frame := self.next(), Data):
            pass
        assert frame is not None, "the supervisor hung up"
        return frame.object()
