"""One conversation with the supervisor: hello, requests, answers. Blocking, one request at a time."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from orchctl.errors import PeerBroke, SupervisorUnreachable, TimedOut
from orchctl.protocol import codec
from orchctl.protocol import frames as framing
from orchctl.protocol.messages import Failed
from orchctl.version import VERSION

if TYPE_CHECKING:
    from orchctl.protocol.messages import Answer, Request

HELLO_S = 30.0  # one that does not come up is taken back after ten, and its predecessor may start on a busy machine


class ConnectionLost(SupervisorUnreachable):
    """The supervisor is gone; a new one may go on where it stopped."""

    code = "connection-lost"


class Connection:
    """A connected socket that has said hello."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._decoder = framing.Decoder()
        self._frames: list[framing.Frame] = []
        self._number = 0
        self.expires_at: float | None = None
        self._greeted = False
        try:
            self.hello = self._greet()
            self._greeted = True
        except BaseException:
            connected.close()
            raise

    def close(self) -> None:
        """Hang up; the supervisor forgets what it was asked."""
        self._socket.close()

    def hang_up(self) -> None:
        """The same."""
        self._socket.close()

    @staticmethod
    def ready(links: Sequence[Connection], timeout_s: float | None) -> list[Connection]:
        """Those on which something has come; waits for that."""
        return select.select(links, [], [], timeout_s)[0]

    def wait_for_end(self) -> None:
        """Until the other end is gone."""
        with contextlib.suppress(SupervisorUnreachable):
            for _ in self._incoming():
                pass

    def ask(self, request: Request) -> Answer:
        """The one answer to `request`."""
        return self.answer_to(self.begin(request))

    def begin(self, request: Request, descriptor: int | None = None) -> int:
        """Send `request`, and a descriptor with it if it names one; its number."""
        self._number += 1
        self._send(codec.encode_request(self._number, request), descriptor)
        return self._number

    def answer_to(self, number: int) -> Answer:
        """The next message that answers request `number`."""
        item = self.next(number)
        if isinstance(item, framing.Data):
            raise PeerBroke("output came where an answer was due", code="bad-stream")
        return item

    def next(self, number: int) -> Answer | framing.Data:
        """The next message or output for request `number`; an error that came instead is raised."""
        for frame in self._incoming():
            item = answer_in(frame, number)
            if item is not None:
                return item
        raise ConnectionLost("the supervisor has closed the connection")

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> list[tuple[int, Answer | framing.Data]]:
        """What has come, with the numbers of the requests it belongs to; waits for something to come."""
        try:
            data = self._socket.recv(1 << 18)
        except OSError as error:
            raise ConnectionLost(f"the supervisor is gone: {error.strerror}") from None
        if not data:
            raise ConnectionLost("the supervisor has closed the connection")
        frames, self._frames = [*self._frames, *self._decoder.feed(data)], []
        return [numbered(frame) for frame in frames]

    def _greet(self) -> codec.Hello:
        self._socket.settimeout(HELLO_S)
        with contextlib.suppress(ConnectionLost):  # it may have said why before it hung up
            self._send(our_hello())
        for frame in self._incoming():
            self._socket.settimeout(None)
            found = hello_in(frame)
            if found is not None:
                return found
        raise ConnectionLost("the supervisor has closed the connection")

    def _send(self, data: bytes, descriptor: int | None = None) -> None:
        try:
            if descriptor is not None:  # with the first byte, wherever the kernel cuts the rest
                socket.send_fds(self._socket, [data[:1]], [descriptor], socket.MSG_NOSIGNAL)
                data = data[1:]
            self._socket.sendall(data, socket.MSG_NOSIGNAL)
        except OSError as error:
            raise ConnectionLost(f"the supervisor is gone: {error.strerror}") from None

    def _incoming(self) -> Iterator[framing.Frame]:
        while True:
            while self._frames:
                yield self._frames.pop(0)
            if self.expires_at is not None:
                self._socket.settimeout(max(0.001, self.expires_at - time.monotonic()))
            elif self._greeted:
                self._socket.settimeout(None)
            try:
                data = self._socket.recv(1 << 18)
            except TimeoutError:
                if self.expires_at is not None:
                    raise TimedOut("it did not happen in the time given") from None
                raise SupervisorUnreachable(f"the supervisor said nothing for {HELLO_S:.0f} s") from None
            except OSError as error:
                raise ConnectionLost(f"the supervisor is gone: {error.strerror}") from None
            if not data:
                return
            self._frames += self._decoder.feed(data)


def numbered(frame: framing.Frame) -> tuple[int, Answer | framing.Data]:
    """What a frame holds, with the number of the request it belongs to."""
    if isinstance(frame, framing.Data):
        return frame.stream, frame
    number, message = codec.decode(frame)
    return number, message  # type: ignore[return-value]


def our_hello() -> bytes:
    """The frame with which we open a connection."""
    return codec.encode_hello(codec.Hello(protocol=codec.PROTOCOL, version=VERSION, pid=os.getpid()))


def hello_in(frame: framing.Frame) -> codec.Hello | None:
    """Their hello; an error that came instead is raised."""
    with contextlib.suppress(PeerBroke):  # not a hello: perhaps the reason why we get none
        return codec.decode_hello(frame)
    _, message = codec.decode(frame)
    if isinstance(message, Failed):
        raise codec.error_of(message)
    return None


def answer_in(frame: framing.Frame, number: int) -> Answer | framing.Data | None:
    """What a frame holds for request `number`, if anything; an error that came instead is raised."""
    if isinstance(frame, framing.Data):
        return frame if frame.stream == number else None
    found, message = codec.decode(frame)
    if isinstance(message, Failed) and found in (number, 0):
        raise codec.error_of(message)
    return message if found == number else None  # type: ignore[return-value]
