"""Connections: who may speak, hello, frames in, handlers by table, answers out.

Connecting and closing changes nothing. One bad client costs itself its connection and nobody else anything:
until it has said hello it has five seconds and a few kilobytes, and of the descriptors it sends along one is held.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import time

from orchctl import procfs
from orchctl.errors import (
    Internal,
    LimitReached,
    NotPermitted,
    OrchctlError,
    PeerBroke,
    SupervisorUnreachable,
)
from orchctl.protocol import codec, frames, messages, ranges
from orchctl.protocol.messages import Message
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.change import guarded
from orchctl.supervisor.handlers import HANDLERS
from orchctl.supervisor.request import NO_DESCRIPTOR, Call, DescriptorSocket, Flow, close
from orchctl.version import VERSION

log = logging.getLogger(__name__)
HELLO_S = 5.0
HELLO_PART_BYTES = 4096  # read at once until hello was said
CONNECTIONS = 256  # all of one user: nobody else may speak
RESERVED = 16  # beyond those, for a user who looks and ends what is too much
IDLE_S = 1.0  # a connection on which nothing was asked for so long makes room for another; its client comes back
ALWAYS = (
    messages.ListSessions,
    messages.SelectSessions,
    messages.GetSession,
    messages.KillSessions,
    messages.KillByManager,
    messages.GetStatus,
    messages.StopSupervisor,
)
CALLS_AT_ONCE = 64
LINGER_S = 5.0  # what was said last gets this long to be read
RETRY_ACCEPT_S = 0.1  # something is wrong at the door: it may pass
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # a disk that takes no more, for now


class Server:
    """Accepts and converses."""

    def __init__(self, app: Supervisor, listener: socket.socket, tasks: asyncio.TaskGroup) -> None:
        self._app = app
        self._listener = listener
        self._tasks = tasks
        self._greeting: set[socket.socket] = set()  # have not said hello yet
        self._open: set[asyncio.StreamWriter] = set()
        self._conversations: set[_Conversation] = set()
        self._spare: int | None = None  # a descriptor to let go when there is no other: with it, we can say so
        self.connections = 0
        self.left_at = time.monotonic()  # when the last of them ended

    def open(self) -> None:
        """Let clients in from now on."""
        self._keep_spare()
        asyncio.get_running_loop().add_reader(self._listener, self.let_in)

    def listen_on(self, listener: socket.socket) -> None:
        """Another socket takes the place of ours; who found that one before is let in. The caller closes it."""
        while self.let_in():
            pass
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener = listener
        self.open()

    def let_in(self) -> bool:
        """Whoever waits at the door comes in; whether anybody did. Counted at once, so that nobody is overlooked."""
        try:
            accepted, _ = self._listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:
            log.warning("cannot accept: %s", error)
            if error.errno not in NO_DESCRIPTOR or not self._turn_away():
                self._pause()
            return True
        connection = DescriptorSocket(accepted)
        connection.setblocking(False)
        reserved = self.connections >= CONNECTIONS and not self._make_room()
        if reserved and self.connections >= CONNECTIONS + RESERVED:
            log.warning("a connection was refused: %s", _too_many().message)
            with connection:
                _tell(connection, _too_many())
            return True
        self.connections += 1
        self._tasks.create_task(guarded("a connection", self._serve(connection, reserved=reserved)))
        return True

    def _make_room(self) -> bool:
        """Hang up on whoever has asked nothing for longest; False if everybody is being answered."""
        idle = [one for one in self._conversations if one.idle_s >= IDLE_S]
        if idle:
            max(idle, key=lambda one: one.idle_s).close()
        return bool(idle)

    def _turn_away(self) -> bool:
        """No descriptor is left: tell the next one so, with the spare one; False if there was none."""
        if self._spare is None:
            return False
        os.close(self._spare)
        self._spare = None
        with contextlib.suppress(OSError), self._listener.accept()[0] as connection:
            _tell(connection, LimitReached("the supervisor has no descriptor left", code="too-many-files"))
        return self._keep_spare()

    def _keep_spare(self) -> bool:
        with contextlib.suppress(OSError):
            if self._spare is None:
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        return self._spare is not None

    def _pause(self) -> None:
        """Nobody comes in for a moment, so that trouble at the door does not keep us busy."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        loop.call_later(RETRY_ACCEPT_S, self.open)

    def say_goodbye(self) -> None:
        """Tell everybody that this end is meant, so that nobody comes back and starts another; let nobody in."""
        asyncio.get_running_loop().remove_reader(self._listener)
        goodbye = SupervisorUnreachable("the supervisor was stopped", code="supervisor-stopped")
        for connection in self._greeting:
            _tell(connection, goodbye)
        for writer in self._open:
            _refuse(writer, goodbye)

    async def _serve(self, connection: DescriptorSocket, *, reserved: bool) -> None:
        try:
            await self._converse(connection, reserved=reserved)
        finally:
            close(*connection.descriptors)
            self.connections -= 1
            self.left_at = time.monotonic()

    async def _converse(self, connection: DescriptorSocket, *, reserved: bool) -> None:
        decoder = frames.Decoder(control_limit_bytes=frames.HELLO_LIMIT_BYTES)
        self._greeting.add(connection)
        try:
            peer = _check_peer(connection)
            await _greet(connection, decoder)
            reader, writer = await asyncio.open_unix_connection(sock=connection)
        except OrchctlError as error:
            log.warning("a connection was refused: %s", error.message)
            _tell(connection, error)
            connection.close()
            return
        except (OSError, EOFError):
            connection.close()
            return
        finally:
            self._greeting.discard(connection)
        self._open.add(writer)
        conversation = _Conversation(self._app, reader, writer, decoder, peer, connection.descriptors)
        conversation.reserved = reserved
        self._conversations.add(conversation)
        try:
            await conversation.run()
        except PeerBroke as error:
            log.warning("a connection was ended: %s", error.message)
            _refuse(writer, error)
        except OSError:
            pass
        finally:
            self._conversations.discard(conversation)
            self._open.discard(writer)
            writer.close()
            asyncio.get_running_loop().call_later(LINGER_S, writer.transport.abort)


class _Conversation:
    """The requests of one connection, each answered by its own task."""

    def __init__(
        self,
        app: Supervisor,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: frames.Decoder,
        peer: int,
        descriptors: list[int],
    ) -> None:
        self._app = app
        self._reader = reader
        self._writer = writer
        self._decoder = decoder
        self._peer = peer
        self._descriptors = descriptors
        self._room = asyncio.Semaphore(CALLS_AT_ONCE)
        self._flows: dict[int, Flow] = {}
        self._asked_at = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self.reserved = False  # it was let in beyond the limit, for the most important requests

    @property
    def idle_s(self) -> float:
        """For how long nothing was asked; 0 while something is being answered, and of one that is hung up on."""
        busy = self._tasks or self._writer.is_closing()
        return 0.0 if busy else time.monotonic() - self._asked_at

    def close(self) -> None:
        self._writer.close()

    async def run(self) -> None:
        """Until the other end closes or breaks the rules; then what it asked for and nobody waits for is dropped."""
        broken: PeerBroke | None = None
        async with asyncio.TaskGroup() as calls:
            try:
                data = b""  # frames may have come together with the hello
                while True:
                    for frame in self._decoder.feed(data):
                        await self._room.acquire()
                        task = calls.create_task(self._take(frame))
                        self._tasks.add(task)
                        task.add_done_callback(self._answered)
                    data = await _received(self._reader)
                    if not data:
                        break
            except PeerBroke as error:
                broken = error
            finally:
                for task in list(self._tasks):
                    task.cancel()
        if broken is not None:
            raise broken

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._asked_at = time.monotonic()

    async def _take(self, frame: frames.Frame) -> None:
        number = 0
        try:
            number, message = codec.decode(frame)
            await self._answer(Call(number, self._writer, self._peer, self._flows, self._descriptors), message, frame)
        except codec.UnknownKind as error:
            await Call(error.number, self._writer).say(codec.failed(error))
        except PeerBroke as error:
            await Call(number, self._writer).say(codec.failed(error))
        except (ConnectionError, BrokenPipeError):
            self._writer.close()
        finally:
            self._room.release()

    async def _answer(self, call: Call, message: Message, frame: frames.Frame) -> None:
        handler = HANDLERS.get(type(message))
        try:
            if isinstance(frame, frames.Control):
                codec.check_request(frame.payload)
            if self.reserved and not isinstance(message, ALWAYS):
                raise _too_many()
            if handler is None:
                raise PeerBroke(f"{message.kind} is an answer, not a request")
            ranges.check(message)
            await handler(self._app, call, message)
        except OrchctlError as error:
            await call.say(codec.failed(error))
        except ConnectionError:
            raise
        except OSError as error:
            await call.say(codec.failed(_trouble(message.kind, error)))
        except Exception as error:
            log.exception("%s failed", message.kind)
            await call.say(codec.failed(Internal(f"{message.kind}: {type(error).__name__}: {error}")))


def _trouble(kind: str, error: OSError) -> OrchctlError:
    """What the machine refused, as an answer; in the log it has its place in the code only where it is a riddle."""
    if error.errno in NO_DESCRIPTOR:
        log.warning("%s: %s", kind, error)
        return LimitReached("the supervisor has no descriptor left", code="too-many-files")
    if error.errno not in FULL:
        log.exception("%s failed", kind)
    code = "no-space" if error.errno in FULL else "internal"
    return OrchctlError(f"{kind}: {error.strerror or error}", code=code)


def _too_many() -> LimitReached:
    return LimitReached(f"{CONNECTIONS} connections are open already", code="too-many-connections")


async def _received(reader: asyncio.StreamReader) -> bytes:
    """Bytes, or b'' when the other end is gone, however it went."""
    try:
        return await reader.read(1 << 16)
    except OSError:
        return b""


async def _greet(connection: socket.socket, decoder: frames.Decoder) -> None:
    """Say hello and hear one; whoever it is: list, kill and stop work across versions."""
    loop = asyncio.get_running_loop()
    ours = codec.Hello(protocol=codec.PROTOCOL, version=VERSION, features=codec.FEATURES, pid=os.getpid())
    try:
        async with asyncio.timeout(HELLO_S):
            await loop.sock_sendall(connection, codec.encode_hello(ours))
            while data := await loop.sock_recv(connection, HELLO_PART_BYTES):
                for frame in decoder.feed(data):
                    codec.decode_hello(frame)
                    decoder.trust()
                    return
    except TimeoutError:
        raise PeerBroke(f"no hello in {HELLO_S:.0f} s", code="no-hello") from None
    raise EOFError


def _check_peer(connection: socket.socket) -> int:
    """The peer's pid, if it is this user's."""
    pid, uid = procfs.peer(connection)
    if uid != os.geteuid():
        raise NotPermitted(f"uid {uid} may not speak to this supervisor")
    return pid


def _refuse(writer: asyncio.StreamWriter, error: OrchctlError) -> None:
    if not writer.is_closing():
        writer.write(codec.encode(0, codec.failed(error)))


def _tell(connection: socket.socket, error: OrchctlError) -> None:
    """Say why, if there is room for it: nobody is waited for."""
    with contextlib.suppress(OSError):
        connection.send(codec.encode(0, codec.failed(error)), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
