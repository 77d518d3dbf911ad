"""The mover: bytes from the terminal into the log, and input the other way. Nothing else.

A byte is in the segment before anybody is told. Supervisors come and go; the mover does not need
one. When its keeper dies it goes on moving bytes, and at the end of output says that the exit is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable

from orchctl.keeper import child, look, pair, tree, wire
from orchctl.keeper.pair import Pair
from orchctl.keeper.typist import Typist

READ_BYTES = 1 << 16
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
        self._offset = os.fstat(shared.segment).st_size
        self._unwritten = b""
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

    def _listen(self, fd: int, handler: Callable[[int], None]) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def _forget(self, fd: int) -> None:
        self._handlers.pop(fd)
        self._poll.unregister(fd)

    def _poll_master(self) -> None:
        if self._open:
            wanted = select.POLLOUT if self._typist.busy else 0
            self._poll.modify(self._pair.master, wanted if self._unwritten else wanted | select.POLLIN)

    def _timeout_ms(self) -> float | None:
        now = time.monotonic()
        until = [self._typist.deadline] if self._typist.deadline is not None else []
        if self._unwritten:
            until.append(now + RETRY_S)
        if self._ended_at is not None and self._open and not self._said_quiet:
            until.append(min(self._last_byte_at + QUIET_S, self._ended_at + QUIET_LIMIT_S))
        return max(0.0, min(until) - now) * 1000 + 1 if until else None

    # terminal → log

    def _terminal(self, event: int) -> None:
        if event & select.POLLOUT:
            self._typist.go_on(time.monotonic())
        if event & (select.POLLIN | select.POLLHUP) and not self._unwritten:
            self._read()

    def _read(self) -> None:
        try:
            self._unwritten = os.read(self._pair.master, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last holder of the terminal has closed it
            self._close_terminal()
            return
        if not self._unwritten:
            self._close_terminal()
            return
        self._last_byte_at = time.monotonic()
        self._write_on()

    def _write_on(self) -> None:
        """Put what was read into the log; a full disk makes the program wait, and nothing is lost."""
        before = self._offset
        while self._unwritten:
            try:
                written = os.pwrite(self._pair.segment, self._unwritten, self._offset)
            except OSError:
                break
            self._offset += written
            self._unwritten = self._unwritten[written:]
        if self._offset > before:
            self._tell_watchers()

    def _close_terminal(self) -> None:
        self._open = False
        self._forget(self._pair.master)
        if self._link is None:
            self._pair.record("lost", offset=self._offset)
            self._finish()
        elif self._ended_at is not None:
            self._tell_keeper(pair.DRAINED, wire.OFFSET.pack(self._offset))

    def _check_quiet(self, now: float) -> None:
        if self._ended_at is None or not self._open or self._said_quiet or self._unwritten:
            return
        if now >= self._last_byte_at + QUIET_S or now >= self._ended_at + QUIET_LIMIT_S:
            self._said_quiet = True
            self._tell_keeper(pair.QUIET, wire.OFFSET.pack(self._offset))

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
                    self._tell_keeper(pair.DRAINED, wire.OFFSET.pack(self._offset))
            elif kind == pair.RECORDED:
                self._tell_all(wire.frame(wire.JOURNAL))
            elif kind == pair.FINISH:
                self._finish()

    def _finish(self) -> None:
        while self._open and not self._unwritten:
            before = self._offset
            self._read()
            if self._offset == before:
                break
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
        self._send(fd, hello(self._pair, os.getpid()))

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
        if kind == wire.WATCH:
            (seen,) = wire.OFFSET.unpack(payload)
            self._watching[fd] = seen
            self._tell_watchers()
        elif kind == wire.INPUT:
            before = self._offset
            if self._typist.add(fd, payload[: wire.ONCE_BYTES], payload[wire.ONCE_BYTES :], time.monotonic()):
                self._typed_at = before
        elif kind == wire.RESIZE:
            cols, rows = wire.SIZE.unpack(payload)
            child.resize(self._pair.master, cols, rows)
            self._pair.record("resized", cols=cols, rows=rows)
            self._tell_all(wire.frame(wire.JOURNAL))
        elif kind == wire.SIGNAL:
            self._signal(*wire.NUMBER.unpack(payload))
        elif kind == wire.KILL:
            self._tell_keeper(pair.ASKED_TO_KILL, payload)
        elif kind == wire.LOOK:
            seen = look.seen(self._pair.master, self._pair.child) | {"typed_at": self._typed_at}
            self._send(fd, wire.frame(wire.SEEN, json.dumps(seen).encode("ascii")))
        elif kind == wire.SWEEP:
            since, number = wire.SWEEPING.unpack(payload)
            young = look.younger(self._pair.keeper, since, leave_out=(os.getpid(), self._pair.child))
            tree.send(young, *([signal.Signals(number)] if number else []))
            self._send(fd, wire.frame(wire.SWEPT, wire.NUMBER.pack(len(young))))

    def _signal(self, number: int) -> None:
        """To the terminal's foreground group, by the kernel: works in raw mode and flushes nothing."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._pair.master, _TIOCSIG, number)

    def _receipt(self, fd: int, receipt: bytes) -> None:
        self._send(fd, wire.frame(wire.TYPED, receipt))

    def _tell_watchers(self) -> None:
        for fd in [fd for fd, seen in self._watching.items() if self._offset > seen]:
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
            self._supervisors.pop(fd)[0].close()


def hello(shared: Pair, mover: int) -> bytes:
    """What every connection hears first."""
    words = {"protocol": 1, "keeper": shared.keeper, "mover": mover, "child": shared.child}
    return wire.frame(wire.HELLO, json.dumps(words).encode("ascii"))


def _received(connection: socket.socket) -> bytes | None:
    """Bytes, b'' at the end, None when it was a false alarm."""
    try:
        return connection.recv(READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _peer_uid(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    uid: int = _PEER.unpack(credentials)[1]
    return uid
