"""The outputs of several sessions as one iterator; sessions that come to belong to the selection join."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

from orchctl.client.connection import Connection
from orchctl.client.many import Item, Many
from orchctl.client.output import OutputReading
from orchctl.client.story import Story
from orchctl.errors import NoSuchSession, OrchctlError
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Answer, ReadEvents, ReadOutput, SomeEvents
from orchctl.session.model import Session
from orchctl.session.stream import Chunk, Gap

_EVENTS = "events"  # no session has this id
Event = dict[str, Any]
Piece = Chunk | Gap | Event | None


class Reader(OutputReading):
    """One session's place in its log."""

    session: Session

    def __init__(self, session: Session, asked: ReadOutput) -> None:
        super().__init__(dataclasses.replace(asked, session=session.id))
        self.session = session

    def request(self) -> ReadOutput:
        """As asked at first; later from where it stands."""
        return self._request()

    def take(self, item: Answer | Data) -> tuple[bool, Chunk | Gap | None]:
        """Whether it was the end, and the piece of output that it is."""
        piece = self._hear(item)
        return self._over, piece


AnyReader = Reader | Story


class SeveralOutputs:
    """Iterate for readers and what came for them; None as a piece is the end of that one, None as a reader silence."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        members: list[Session],
        asked: ReadOutput,
        *,
        join: Callable[[str], Session | None] | None = None,
        since: float = 0.0,
        quiet_s: float | None = None,
        stories: bool = False,
    ) -> None:
        self._many = Many(connect)
        self._asked = asked
        self._join = join  # gives a session that has just changed, if it belongs to them
        self._since = since  # what happened before that is known
        self._quiet_s = quiet_s  # after so long without anything, silence is told
        self._stories = stories  # of conversations, events come in the place of their output
        self.readers = {session.id: self._reader(session, asked) for session in members}

    def __iter__(self) -> Iterator[tuple[AnyReader | None, Piece]]:
        try:
            for session, reader in self.readers.items():
                self._many.begin(session, reader.request)
            if self._join is not None:
                self._many.begin(_EVENTS, self._request_events)
            while len(self._many) > int(self._join is not None and bool(self.readers)):
                found = self._many.next(self._quiet_s)
                if found is None:
                    yield None, None
                elif found[0] == _EVENTS:
                    self._hear(found[1])
                else:
                    yield from self._read(self.readers[found[0]], found[1])
        finally:
            self._many.close()

    def _reader(self, session: Session, asked: ReadOutput) -> AnyReader:
        return Story(session, asked) if self._stories and session.agent is not None else Reader(session, asked)

    def _read(self, reader: AnyReader, item: Item) -> Iterator[tuple[AnyReader, Piece]]:
        if isinstance(item, NoSuchSession):  # it was taken away meanwhile
            self._many.done(reader.session.id)
            yield reader, None
            return
        if isinstance(item, OrchctlError):
            raise item
        ended, found = reader.take(item)
        for piece in found if isinstance(found, list) else [found] if found is not None else []:
            yield reader, piece
        if ended:
            self._many.done(reader.session.id)
            yield reader, None

    def _request_events(self) -> ReadEvents:
        return ReadEvents(since_unix_s=self._since, types=("session.state",), follow=True)

    def _hear(self, item: Item) -> None:
        """Something began, or was named or labelled anew: those who join are read from their first byte."""
        if isinstance(item, OrchctlError):
            raise item
        changed = [json.loads(event)["session"] for event in item.events] if isinstance(item, SomeEvents) else []
        for session_id in dict.fromkeys(changed):
            joins = self._join(session_id) if self._join is not None and session_id not in self.readers else None
            if joins is not None:
                asked = dataclasses.replace(self._asked, lines=None, offset=0, since_unix_s=None)
                reader = self.readers[joins.id] = self._reader(joins, asked)
                self._many.begin(joins.id, reader.request)
