"""A daemon whose supervisor does not start: what is to be said of it, and its end.

The zygote answers at the door in the supervisor's place. All it can do is to stop; it knows nothing of sessions.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket

from orchctl.client import start
from orchctl.client.connection import HELLO_S
from orchctl.errors import Conflict, PeerBroke, SupervisorUnreachable
from orchctl.paths import Root, socket_address
from orchctl.protocol import codec, frames
from orchctl.protocol.messages import Failed, StopSupervisor
from orchctl.session import layout
from orchctl.session.model import SupervisorStatus
from orchctl.units import count
from orchctl.version import VERSION

_LOG_BYTES = 1 << 14
_ZYGOTES_LINE = re.compile(r"\S+ zygote \d+: ")


def status(root: Root, error: SupervisorUnreachable) -> SupervisorStatus:
    """What the zygote said, and the last words of the supervisor that ended last."""
    words = _last_words(root.log)
    reason = f"{error.message}. Its last words: {words}" if words else error.message
    return start.not_running(root, degraded=reason)


def stop(root: Root, asked: StopSupervisor) -> bool:
    """End it. Sessions go on without it, so that is only done where it is asked for, or there are none."""
    live = _live(root)
    if asked.kill and live:
        raise SupervisorUnreachable(
            f"the supervisor does not start, and without it {count(len(live), 'session')} cannot be ended; "
            "'orchctl supervisor stop --leave' ends the attempts and lets them go on",
            code="degraded",
        )
    if live and not asked.leave:
        raise Conflict(
            f"{count(len(live), 'session')} still live, such as {live[0]}; "
            "'stop --leave' ends the attempts and lets them go on",
            code="sessions-live",
        )
    _say_stop(root, StopSupervisor(leave=asked.leave))
    start.wait_until_gone(root)
    return True


def _say_stop(root: Root, asked: StopSupervisor) -> None:
    """All in one, because the zygote listens once. A supervisor that has come meanwhile understands it as well."""
    ours = codec.encode_hello(codec.Hello(protocol=codec.PROTOCOL, version=VERSION, pid=os.getpid()))
    decoder = frames.Decoder()
    with start.connect(root) as connection, contextlib.suppress(ConnectionError):
        connection.settimeout(HELLO_S)
        connection.sendall(ours + codec.encode(1, asked), socket.MSG_NOSIGNAL)
        for data in iter(lambda: _received(connection), b""):
            for frame in decoder.feed(data):
                _raise_refusal(frame)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except TimeoutError:
        raise SupervisorUnreachable(f"the supervisor said nothing for {HELLO_S:.0f} s") from None


def _raise_refusal(frame: frames.Frame) -> None:
    with contextlib.suppress(PeerBroke):  # a hello
        _, message = codec.decode(frame)
        if isinstance(message, Failed) and message.code != "supervisor-stopped":
            raise codec.error_of(message)


def _live(root: Root) -> list[str]:
    """The sessions that have processes: somebody listens at their socket."""
    found = []
    for session in sorted(os.listdir(root.sessions)):
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX) as connection,
            socket_address(f"{root.sessions}/{session}/{layout.SOCKET}") as address,
        ):
            connection.connect(address)
            found.append(session)
    return found


def _last_words(path: str) -> str:
    """The last line in the log before the zygote's word that it has ended; nothing where that is the zygote's too."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    if lines and _ZYGOTES_LINE.match(lines[-1]):  # that it has ended
        lines.pop()
    return lines[-1].strip() if lines and not _ZYGOTES_LINE.match(lines[-1]) else ""
