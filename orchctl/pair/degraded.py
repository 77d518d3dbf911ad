"""What a client hears when no supervisor can be started: the protocol's error, made by hand.

The zygote must not import the protocol; a test has the client read this. Of what clients say it understands one
word, `supervisor.stop`: in this state nobody else could obey it. It ends the daemon and leaves the sessions.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct

from orchctl import procfs

HEAR_S = 2.0  # a client speaks as soon as it is connected; on a busy machine that is not at once
_HEAR_BYTES = 1 << 16
_CONTROL = 1  # as in protocol/frames.py: u32 length | u8 kind | payload
_HEAD = struct.Struct(">IB")


def frame(how: str) -> bytes:
    """An error instead of a hello: with one before it, the client would ask first and meet a closed door."""
    failed = {
        "id": 0,
        "kind": "failed",
        "error": "SupervisorUnreachable",
        "code": "degraded",
        "message": f"the supervisor does not start: the last one ended {how}; see 'supervisor.log' in the state "
        "directory. Sessions go on, and 'orchctl supervisor stop --leave' ends the attempts",
    }
    text = json.dumps(failed, separators=(",", ":")).encode("ascii")
    return _HEAD.pack(len(text), _CONTROL) + text


def answer(listener: socket.socket, how: str) -> bool:
    """Everybody who waits at the door; whether one of them asked us to stop."""
    stop = False
    with contextlib.suppress(BlockingIOError):
        while not stop:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                stop = procfs.peer(connection)[1] == os.geteuid() and _asks_to_stop(_heard(connection))
                if not stop:
                    connection.send(frame(how), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    return stop


def _heard(connection: socket.socket) -> bytes:
    connection.setblocking(False)
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return connection.recv(_HEAR_BYTES) if poll.poll(HEAR_S * 1000) else b""


def _asks_to_stop(data: bytes) -> bool:
    """Whether one of these frames is the request. Sessions cannot be ended by us, so that is refused."""
    while len(data) >= _HEAD.size:
        length, _ = _HEAD.unpack_from(data)
        text, data = data[_HEAD.size : _HEAD.size + length], data[_HEAD.size + length :]
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(text)
            if isinstance(said, dict) and said.get("kind") == "supervisor.stop":
                return not said.get("kill")
    return False
