"""A proxy in front of a Unix socket that writes down every frame in both directions before it passes it on.

A recording is text, a line for each frame: the number of the connection, `>` towards the listener or `<` from it, and
the frame in a readable form that gives back its exact bytes; `x` where the connecting side hung up.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.golden import frames

Split = Callable[[bytearray], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a recording."""

    connection: int
    side: str  # > < x
    text: str = ""

    def line(self) -> str:
        """As it is written."""
        return f"{self.connection} {self.side} {self.text}".rstrip()


def client_lines(buffer: bytearray) -> Iterator[str]:
    """Frames between client and supervisor: control as its JSON, data as `= stream channel offset hex`."""
    for frame in frames.split(buffer):
        if isinstance(frame, frames.Control):
            yield frame.text
        else:
            yield f"= {frame.stream} {frame.channel} {frame.offset} {frame.raw.hex()}"


def client_frame(text: str) -> frames.Frame:
    """The frame in a line."""
    if text.startswith("= "):
        stream, channel, offset, *raw = text[2:].split(" ")
        return frames.Data(int(stream), int(channel), int(offset), bytes.fromhex("".join(raw)))
    return frames.Control(text)


def pair_lines(buffer: bytearray) -> Iterator[str]:
    """Frames between supervisor and pair: the letter of the kind, and the payload in hexadecimal."""
    for kind, payload in frames.split_pair(buffer):
        yield f"{kind} {payload.hex()}".rstrip()


def read(text: str) -> list[Entry]:
    """The entries of a recording."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            number, side, rest = [*line.split(" ", 2), ""][:3]
            found.append(Entry(int(number), side, rest))
    return found


class Recorder:
    """Takes a socket's place: what connects there is passed on to where it was."""

    def __init__(self, path: str, split: Split, change: Callable[[str, bytes], bytes] | None = None) -> None:
        self.entries: list[Entry] = []
        self._split = split
        self._change = change or (lambda _, data: data)
        self._lock = threading.Lock()
        self._count = 0
        self._real = f"{path}.real"
        os.rename(path, self._real)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(64)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def take(self) -> list[Entry]:
        """What was written down since this was asked last."""
        with self._lock:
            found, self.entries = self.entries, []
            self._count = 0
        return found

    def close(self) -> None:
        """Hang up on everybody, and leave nothing behind."""
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        while self._threads:
            self._threads.pop(0).join()
        for one in (self._listener, *self._open):
            one.close()

    def _begin(self, target: Callable[..., None], *given: object) -> None:
        self._threads.append(threading.Thread(target=target, args=given, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = frames.connected(self._real)
                except OSError:
                    near.close()
                    continue
                far.settimeout(None)
                with self._lock:
                    self._count += 1
                    number = self._count
                self._open += [near, far]
                self._begin(self._pass_on, number, ">", near, far)
                self._begin(self._pass_on, number, "<", far, near)

    def _pass_on(self, number: int, side: str, source: socket.socket, target: socket.socket) -> None:
        buffer = bytearray()
        while data := _received(source):
            data = self._change(side, data)
            buffer += data
            with self._lock:
                self.entries += [Entry(number, side, text) for text in self._split(buffer)]
            with contextlib.suppress(OSError):
                target.sendall(data)
        if side == ">":
            with self._lock:
                self.entries.append(Entry(number, "x"))
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _received(source: socket.socket) -> bytes:
    try:
        return source.recv(1 << 16)
    except OSError:
        return b""
