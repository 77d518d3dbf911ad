"""The mover: bytes from the terminal into the log, and input the other way. Nothing else.

A byte is in the segment before anybody is told. Supervisors come and go; the mover does not need
one. When its keeper dies it goes on moving bytes, and at the end of output says that the exit is lost.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable

from orchctl.core import layout
from orchctl.disk import REAL
from orchctl.keeper import child, look, pair, tree, wire
from orchctl.keeper.clockwork import Clockwork
from orchctl.keeper.conduit import Closed, Conduit
from orchctl.keeper.holds import Holds
from orchctl.keeper.pair import Pair
from orchctl.keeper.segments import SegmentWriter
from orchctl.keeper.typist import Typist

HEAR_BYTES = 1 << 16
QUIET_S = 0.2  # no byte for so long after the program's end: what still holds the terminal is silent
QUIET_LIMIT_S = 2.0  # a grandchild that pours for ever must not hold the exit back
RETRY_S = 0.25  # a disk that takes no more is asked again this often
_TIOCSIG = 0x40045436
_PEER = struct.Struct("3i")


class Mover:
    """Runs in its own process; `run` never returns."""

    def __init__(self, shared: Pair, link: socket.socket, first: socket.socket | None) -> None:
        self._pair = shared
        self._link: socket.socket | None = link
        self._link_words = wire.Decoder()
        folder = f"{shared.folder}/{layout.OUTPUT}"
        self._log = SegmentWriter(REAL, folder, shared.ring_bytes, self._drop_output)
        self._clockwork = Clockwork(folder)
        self._conduit = Conduit(shared.master, shared.pipe, self._log, self._note)
        self._stalled = ""
        self._holds = Holds()
        self._finish_asked = False
        self._open = True
        self._ended_at: float | None = None
        self._last_byte_at = 0.0
        self._said_quiet = False
        self._typed_at = 0
        self._supervisors: dict[int, tuple[socket.socket, wire.Decoder]] = {}
        self._watching: dict[int, int] = {}
        self._typist = Typist(shared.master, self._receipt)
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._listen(shared.listener.fileno(), self._accept)
        self._listen(link.fileno(), self._hear_keeper)
        self._listen(shared.master, self._terminal)
        if first is not None:
            self._greet(first)

    def run(self) -> None:
        """Until the keeper says that nothing is left."""
        while True:
            self._poll_master()
            for fd, event in self._poll.poll(self._timeout_ms()):
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler(event)
            now = time.monotonic()
            self._typist.check(now)
            self._write_on()
            self._check_quiet(now)
            if self._holds.expire(now):
                self._trim()
            if self._finish_asked:
                self._finish()
            if self._pair.unrecorded and self._pair.record_rest():
                self._tell_all(wire.frame(wire.JOURNAL))

    def _listen(self, fd: int, handler: Callable[[int], None]) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def _forget(self, fd: int) -> None:
        self._handlers.pop(fd)
        self._poll.unregister(fd)

    def _poll_master(self) -> None:
        if self._open:
            wanted = select.POLLOUT if self._typist.busy else 0
            self._poll.modify(self._pair.master, wanted if self._conduit.pending else wanted | select.POLLIN)

    def _timeout_ms(self) -> float | None:
        now = time.monotonic()
        until = [self._typist.deadline] if self._typist.deadline is not None else []
        if self._conduit.pending or self._pair.unrecorded:
            until.append(now + RETRY_S)
        if self._holds.expires_at is not None:
            until.append(self._holds.expires_at)
        if self._ended_at is not None and self._open and not self._said_quiet:
            silent_at = self._last_byte_at + QUIET_S if not self._conduit.pending else now + RETRY_S
            until.append(min(silent_at, self._ended_at + QUIET_LIMIT_S))
        return max(0.0, min(until) - now) * 1000 + 1 if until else None

    # terminal → log

    def _terminal(self, event: int) -> None:
        if event & select.POLLOUT:
            self._typist.go_on(time.monotonic())
        if event & (select.POLLIN | select.POLLHUP) and not self._conduit.pending:
            self._read()

    def _read(self) -> None:
        try:
            count = self._conduit.pull()
        except Closed:
            self._close_terminal()
            return
        if count:
            self._last_byte_at = time.monotonic()
            self._write_on()

    def _write_on(self) -> None:
        """Put what was read into the log; a full disk makes the program wait, and nothing is lost."""
        before, trouble = self._log.end, ""
        try:
            self._conduit.push()
        except OSError as error:
            trouble = error.strerror or "it cannot be written"
        if self._log.end > before:
            self._tell_watchers()
        if trouble != self._stalled:
            self._stalled = trouble
            self._tell_all(wire.frame(wire.STALLED, trouble.encode()))

    def _note(self, offset: int) -> None:
        self._clockwork.note(offset, self._log.start)

    def _drop_output(self, first: int, end: int) -> None:
        """Output that is about to go; nothing goes unrecorded."""
        if not self._pair.record("dropped", first=first, end=end):
            raise OSError(errno.ENOSPC, "what is dropped cannot be written down")
        self._tell_all(wire.frame(wire.JOURNAL))

    def _trim(self) -> None:
        """Keep what somebody still reads; what nobody does may go."""
        self._log.needed = self._holds.needed
        with contextlib.suppress(OSError):
            self._log.trim()

    def _close_terminal(self) -> None:
        self._open = False
        self._forget(self._pair.master)
        if self._link is None:
            self._pair.record("lost", offset=self._log.end)
            self._finish()
        elif self._ended_at is not None:
            self._tell_keeper(pair.DRAINED, wire.OFFSET.pack(self._log.end))

    def _check_quiet(self, now: float) -> None:
        if self._ended_at is None or not self._open or self._said_quiet:
            return
        silent = not self._conduit.pending and now >= self._last_byte_at + QUIET_S
        if silent or now >= self._ended_at + QUIET_LIMIT_S:
            self._said_quiet = True
            self._tell_keeper(pair.QUIET, wire.OFFSET.pack(self._log.end))

    # keeper

    def _tell_keeper(self, kind: int, payload: bytes) -> None:
        if self._link is not None:
            self._link.sendall(wire.frame(kind, payload))

    def _hear_keeper(self, _: int) -> None:
        assert self._link is not None
        data = _received(self._link)
        if not data:
            self._forget(self._link.fileno())
            self._link = None
            if not self._open:
                self._finish()
            return
        for kind, _payload in self._link_words.feed(data):
            if kind == pair.ENDED:
                self._ended_at = self._last_byte_at = time.monotonic()
                if not self._open:
                    self._tell_keeper(pair.DRAINED, wire.OFFSET.pack(self._log.end))
            elif kind == pair.RECORDED:
                self._tell_all(wire.frame(wire.JOURNAL))
            elif kind == pair.FINISH:
                self._finish()

    def _finish(self) -> None:
        """Go, once everything has arrived in the log."""
        self._finish_asked = True
        while self._open and not self._conduit.pending:
            before = self._log.end
            self._read()
            if self._log.end == before:
                break
        if self._conduit.pending or self._pair.unrecorded:
            return
        self._tell_all(wire.frame(wire.JOURNAL))
        os._exit(0)

    # supervisors

    def _accept(self, _: int) -> None:
        try:
            connection, _address = self._pair.listener.accept()
        except OSError:
            return
        if _peer_uid(connection) != os.geteuid():
            connection.close()
            return
        self._greet(connection)

    def _greet(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        fd = connection.fileno()
        self._supervisors[fd] = (connection, wire.Decoder())
        self._listen(fd, lambda _: self._hear(fd))
        self._send(fd, hello(self._pair, os.getpid(), self._stalled))

    def _hear(self, fd: int) -> None:
        connection, decoder = self._supervisors[fd]
        data = _received(connection)
        if data is None:
            return
        try:
            if not data:
                raise wire.Broken("closed")
            for kind, payload in decoder.feed(data):
                self._obey(fd, kind, payload)
        except (wire.Broken, struct.error):
            self._drop(fd)

    def _obey(self, fd: int, kind: int, payload: bytes) -> None:
        obey = _ORDERS.get(kind)
        if obey is not None:
            obey(self, fd, payload)

    def _watch(self, fd: int, payload: bytes) -> None:
        (self._watching[fd],) = wire.OFFSET.unpack(payload)
        self._tell_watchers()

    def _type(self, fd: int, payload: bytes) -> None:
        before = self._log.end + self._conduit.pending
        if self._typist.add(fd, payload[: wire.ONCE_BYTES], payload[wire.ONCE_BYTES :], time.monotonic()):
            self._typed_at = before

    def _resize(self, _: int, payload: bytes) -> None:
        cols, rows = wire.SIZE.unpack(payload)
        child.resize(self._pair.master, cols, rows)
        if self._pair.record("resized", cols=cols, rows=rows):
            self._tell_all(wire.frame(wire.JOURNAL))

    def _kill(self, _: int, payload: bytes) -> None:
        self._tell_keeper(pair.ASKED_TO_KILL, payload)

    def _hold(self, fd: int, payload: bytes) -> None:
        (offset,) = wire.OFFSET.unpack(payload)
        self._holds.take(fd, None if offset == wire.NOBODY else offset)
        self._trim()

    def _keep_no_more(self, _: int, payload: bytes) -> None:
        with contextlib.suppress(OSError):
            self._log.roll()
            self._log.trim(*wire.OFFSET.unpack(payload))

    def _roll(self, _: int, __: bytes) -> None:
        with contextlib.suppress(OSError):
            self._log.roll()

    def _look(self, fd: int, _: bytes) -> None:
        seen = look.seen(self._pair.master, self._pair.child) | {"typed_at": self._typed_at}
        self._send(fd, wire.frame(wire.SEEN, json.dumps(seen).encode("ascii")))

    def _sweep(self, fd: int, payload: bytes) -> None:
        since, number = wire.SWEEPING.unpack(payload)
        young = look.younger(self._pair.keeper, since, leave_out=(os.getpid(), self._pair.child))
        tree.send(young, *([signal.Signals(number)] if number else []))
        self._send(fd, wire.frame(wire.SWEPT, wire.NUMBER.pack(len(young))))

    def _signal(self, _: int, payload: bytes) -> None:
        """To the terminal's foreground group, by the kernel: works in raw mode and flushes nothing."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._pair.master, _TIOCSIG, *wire.NUMBER.unpack(payload))

    def _receipt(self, fd: int, receipt: bytes) -> None:
        self._send(fd, wire.frame(wire.TYPED, receipt))

    def _tell_watchers(self) -> None:
        for fd in [fd for fd, seen in self._watching.items() if self._log.end > seen]:
            del self._watching[fd]
            self._send(fd, wire.frame(wire.GREW))

    def _tell_all(self, data: bytes) -> None:
        for fd in list(self._supervisors):
            self._send(fd, data)

    def _send(self, fd: int, data: bytes) -> None:
        """A supervisor that does not read is dropped: it comes back and looks at the disk."""
        if fd in self._supervisors:
            try:
                self._supervisors[fd][0].sendall(data)
            except OSError:
                self._drop(fd)

    def _drop(self, fd: int) -> None:
        if fd in self._supervisors:
            self._forget(fd)
            self._watching.pop(fd, None)
            self._holds.leave(fd, time.monotonic())
            self._supervisors.pop(fd)[0].close()


_ORDERS: dict[int, Callable[[Mover, int, bytes], None]] = {
    wire.INPUT: Mover._type,
    wire.WATCH: Mover._watch,
    wire.RESIZE: Mover._resize,
    wire.SIGNAL: Mover._signal,
    wire.KILL: Mover._kill,
    wire.LOOK: Mover._look,
    wire.SWEEP: Mover._sweep,
    wire.HOLD: Mover._hold,
    wire.TRIM: Mover._keep_no_more,
    wire.ROLL: Mover._roll,
}


def hello(shared: Pair, mover: int, stalled: str = "") -> bytes:
    """What every connection hears first."""
    words = {"protocol": 1, "keeper": shared.keeper, "mover": mover, "child": shared.child, "stalled": stalled}
    return wire.frame(wire.HELLO, json.dumps(words).encode("ascii"))


def _received(connection: socket.socket) -> bytes | None:
    """Bytes, b'' at the end, None when it was a false alarm."""
    try:
        return connection.recv(HEAR_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _peer_uid(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    uid: int = _PEER.unpack(credentials)[1]
    return uid
