"""What was written, awaited: searches, screens and recordings, by workers that end with whoever waits for them."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchctl.client.aio.choosing import AsyncChoosing
from orchctl.client.aio.keeping import AsyncKeeping
from orchctl.client.recording import Recording, shows_commands
from orchctl.client.searching import Finding, SearchReading
from orchctl.client.workers import READ_BYTES, command_line
from orchctl.errors import Conflict, Internal, from_wire
from orchctl.paths import Root
from orchctl.plain import from_plain
from orchctl.search.lines import Decoder
from orchctl.search.pattern import compiled
from orchctl.session.model import Selection, Session
from orchctl.session.search import Screen, Search, Size

if TYPE_CHECKING:
    from orchctl.client.recording import Form
    from orchctl.session.stream import Gap


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
        self._decoder = Decoder()
        async for data in _pieces("search", self._asked):
            if found := self._hear(data):
                yield found
        self._check_end()


class AsyncLooking(AsyncKeeping, AsyncChoosing):
    """A part of `AsyncClient`."""

    root: Root

    async def search(
        self,
        pattern: str,
        selection: Selection | None = None,
        *,
        fixed: bool = False,
        ignore_case: bool = False,
        before: int | None = None,
        after: int | None = None,
        since: float | None = None,
        count: bool = False,
        limit: int | None = None,
        numbers: bool = True,
        spans: bool = True,
    ) -> AsyncSearchStream:
        """The lines that match in all that is kept, of the sessions chosen or of all, also of ended ones.

        It is done by a process of its own, which reads the logs: the supervisor is only asked who is meant.
        """
        asked = Search(
            pattern=pattern,
            fixed=fixed,
            ignore_case=ignore_case,
            before=before,
            after=after,
            since=since,
            count=count,
            limit=limit,
            numbers=numbers,
            spans=spans,
        )
        compiled(asked)  # what is wrong with it is said before anything is started
        chosen = Selection(everything=True) if selection is None else selection
        return AsyncSearchStream(asked, await self.select(chosen, ended_too=True), self.root.sessions)

    async def screen(self, session: str) -> Screen:
        """What a session's terminal shows now; of an ended one, what it showed last."""
        found = await self.info(session)
        if found.backend != "pty":
            raise Conflict(f"session {found.name or found.id} has no terminal", code="no-terminal")
        told = await _answer("screen", {"sessions_dir": self.root.sessions, "session": found.id})
        return replace(from_plain(Screen, told), name=found.name)

    async def sizes(self, session: str) -> Sequence[Size]:
        """The sizes that a session's terminal has had, and from which byte of its output on."""
        found = await self.info(session)
        if found.backend != "pty":
            return []
        told = await _answer("sizes", {"sessions_dir": self.root.sessions, "session": found.id})
        return [from_plain(Size, one) for one in told]

    async def export(
        self, session: str, form: Form, *, on_gap: Callable[[Gap], object] | None = None
    ) -> AsyncIterator[bytes]:
        """What a session has written, in one of the forms of `client.recording`."""
        recording = Recording(await self.sizes(session), form, on_gap)
        stream = self.output(session, times=True, commands=shows_commands(form))
        async for piece in stream:
            for data in recording.take(piece, stream):
                yield data
        yield recording.end(stream)


async def _answer(action: str, asked: Mapping[str, Any]) -> Any:
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
