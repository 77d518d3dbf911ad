"""Output as events: made from the logs when they are delivered, in their place among what the journal says.

They have no number and are never journalled. An event that says where the output stood comes after all of it up to
there; what has come since is told when the journal is read to its end.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

from orchctl.agents import registry
from orchctl.errors import OrchctlError
from orchctl.log.reader import OutputLog
from orchctl.session.tale_of_agent import of_conversation
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.session import SupervisedSession

OUTPUT = "output"
AGENTS = frozenset(registry.names())
TEXT_BYTES = 1 << 14  # of a conversation's text in one event
_PLACES = ("offset", "end_offset", "start_offset")  # where an event says how far the output was
Event = dict[str, Any]


class OutputEvents:
    """One reader's way through the logs of the sessions it wants, beside its way through the journal."""

    def __init__(
        self,
        app: Supervisor,
        reader: object,
        *,
        wanted: Callable[[Event], bool],
        terminals: bool,
        places: Mapping[str, int],
        begins: Callable[[SupervisedSession, Event | None], int],
    ) -> None:
        self._app = app
        self._reader = reader  # by which retention knows who reads
        self._wanted = wanted
        self._terminals = terminals
        self._at = dict(places)
        self._begins = begins
        self._held: dict[str, SupervisedSession] = {}
        self._grown: set[str] = set()
        self._live = False  # everything that was there has been told
        self.news = asyncio.Event()

    async def before(self, event: Event) -> AsyncIterator[Event]:
        """What comes before an event of the journal."""
        session = self._session(event)
        end = next((event[name] for name in _PLACES if isinstance(event.get(name), int)), None)
        if session is not None and end is not None:
            async for found in self._told(session, end):
                yield found
        if session is not None and event["type"] == "session.state" and event["state"] == "closed":
            self._let_go(session)

    async def rest(self) -> AsyncIterator[Event]:
        """What has come meanwhile: as of now, because what comes while it is sent may follow upon another event."""
        self.news.clear()
        if not self._live:
            for one in self._app.registry.live():
                self._hold(one, None)
        grown, self._grown = self._grown, set()
        sessions = [self._held[one] for one in grown if one in self._held]
        for session, end in [(one, _end(one)) for one in sessions]:
            async for found in self._told(session, end):
                yield found
            session.pair.watch(self._at[session.spec.id])
        self._live = True

    def close(self) -> None:
        """The reader is gone."""
        for session in list(self._held.values()):
            self._let_go(session)

    def _session(self, event: Event) -> SupervisedSession | None:
        """Whose output is wanted, of those that events speak of; it may have become another run's."""
        session_id = event.get("session")
        if not isinstance(session_id, str) or not self._tells(event):
            return None
        if session_id not in self._held or event["type"] == "session.state":
            try:
                self._hold(self._app.registry.find(session_id, ""), event)
            except OrchctlError:  # it was pruned
                return None
        return self._held.get(session_id)

    def _tells(self, about: Event) -> bool:
        """Whether the output of that session is wanted."""
        return (self._terminals or about.get("backend") in AGENTS) and self._wanted({**about, "type": OUTPUT})

    def _hold(self, session: SupervisedSession, event: Event | None) -> None:
        session_id = session.spec.id
        before = self._held.get(session_id)
        about = {"session": session_id, "managed_by": session.spec.managed_by, "backend": session.spec.backend}
        if before is session or not self._tells(about):
            return
        if before is not None:
            self._let_go(before)
        if session_id not in self._at:
            self._at[session_id] = self._begins(session, event)
        self._held[session_id] = session
        session.news.listeners[self] = partial(self._wake, session_id)
        self._wake(session_id)

    def _let_go(self, session: SupervisedSession) -> None:
        session.news.listeners.pop(self, None)
        session.readers.gone(self._reader)
        del self._held[session.spec.id]

    def _wake(self, session_id: str) -> None:
        self._grown.add(session_id)
        self.news.set()

    async def _told(self, session: SupervisedSession, end: int) -> AsyncIterator[Event]:
        """All up to there that is kept, and the ranges that are not."""
        if self._at[session.spec.id] < end:
            await session.safety.settle(end)
        while (found := self._next(session, end)) is not None:
            self._at[session.spec.id] = found["end"]
            session.readers.at(self._reader, found["end"])
            yield found

    def _next(self, session: SupervisedSession, end: int) -> Event | None:
        spec, at = session.spec, self._at[session.spec.id]
        common = {"session": spec.id, "run": max(1, session.run.number), "managed_by": spec.managed_by}
        common |= {"backend": spec.backend, "who": spec.managed_by}
        with contextlib.closing(session.open_log()) as log:
            if at >= min(end, log.end):
                return None
            if (gap := log.gap(at)) is not None:
                return {"type": "gap", "time": time.time(), **common, "first": at, "end": gap.end}
            text, stop = _text(log, at, end) if session.talk is not None else (None, min(end, log.end))
        if stop == at:
            return None  # it went while we looked
        found = {"type": OUTPUT, "time": self._time_of(session, at), **common, "offset": at, "end": stop}
        return found if text is None else {**found, "text": text}

    def _time_of(self, session: SupervisedSession, offset: int) -> float:
        """When it came; just now, once the reader has all that there was."""
        then = None if self._live else session.timeline().time_of(offset)
        return time.time() if then is None else then


def _end(session: SupervisedSession) -> int:
    with contextlib.closing(session.open_log()) as log:
        return log.end


def _text(log: OutputLog, first: int, end: int) -> tuple[str, int]:
    """As much as one event has room for, in whole characters, and where it ends."""
    data = log.span(first, min(end, first + TEXT_BYTES))
    text, used = codecs.utf_8_decode(data, "replace", first + len(data) >= end)
    return text, first + used


def begin_at(session: SupervisedSession, event: Event | None, *, since_unix_s: float | None, last_s: float) -> int:
    """Where a reader's output begins that has asked for events from some number on, `event` being the session's first.

    Of a conversation that is where it stood at the event before that one; of a program where it stood at the time
    `last_s` of the last event that is not asked for.
    """
    if since_unix_s is not None or session.talk is None:
        return session.timeline().offset_at(last_s if since_unix_s is None else since_unix_s, _end(session))
    until = event["time"] if event is not None else float("inf")
    before = [record for record in session.read_commands(0).records if record.get("time", 0.0) < until]
    return max((one["offset"] for record in before for one in of_conversation(record) if "offset" in one), default=0)
