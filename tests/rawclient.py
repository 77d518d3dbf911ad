"""A client made of a socket and nothing else, for everything that the real one never does; and looks at processes."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time

from orchctl.client.start import connect
from orchctl.paths import Root
from orchctl.protocol import codec, frames
from orchctl.protocol.codec import Hello
from orchctl.protocol.messages import Failed, Message
from tests.world import DEADLINE_S, World

HELLO = codec.encode_hello(Hello(protocol=1))


def control(data: object) -> bytes:
    """A control frame that says `data`, whatever that is."""
    return frames.control_frame(json.dumps(data).encode())


class RawClient:
    """Says what it is told to, and collects frames."""

    def __init__(self, world: World) -> None:
        self.socket = connect(Root(world.state))
        self.socket.settimeout(DEADLINE_S)
        self._decoder = frames.Decoder()
        self.frames: list[frames.Frame] = []

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, data: bytes) -> None:
        """All of it; a supervisor that has hung up is no error here."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data, socket.MSG_NOSIGNAL)

    def hear(self, count: int) -> list[frames.Frame]:
        """As many frames from the beginning of the conversation, or fewer if it ends."""
        while len(self.frames) < count and self._more():
            pass
        return self.frames[:count]

    def hear_out(self) -> list[frames.Frame]:
        """Everything until the supervisor hangs up."""
        while self._more():
            pass
        return self.frames

    def _more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            return False
        self.frames += self._decoder.feed(data)
        return data != b""

    def hears(self, word: bytes) -> bool:
        """Whether this is in the first frame."""
        (frame,) = self.hear(1)
        return isinstance(frame, frames.Control) and word in frame.payload

    def last_words(self) -> Failed:
        """Why the supervisor hung up."""
        (_, said) = decoded(self.hear_out()[-1])
        assert isinstance(said, Failed), said
        return said


def decoded(frame: frames.Frame) -> tuple[int, Message]:
    """The message in a frame."""
    return codec.decode(frame)


def open_files(pid: int) -> int:
    """How many descriptors a process has."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def usual_files(pid: int) -> int:
    """The same, without those of clients on their way out."""
    found = open_files(pid)
    for _ in range(20):
        time.sleep(0.02)
        found = min(found, open_files(pid))
    return found


def memory_kib(pid: int) -> int:
    """What a process has in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def busy_share(pid: int, over_s: float = 1.0) -> float:
    """How much of a while a process spends working, of one processor."""

    def ticks() -> int:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(over_s)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / over_s


def parent_of(pid: int) -> int:
    """Whose child a process is."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    """A process's children."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
