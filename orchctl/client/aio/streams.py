"""The streams and session handles of the awaiting client: readings and operations of the blocking one, awaited.

A stream ends its connection when its iteration ends, is cancelled, or is left; `close` does so at once.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from orchctl.client import handle
from orchctl.client.aio.drive import Awaited, awaited, iterated
from orchctl.client.call import opening
from orchctl.client.exec import CommandReading
from orchctl.client.several import AnyReader, Piece, Several
from orchctl.client.streams import EventReading, OutputReading, Reading
from orchctl.client.workers import READ_BYTES, Finding, SearchReading, command_line
from orchctl.errors import Internal, from_wire
from orchctl.session.model import Session
from orchctl.session.search import Screen
from orchctl.session.stream import Chunk, Gap

T = TypeVar("T")
Found = tuple[AnyReader | None, Piece]


class _Iteration(Reading[T]):
    """What a stream adds to a reading."""

    async def __aiter__(self) -> AsyncIterator[T]:
        async with aclosing(iterated(self._flow())) as pieces:
            async for piece in pieces:
                yield piece

    def close(self) -> None:
        """Stop, also for a task that waits for the next piece."""
        self._stop()


class AsyncOutputStream(OutputReading, _Iteration[Chunk | Gap]):
    """Iterate for chunks and gaps, each byte once and in order; `session` is as of the newest word."""

    async def screen(self) -> Screen:
        """What the terminal shows where the stream begins, if a snapshot was asked for; iterate for what follows."""
        return await awaited(self._shown_first())


class AsyncEventStream(EventReading, _Iteration[dict[str, Any]]):
    """Iterate for events, each once and in order."""


class AsyncCommandStream(CommandReading, _Iteration[tuple[int, bytes]]):
    """Iterate for (channel, bytes): 0 the terminal, 1 stdout, 2 stderr; then look at `command`.

    Whoever leaves it before its end takes the command along, unless that was detached.
    """


class AsyncSeveralOutputs(Several):
    """Iterate for readers and what came for them; None as a piece is the end of that one, None as a reader silence."""

    async def __aiter__(self) -> AsyncIterator[Found]:
        async with aclosing(iterated(self._flow())) as pieces:
            async for piece in pieces:
                yield piece


class AsyncSearchStream(SearchReading):
    """Iterate for sessions and what was found in them, as it is found; text is why a session could not be searched."""

    async def __aiter__(self) -> AsyncIterator[tuple[Session, Finding]]:
        async for batch in self.batches():
            for found in batch:
                yield found

    async def batches(self) -> AsyncIterator[list[tuple[Session, Finding]]]:
        """The same, each time all that has come by then."""
        if not self.sessions:
            return
        self._begin()
        async for data in _pieces("search", self._asked):
            if found := self._hear(data):
                yield found
        self._check_end()


async def answer(action: str, asked: Mapping[str, Any]) -> Any:
    """The one JSON document that a worker gives; an error in it is raised."""
    told = json.loads(b"".join([data async for data in _pieces(action, asked)]))
    if isinstance(told, dict) and "error" in told:
        raise from_wire(told["error"], told["code"], told["message"])
    return told


async def _pieces(action: str, asked: Mapping[str, Any]) -> AsyncIterator[bytes]:
    """What a worker writes, as it writes it; it is ended when nobody waits for it any more."""
    child = await asyncio.create_subprocess_exec(*command_line(action), stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        child.stdin.write(json.dumps(asked).encode("ascii") + b"\n")
        while data := await child.stdout.read(READ_BYTES):
            yield data
        said = (await child.stderr.read()).decode(errors="replace").strip().rpartition("\n")[2]
        if status := await child.wait():
            raise Internal(f"the worker for {action!r} ended with {status}: {said}", code="worker-failed")
    finally:
        child.stdin.close()
        if child.returncode is None:
            child.kill()
            await child.wait()


def _output(held: handle.Handle, options: dict[str, Any]) -> AsyncOutputStream:
    stream: AsyncOutputStream = held._client.output(held.id, **options)
    return stream


class AsyncSessionHandle(handle.Handle, Awaited):
    """A session and the client to reach it by; `value` is as of when it was last looked at."""

    output = opening(_output, handle.output)
