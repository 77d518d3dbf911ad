"""Connections: who may speak, hello, frames in, handlers by table, answers out.

Connecting and closing changes nothing. One bad client costs itself its connection and nobody else anything.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import time

from orchctl.errors import Internal, NotPermitted, OrchctlError, PeerBroke, SupervisorUnreachable
from orchctl.protocol import codec, framing, hello
from orchctl.protocol.messages import Message
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.guard import guarded
from orchctl.supervisor.handlers import HANDLERS
from orchctl.version import VERSION

log = logging.getLogger(__name__)
HELLO_S = 5.0
CONNECTIONS = 256
CALLS_AT_ONCE = 64
RETRY_ACCEPT_S = 0.1  # out of descriptors: somebody may close one soon
_PEER = struct.Struct("3i")


class Server:
    """Accepts and converses."""

    def __init__(self, app: Supervisor, listener: socket.socket, tasks: asyncio.TaskGroup) -> None:
        self._app = app
        self._listener = listener
        self._tasks = tasks
        self._open: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.left_at = time.monotonic()  # when the last of them ended

    def open(self) -> None:
        """Let clients in from now on."""
        asyncio.get_running_loop().add_reader(self._listener, self.let_in)

    def let_in(self) -> bool:
        """Whoever waits at the door comes in; whether anybody did. Counted at once, so that nobody is overlooked."""
        loop = asyncio.get_running_loop()
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:
            log.warning("cannot accept: %s", error)
            loop.remove_reader(self._listener)
            loop.call_later(RETRY_ACCEPT_S, self.open)
            return True
        connection.setblocking(False)
        self.connections += 1
        self._tasks.create_task(guarded("a connection", self._serve(connection)))
        return True

    def say_goodbye(self) -> None:
        """Tell everybody that this end is meant, so that nobody comes back and starts another; let nobody in."""
        asyncio.get_running_loop().remove_reader(self._listener)
        for writer in self._open:
            _refuse(writer, SupervisorUnreachable("the supervisor was stopped", code="supervisor-stopped"))

    async def _serve(self, connection: socket.socket) -> None:
        try:
            await self._converse(connection)
        finally:
            self.connections -= 1
            self.left_at = time.monotonic()

    async def _converse(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        self._open.add(writer)
        decoder = framing.Decoder()
        try:
            peer = _check_peer(connection)
            if len(self._open) > CONNECTIONS:
                raise OrchctlError(f"{CONNECTIONS} connections are open already", code="too-many-connections")
            writer.write(codec.encode_hello(_our_hello()))
            async with asyncio.timeout(HELLO_S):
                frames = await _first_frames(reader, decoder)
            codec.decode_hello(frames.pop(0))  # whoever it is: list, kill and stop work across versions
            await _Conversation(self._app, reader, writer, decoder, peer).run(frames)
        except OrchctlError as error:
            log.warning("a connection was refused: %s", error.message)
            _refuse(writer, error)
        except (OSError, EOFError, TimeoutError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


class _Conversation:
    """The requests of one connection, each answered by its own task."""

    def __init__(
        self,
        app: Supervisor,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: framing.Decoder,
        peer: int,
    ) -> None:
        self._app = app
        self._reader = reader
        self._writer = writer
        self._decoder = decoder
        self._peer = peer
        self._room = asyncio.Semaphore(CALLS_AT_ONCE)

    async def run(self, frames: list[framing.Frame]) -> None:
        """Until the other end closes; then what it asked for and nobody waits for any more is dropped."""
        async with asyncio.TaskGroup() as calls:
            started: set[asyncio.Task[None]] = set()
            try:
                while True:
                    for frame in frames:
                        await self._room.acquire()
                        task = calls.create_task(self._take(frame))
                        started.add(task)
                        task.add_done_callback(started.discard)
                    data = await _received(self._reader)
                    if not data:
                        return
                    frames = list(self._decoder.feed(data))
            finally:
                for task in list(started):
                    task.cancel()

    async def _take(self, frame: framing.Frame) -> None:
        number = 0
        try:
            number, message = codec.decode(frame)
            await self._answer(Call(number, self._writer, self._peer), message)
        except codec.UnknownKind as error:
            await Call(error.number, self._writer).say(codec.failed(error))
        except PeerBroke as error:
            await Call(number, self._writer).say(codec.failed(error))
        except (ConnectionError, BrokenPipeError):
            self._writer.close()
        finally:
            self._room.release()

    async def _answer(self, call: Call, message: Message) -> None:
        handler = HANDLERS.get(type(message))
        try:
            if handler is None:
                raise PeerBroke(f"{message.kind} is an answer, not a request")
            await handler(self._app, call, message)
        except OrchctlError as error:
            await call.say(codec.failed(error))
        except ConnectionError:
            raise
        except Exception as error:
            log.exception("%s failed", message.kind)
            await call.say(codec.failed(Internal(f"{message.kind}: {type(error).__name__}: {error}")))


def _our_hello() -> hello.Hello:
    return hello.Hello(protocol=hello.PROTOCOL, version=VERSION, pid=os.getpid())


async def _received(reader: asyncio.StreamReader) -> bytes:
    """Bytes, or b'' when the other end is gone, however it went."""
    try:
        return await reader.read(1 << 16)
    except OSError:
        return b""


async def _first_frames(reader: asyncio.StreamReader, decoder: framing.Decoder) -> list[framing.Frame]:
    while data := await _received(reader):
        if frames := list(decoder.feed(data)):
            return frames
    raise EOFError


def _check_peer(connection: socket.socket) -> int:
    """The peer's pid, if it is this user's."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, _ = _PEER.unpack(raw)
    if uid != os.geteuid():
        raise NotPermitted(f"uid {uid} may not speak to this supervisor")
    return int(pid)


def _refuse(writer: asyncio.StreamWriter, error: OrchctlError) -> None:
    if not writer.is_closing():
        writer.write(codec.encode(0, codec.failed(error)))
