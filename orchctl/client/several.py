"""Many requests under way at once, and the outputs of several sessions as one iterator made of them.

`Many` needs as few connections as the supervisor allows for, and no task or thread: it waits until something has come
on any of them. A connection that is lost is made again, and what was under way on it is asked again; a request is made
anew each time, so that one that reads goes on where it stood. Sessions that come to belong to a selection join.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

from orchctl.client.call import Call, Flow, Give, do, iterated
from orchctl.client.caller import Caller, Connect, Link, Patience
from orchctl.client.connection import ConnectionLost
from orchctl.client.streams import Event, EventReading, OutputReading
from orchctl.errors import NoSuchSession, OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.protocol import codec
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Failed, ReadEvents, ReadOutput, SomeEvents
from orchctl.session.model import EndReason, Session, State
from orchctl.session.stream import Chunk, Gap

if TYPE_CHECKING:  # at run time it would import every message
    from orchctl.protocol.messages import Answer, Request

    Item = Answer | Data | OrchctlError

ON_ONE_CONNECTION = 48  # the supervisor takes 64 at once from each
_EVENTS = "events"  # no session has this id
Piece = Chunk | Gap | Event | None


@dataclass(slots=True)
class _Line:
    """One connection, and which request has which number on it."""

    link: Link
    keys: dict[int, str] = field(default_factory=dict)


class Many:
    """Requests by key; `next` gives whatever comes for any of them."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lines: list[_Line] = []
        self._asked: dict[str, Callable[[], Request]] = {}
        self._come: deque[tuple[str, Item]] = deque()
        self._patience = Patience()

    def __len__(self) -> int:
        return len(self._asked)

    def __contains__(self, key: str) -> bool:
        return key in self._asked

    def begin(self, key: str, request: Callable[[], Request]) -> Call[None]:
        """Ask; `request` is called again if the connection is lost."""
        self._asked[key] = request
        yield from self._say(key)

    @property
    def has_come(self) -> bool:
        """Whether `next` gives something without waiting."""
        return bool(self._come)

    def filenos(self) -> list[int]:
        """What to wait on together with something else, when nothing has come."""
        return [line.link.fileno() for line in self._lines]

    def done(self, key: str) -> None:
        """Nothing more is wanted for this one."""
        self._asked.pop(key, None)
        self._forget(key)
        for line in self._lines:
            line.keys = {number: one for number, one in line.keys.items() if one != key}

    def next(self, timeout_s: float | None = None) -> Call[tuple[str, Item] | None]:
        """The next thing that came, and for whom; None when nothing did in that time."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._come:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return None
            links = [line.link for line in self._lines]
            ready: Sequence[Link] = yield from do(links[0].ready, links, left)
            for line in [line for line in self._lines if line.link in ready]:
                yield from self._hear(line)
        return self._come.popleft()

    def close(self) -> None:
        """Hang up."""
        for line in self._lines:
            line.link.close()
        self._lines, self._asked = [], {}
        self._come.clear()

    def _say(self, key: str) -> Call[None]:
        """On a connection that has room; until one takes it."""
        while True:
            try:
                line = next((line for line in self._lines if len(line.keys) < ON_ONE_CONNECTION), None)
                if line is None:
                    line = _Line((yield from do(self._connect)))
                    self._lines.append(line)
            except ConnectionLost as error:
                yield from self._patience.spend(error)
                continue
            try:
                line.keys[(yield from do(line.link.begin, self._asked[key]()))] = key
                return
            except ConnectionLost:
                yield from self._lose(line)

    def _hear(self, line: _Line) -> Call[None]:
        try:
            items: list[tuple[int, Answer | Data]] = yield from do(line.link.receive)
        except ConnectionLost as error:
            yield from self._patience.spend(error)
            yield from self._lose(line)
            return
        self._patience = Patience()
        for number, item in items:
            if isinstance(item, Failed) and number == 0:
                raise codec.error_of(item)
            key = line.keys.get(number)
            if key in self._asked:
                self._come.append((key, codec.error_of(item) if isinstance(item, Failed) else item))

    def _lose(self, line: _Line) -> Call[None]:
        self._lines.remove(line)
        line.link.close()
        for key in line.keys.values():
            if key in self._asked:
                self._forget(key)  # it will come again
                yield from self._say(key)

    def _forget(self, key: str) -> None:
        self._come = deque((one, item) for one, item in self._come if one != key)


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


def asked_of(session: Session, asked: ReadOutput) -> ReadEvents:
    """The events in the same part of the session's log."""
    return ReadEvents(
        sessions=(session.id,),
        since_unix_s=asked.since_unix_s,
        lines=asked.lines,
        places={} if asked.offset is None else {session.id: asked.offset},
        follow=asked.follow and session.state is not State.CLOSED,
    )


class Ending:
    """When a reader has what it asked for."""

    def __init__(self, asked: ReadOutput) -> None:
        self._asked = asked
        self.reached = False

    def passes(self, event: Event) -> bool:
        """Whether it is one of those that were asked for; once one is not, or the session closes, none is."""
        until_s, until = self._asked.until_unix_s, self._asked.until_offset
        late = until_s is not None and event.get("time", 0.0) > until_s
        if self.reached or late or (until is not None and event["type"] == "output" and event["offset"] >= until):
            self.reached = True
            return False
        self.reached = self._asked.follow and event["type"] == "session.state" and event["state"] == State.CLOSED
        return True


def _as_told(session: Session, event: Event) -> Session:
    """The session after a move of its state."""
    reason = event.get("end_reason")
    return dataclasses.replace(
        session,
        state=State(event["state"]),
        exit_code=event.get("exit_code"),
        signal=event.get("signal"),
        end_reason=EndReason(reason) if reason is not None else None,
    )


class Story(EventReading):
    """One conversation among several sessions that are read at once."""

    time_of_next: float | None = None

    def __init__(self, session: Session, asked: ReadOutput) -> None:
        super().__init__(asked_of(session, asked))
        self.session = session
        self._ending = Ending(asked)

    def request(self) -> ReadEvents:
        """As asked at first; later from where it stands."""
        self._over = False
        return self._asked

    def take(self, item: Answer | Data) -> tuple[bool, list[Event]]:
        """Whether it was the end, and the events in it."""
        found = list(filter(self._ending.passes, self._pieces(item)))
        for event in found:
            if event["type"] == "session.state":
                self.session = _as_told(self.session, event)
        return self._over or self._ending.reached, found


AnyReader = Reader | Story


class Several:
    """The logs of several sessions, read at once."""

    def __init__(
        self,
        connect: Connect,
        members: Sequence[Session],
        asked: ReadOutput,
        *,
        join: Callable[[str], Call[Session | None]] | None = None,
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

    @classmethod
    def _of(cls, client: Caller, logs: tuple[Sequence[Session], ReadOutput, dict[str, Any]]) -> Self:
        members, request, options = logs
        return cls(client._connect, members, request, **options)

    def _flow(self) -> Flow[tuple[AnyReader | None, Piece]]:
        try:
            for session, reader in self.readers.items():
                yield from self._many.begin(session, reader.request)
            if self._join is not None:
                yield from self._many.begin(_EVENTS, self._request_events)
            while len(self._many) > int(self._join is not None and bool(self.readers)):
                found = yield from self._many.next(self._quiet_s)
                if found is None:
                    yield Give((None, None))
                elif found[0] == _EVENTS:
                    yield from self._hear(found[1])
                else:
                    for piece in self._read(self.readers[found[0]], found[1]):
                        yield Give(piece)
        finally:
            self._many.close()

    def _reader(self, session: Session, asked: ReadOutput) -> AnyReader:
        return Story(session, asked) if self._stories and session.agent is not None else Reader(session, asked)

    def _read(self, reader: AnyReader, item: Item) -> Iterator[tuple[AnyReader | None, Piece]]:
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

    def _hear(self, item: Item) -> Call[None]:
        """Something began, or was named or labelled anew: those who join are read from their first byte."""
        if isinstance(item, OrchctlError):
            raise item
        changed = [json.loads(event)["session"] for event in item.events] if isinstance(item, SomeEvents) else []
        for session_id in dict.fromkeys(changed):
            if self._join is None or session_id in self.readers:
                continue
            joins = yield from self._join(session_id)
            if joins is not None:
                asked = dataclasses.replace(self._asked, lines=None, offset=0, since_unix_s=None)
                reader = self.readers[joins.id] = self._reader(joins, asked)
                yield from self._many.begin(joins.id, reader.request)


class SeveralOutputs(Several):
    """Iterate for readers and what came for them; None as a piece is the end of that one, None as a reader silence."""

    def __iter__(self) -> Iterator[tuple[AnyReader | None, Piece]]:
        return iterated(self._flow())
