"""One request under way and its answers: in pages, no faster than the reader acknowledges, each byte of a log once."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import field
from functools import partial
from typing import Protocol, TypeVar

from orchctl.errors import OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import Spec
from orchctl.log.sync import Safety
from orchctl.protocol import codec, frames, messages
from orchctl.protocol.frames import DATA_LIMIT_BYTES
from orchctl.protocol.messages import Answer
from orchctl.session.stream import Credit
from orchctl.supervisor.pair import Pair


@dataclass(frozen=True, slots=True)
class Call:
    """Answers go out in the order they are given; a slow reader makes the caller wait, not the memory grow."""

    number: int
    writer: asyncio.StreamWriter
    peer: int = 0
    flows: dict[int, Flow] = field(default_factory=dict, compare=False)  # of this connection's streams, by number
    descriptors: list[int] = field(default_factory=list, compare=False)  # that came with requests, and nobody took yet

    async def say(self, answer: Answer) -> None:
        """Send one message."""
        self.writer.write(codec.encode(self.number, answer))
        await self.writer.drain()

    async def send_output(self, offset: int, data: bytes, channel: int = 0) -> None:
        """Send bytes of the log, or of a command's own stdout and stderr."""
        self.writer.write(frames.data_head(self.number, offset, len(data), channel) + data)
        del data  # the transport has what is left of it, and readers that do not read are many
        await self.writer.drain()


class Flow:
    """One stream's credit, and waiting for it."""

    def __init__(self, credit: Credit) -> None:
        self._credit = credit
        self._more = asyncio.Event()

    async def room(self) -> int:
        """How many bytes may be sent; waits until there is one."""
        while not self._credit.left_bytes:
            self._more.clear()
            await self._more.wait()
        return self._credit.left_bytes

    def sent(self, count: int) -> None:
        """So many bytes are on their way."""
        self._credit = self._credit.send(count)

    def ack(self, count: int) -> None:
        """So many have arrived."""
        self._credit = self._credit.ack(count)
        self._more.set()


PAGE_BYTES = frames.CONTROL_LIMIT_BYTES // 4
T = TypeVar("T")


def pages(values: Iterable[T]) -> list[list[T]]:
    """The values in order, at least one page; a value that is long has a page of its own."""
    found, room = [list[T]()], PAGE_BYTES
    for value in values:
        size = codec.size_of(value)
        if size > room and found[-1]:
            found.append([])
            room = PAGE_BYTES
        found[-1].append(value)
        room -= size
    return found


async def gathered(values: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    """The same for values that come by and by, of which no more than one page is held."""
    page, room = list[T](), PAGE_BYTES
    async for value in values:
        size = codec.size_of(value)
        if size > room and page:
            yield page
            page, room = [], PAGE_BYTES
        page.append(value)
        room -= size
    if page:
        yield page


class Readers:
    """Of one session. The mover is told the lowest offset, not every step."""

    def __init__(self, pair: Pair, step_bytes: int) -> None:
        self._pair = pair
        self._step_bytes = step_bytes
        self._at: dict[object, int] = {}
        self._told: int | None = None

    @property
    def any(self) -> bool:
        """Whether somebody does."""
        return bool(self._at)

    def at(self, who: object, offset: int) -> None:
        """Somebody has read up to here, and goes on."""
        self._at[who] = offset
        self._tell()

    def gone(self, who: object) -> None:
        """Somebody reads no more."""
        self._at.pop(who, None)
        self._tell()

    def _tell(self) -> None:
        lowest = min(self._at.values(), default=None)
        if lowest is None or self._told is None:
            news = lowest is not self._told
        else:
            news = not 0 <= lowest - self._told < self._step_bytes
        if news:
            self._told = lowest
            self._pair.hold(lowest)


AWAY_S = 10.0  # a folder that was moved away may come back; one that is gone must be told
AWAY_LOOK_S = 0.05


NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
NO_DESCRIPTOR_S = (0.05, 0.1, 0.2, 0.4, *[0.5] * 18)  # how long they may be used up, by clients or by other programs


async def patiently(look: Callable[[], T]) -> T:
    """What `look` gives; while no descriptor is left it is tried again, so that a stream outlasts that."""
    for pause_s in NO_DESCRIPTOR_S:
        try:
            return look()
        except OSError as error:
            if error.errno not in NO_DESCRIPTOR:
                raise
        await asyncio.sleep(pause_s)
    return look()


class LogSession(Protocol):
    """A session whose log is sent."""

    spec: Spec
    folder: str
    safety: Safety
    readers: Readers


async def wait_for_files(session: LogSession) -> None:
    """Until the session's folder is there; an error where it does not come back, never a short answer."""
    until = time.monotonic() + AWAY_S
    while not os.path.isdir(session.folder):
        if time.monotonic() >= until:
            raise OrchctlError(f"the files of session {session.spec.id} are gone: {session.folder}", code="files-gone")
        await asyncio.sleep(AWAY_LOOK_S)


async def send_range(
    call: Call, session: LogSession, log: OutputLog, offset: int, end: int, flow: Flow | None = None
) -> int:
    """Everything from `offset` to `end` that is kept, as fast as the reader takes it; where the next byte goes on."""
    if offset < end:
        await session.safety.settle(end)
    while offset < end:
        session.readers.at(call, offset)
        room = DATA_LIMIT_BYTES if flow is None else await flow.room()
        limit = min(DATA_LIMIT_BYTES, room, end - offset)
        data = await patiently(partial(log.read, offset, limit))
        if data:
            if flow is not None:
                flow.sent(len(data))
            sending = call.send_output(offset, data)
            offset += len(data)
            del data  # nobody holds it while a reader does not read
            await sending
            continue
        gap = await patiently(partial(log.gap, offset))
        if gap is None:
            if os.path.isdir(session.folder):
                break
            await wait_for_files(session)
            continue
        await call.say(messages.StreamGap(first=gap.first, end=gap.end))
        offset = gap.end
    return offset


class DescriptorSocket(socket.socket):
    """A connection to a client; whoever reads it gets the bytes alone."""

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(fileno=accepted.detach())
        self.descriptors: list[int] = []

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        data, found, _, _ = socket.recv_fds(self, bufsize, 1, flags)
        if found:
            close(*self.descriptors)
            self.descriptors[:] = found
            os.set_inheritable(found[0], False)
        return data


def copy(descriptor: int | None) -> int | None:
    """Another of the same, for somebody who closes it."""
    return None if descriptor is None else os.dup(descriptor)


def close(*descriptors: int | None) -> None:
    """Nobody wants them any more."""
    for fd in descriptors:
        if fd is not None:
            os.close(fd)
