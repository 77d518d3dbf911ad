"""What can be waited for, awaited: each session has a task, and its first condition that holds comes out of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import aclosing

from orchctl.client.aio.choosing import AsyncChoosing
from orchctl.client.aio.keeping import AsyncKeeping
from orchctl.client.aio.streams import AsyncOutputStream, search
from orchctl.client.pexpect import Expecting
from orchctl.client.watching import Search
from orchctl.errors import NoSuchSession, TimedOut
from orchctl.protocol import messages
from orchctl.session import wait as waiting
from orchctl.session.model import Expected, Happened, Selection, Session
from orchctl.session.stream import Chunk
from orchctl.shell.typed_lines import TypedLines
from orchctl.terminal.views import RawView, TextView, View


class AsyncWaits(AsyncKeeping, AsyncChoosing):
    """A part of `AsyncClient`."""

    async def wait(self, session: str, *, timeout_s: float | None = None) -> Session:
        """The session once it is closed."""
        asked = messages.WaitSession(session=session, own_manager=self._own_manager)
        return (await self._ask(asked, messages.OneSession, timeout_s=timeout_s)).session

    async def wait_for(
        self, session: str, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None
    ) -> tuple[str, Session]:
        """The first of the conditions that holds, and the session then.

        They are `exit`, `command`, `prompt`, `input` (it waits for input), `quiet` (no output for `quiet_s`),
        `state=STATE` and `output=REGEX`.
        """
        each = self.wait_for_each([session], conditions, quiet_s=quiet_s, timeout_s=timeout_s)
        async with aclosing(each) as found:  # type: ignore[type-var]
            happened = await anext(found)
        return happened.condition, happened.session

    async def wait_for_each(
        self,
        sessions: Sequence[str],
        conditions: Sequence[str],
        *,
        first_only: bool = False,
        quiet_s: float = 2.0,
        since: float | None = None,
        offset: int | None = None,
        new: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncIterator[Happened]:
        """For each of these sessions, as it comes to hold, the first condition that does; or for the first alone.

        Output is looked at from the last input on, else from the run's start; or from the Unix time `since`, from
        `offset`, or only as far as it is `new`. A session that ends before a condition holds is an error
        (`session-ended`), unless another may still be the first.
        """
        waiting.check(conditions)
        given = since is not None or offset is not None or new
        asked = messages.ReadOutput(
            session="",
            own_manager=self._own_manager,
            offset=offset,
            lines=0 if new else None,
            since_unix_s=since,
            since_input=not given,
            follow=True,
            commands=True,
        )
        chosen = await self.select(Selection(sessions=tuple(sessions)), ended_too=True)
        loop = asyncio.get_running_loop()
        expires_at = None if timeout_s is None else loop.time() + timeout_s
        jobs = {asyncio.create_task(self._first(one, conditions, asked, quiet_s)) for one in chosen}
        try:
            while jobs:
                left = None if expires_at is None else max(0.0, expires_at - loop.time())
                done, jobs = await asyncio.wait(jobs, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    raise TimedOut("it did not happen in the time given")
                for job in done:
                    if first_only and isinstance(job.exception(), NoSuchSession):
                        continue
                    yield job.result()
                    if first_only:
                        return
            if first_only:
                raise NoSuchSession("all of them ended before that", code="session-ended")
        finally:
            await _drop(jobs)

    async def wait_for_output(self, session: str, pattern: str, *, timeout_s: float | None = None) -> re.Match[bytes]:
        """The first match in what the session wrote since its last input, or writes from now on."""
        asked = messages.ReadOutput(
            session=session, own_manager=self._own_manager, since_input=True, follow=True, commands=True
        )
        return await search(AsyncOutputStream(asked, self._lend_where_some, timeout_s=timeout_s), pattern)

    async def expect(
        self, session: str, patterns: Sequence[str | bytes], *, timeout_s: float | None = None
    ) -> Expected:
        """Which of the regular expressions comes first in what was written since our last input, or comes from now on.

        Our last input is that of this client's manager; if it is not known, anybody's.
        """
        asked = messages.ReadOutput(
            session=session, own_manager=self._own_manager, since_own_input=True, follow=True, commands=True
        )
        expecting, view = Expecting(patterns), None
        stream = AsyncOutputStream(asked, self._lend_where_some, timeout_s=timeout_s)
        stream.lines = TypedLines(silent=True)
        async for piece in stream:
            view = view or _view(stream.session)
            if isinstance(piece, Chunk) and (found := expecting.feed(view.feed(stream.shown(piece)))) is not None:
                stream.close()
                return found
        if view is not None and (found := expecting.feed(view.feed(stream.rest()) + view.end())) is not None:
            return found
        raise NoSuchSession("the session ended, and none of the patterns came", code="session-ended")

    async def terminal(self, session: str, *, echo: bool | None = None) -> messages.TerminalModes:
        """The modes of its terminal; with `echo`, made to show what is typed, or not to, before."""
        asked = messages.GetTerminal(session=session, own_manager=self._own_manager, echo=echo)
        return await self._ask(asked, messages.TerminalModes)

    async def _first(
        self, session: Session, conditions: Sequence[str], asked: messages.ReadOutput, quiet_s: float
    ) -> Happened:
        """What the supervisor knows and what is in the output, whichever comes first."""
        outputs = [one for one in conditions if one.startswith(waiting.OUTPUT)]
        known = tuple(one for one in conditions if one not in outputs)
        ways: list[Awaitable[Happened]] = []
        if outputs:
            ways.append(self._in_output(session, outputs, asked))
        if known:
            ways.append(self._told(session, known, quiet_s))
        jobs = {asyncio.ensure_future(way) for way in ways}
        try:
            while True:
                done, jobs = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
                for job in done:
                    if not (jobs and isinstance(job.exception(), NoSuchSession)):
                        return job.result()
        finally:
            await _drop(jobs)

    async def _told(self, session: Session, known: tuple[str, ...], quiet_s: float) -> Happened:
        asked = messages.WaitFor(session=session.id, conditions=known, own_manager=self._own_manager, quiet_s=quiet_s)
        fired = await self._ask(asked, messages.Fired)
        return Happened(condition=fired.condition, session=fired.session)

    async def _in_output(self, session: Session, outputs: Sequence[str], asked: messages.ReadOutput) -> Happened:
        from dataclasses import replace

        wanted = Search(outputs, terminal=session.backend == "pty")
        stream = AsyncOutputStream(replace(asked, session=session.id), self._lend_where_some)
        stream.lines = TypedLines(silent=True)
        found = None
        async for piece in stream:
            if isinstance(piece, Chunk):
                found = wanted.feed(stream.shown(piece))
            else:
                wanted.gap()
            if found is not None:
                stream.close()
                break
        found = found or wanted.feed(stream.rest()) or wanted.end()
        if found is None:
            name = session.name or session.id
            raise NoSuchSession(f"the session {name} ended, and the pattern never matched", code="session-ended")
        (now,) = await self.select(Selection(sessions=(session.id,)), ended_too=True)
        return Happened(condition=found[0], session=now, match=found[1])


def _view(session: Session | None) -> View:
    return TextView() if session is None or session.backend == "pty" else RawView()


async def _drop(jobs: set[asyncio.Task[Happened]] | set[asyncio.Future[Happened]]) -> None:
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
