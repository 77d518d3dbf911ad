"""What a client hears when no supervisor can be started: the protocol's error, made by hand.

The zygote must not import the protocol; a test has the client read this.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct

_CONTROL = 1  # as in protocol/framing.py: u32 length | u8 kind | payload
_FAILED = {
    "id": 0,
    "kind": "failed",
    "error": "SupervisorUnreachable",
    "code": "degraded",
    "message": "the supervisor does not start; see 'supervisor.log' in the state directory. Sessions go on",
}


def _frame() -> bytes:
    """An error instead of a hello: with one before it, the client would ask first and meet a closed door."""
    text = json.dumps(_FAILED, separators=(",", ":")).encode("ascii")
    return struct.pack(">IB", len(text), _CONTROL) + text


def answer(listener: socket.socket) -> None:
    """Everybody who waits at the door."""
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.send(FRAME, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


FRAME = _frame()
