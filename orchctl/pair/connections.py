"""The supervisors that are connected to a pair: as a rule one, for a moment perhaps two."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Protocol

from orchctl import procfs
from orchctl.pair import wire
from orchctl.pair.shared import Pair

HEAR_BYTES = 1 << 16


class Host(Protocol):
    """Whom they speak to."""

    def listen(self, fd: int, handler: Callable[[int], None]) -> None:
        """Have `handler` called when there is something on `fd`."""

    def forget(self, fd: int) -> None:
        """No more."""

    def hello(self) -> bytes:
        """What a supervisor hears first."""

    def obey(self, fd: int, kind: int, payload: bytes) -> None:
        """Do what a supervisor says."""

    def left(self, fd: int) -> None:
        """A supervisor is gone."""


class Audience:
    """Accepts, greets, hears and answers; one that does not read is dropped, and comes back to look at the disk."""

    def __init__(self, listener: socket.socket, host: Host) -> None:
        self.listener = listener
        self._host = host
        self._present: dict[int, tuple[socket.socket, wire.Decoder]] = {}

    def accept(self, _: int) -> None:
        """One that has come; a stranger is turned away."""
        try:
            connection, _address = self.listener.accept()
        except OSError:
            return
        if procfs.peer(connection)[1] != os.geteuid():
            connection.close()
            return
        self.greet(connection)

    def greet(self, connection: socket.socket) -> None:
        """Take a connection in."""
        connection.setblocking(False)
        fd = connection.fileno()
        self._present[fd] = (connection, wire.Decoder())
        self._host.listen(fd, lambda _: self._hear(fd))
        self.send(fd, self._host.hello())

    def tell_all(self, data: bytes) -> None:
        """The same to everybody."""
        for fd in list(self._present):
            self.send(fd, data)

    def send(self, fd: int, data: bytes) -> None:
        """To one, if it is still there."""
        if fd in self._present:
            try:
                self._present[fd][0].sendall(data)
            except OSError:
                self._drop(fd)

    def close(self) -> None:
        """Hang up on everybody."""
        for fd in list(self._present):
            self._drop(fd)

    def _hear(self, fd: int) -> None:
        connection, decoder = self._present[fd]
        data = received(connection)
        if data is None:
            return
        try:
            if not data:
                raise wire.Broken("closed")
            for kind, payload in decoder.feed(data):
                self._host.obey(fd, kind, payload)
        except (wire.Broken, struct.error):
            self._drop(fd)

    def _drop(self, fd: int) -> None:
        if fd in self._present:
            self._host.forget(fd)
            self._host.left(fd)
            self._present.pop(fd)[0].close()


def received(connection: socket.socket) -> bytes | None:
    """Bytes, b'' at the end, None when it was a false alarm."""
    try:
        return connection.recv(HEAR_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def hello(shared: Pair, mover: int, stalled: str = "") -> bytes:
    """What every connection hears first."""
    words = {"protocol": 1, "keeper": shared.keeper, "mover": mover, "child": shared.child, "stalled": stalled}
    features = [wire.FENCING, wire.PIPING, wire.ENDING, wire.TAKEN]
    return wire.frame(wire.HELLO, json.dumps(words | {"features": features}).encode("ascii"))
