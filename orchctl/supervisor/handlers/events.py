"""Events to be read: from the journal, with output in its place between them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from orchctl.errors import BadInput
from orchctl.lazy_dataclass import dataclass
from orchctl.log import chain
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader
from orchctl.protocol import messages
from orchctl.session import manager, selection
from orchctl.session.model import Selection
from orchctl.supervisor import own_session
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.change import either
from orchctl.supervisor.output_events import OUTPUT, OutputEvents, begin_at
from orchctl.supervisor.paging import gathered
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession

PAGE = 500  # events read at once
EARLIER_S = 1.0  # by so much what a journal says may be older than what the log's index says of the same moment
Event = dict[str, Any]
Chooses = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a session's output, and when it was reached."""

    session: str
    offset: int
    unix_s: float

    def is_behind(self, event: Event) -> bool:
        """Whether that happened before; `output` is never told from before it."""
        if event["type"] == OUTPUT:
            return False
        offset = event.get("offset")
        return bool(event["time"] < self.unix_s if offset is None else offset <= self.offset)


async def read_events(app: Supervisor, call: Call, asked: messages.ReadEvents) -> None:
    """In order, each once; with `follow`, for ever."""
    if asked.since_seq is not None and asked.since_seq < 0:
        raise BadInput(f"there is no event {asked.since_seq}", code="bad-seq")
    reader = EventReader(REAL, app.root.events)
    seq, place = _begin(app, call, asked, reader)
    wanted = _filter(app, asked, place)
    with contextlib.closing(_outputs(app, call, asked, wanted, seq, place)) as outputs:
        while True:
            ticket = app.house.teller.news.ticket
            page = reader.read(seq, PAGE)
            if page:
                if page[0]["seq"] > seq > 0:
                    await call.say(_said([_gap(seq, page[0]["seq"])], page[0]["seq"]))
                await _tell(call, _mixed(outputs, page, wanted), seq)
                seq = page[-1]["seq"] + 1
                continue
            await _tell(call, outputs.rest(), seq)
            if not asked.follow:
                await call.say(messages.SomeEvents(events=(), next_seq=seq, more=False))
                return
            await either(ticket, outputs.news)


async def _mixed(outputs: OutputEvents, page: list[Event], wanted: Chooses) -> AsyncIterator[Event]:
    """The events of a page that are wanted, each behind the output that comes before it."""
    for event in page:
        async for output in outputs.before(event):
            yield output
        if wanted(event):
            yield event


async def _tell(call: Call, events: AsyncIterator[Event], seq: int) -> None:
    """As many in one message as surely fit; each says where to go on after it."""
    async for part in gathered(events):
        seq = max((event["seq"] + 1 for event in part if "seq" in event), default=seq)
        await call.say(_said(part, seq))


def _begin(app: Supervisor, call: Call, asked: messages.ReadEvents, reader: EventReader) -> tuple[int, _Place | None]:
    """The first event to look at, and the place in one session's output that the reader asks for."""
    if asked.since_seq is not None:
        return asked.since_seq, None
    if asked.since_unix_s is not None:
        return reader.seq_at(asked.since_unix_s), None
    if asked.lines is None and not asked.places:
        return 0, None
    if len(asked.sessions) != 1:
        raise BadInput("lines and places are those of one session", code="not-one-session")
    session = app.registry.find(asked.sessions[0], asked.own_manager)
    if asked.follow:
        own_session.refuse(app, call, session, "a program cannot follow the session it runs in")
    with contextlib.closing(session.open_log()) as log:
        end = log.end
        last = log.start_of_last_lines(max(0, asked.lines), end) if asked.lines is not None else 0
    offset = asked.places.get(session.spec.id, last)
    if not 0 <= offset <= end:
        raise BadInput(f"offset {offset} is not in the log, which ends at {end}", code="bad-offset")
    if offset == 0:
        return 0, None
    then = session.timeline().time_of(min(offset, end - 1)) or 0.0
    return reader.seq_at(then - EARLIER_S), _Place(session.spec.id, offset, then)


def _outputs(
    app: Supervisor, call: Call, asked: messages.ReadEvents, wanted: Chooses, seq: int, place: _Place | None
) -> OutputEvents:
    def begins(session: SupervisedSession, event: Event | None) -> int:
        if seq <= chain.FIRST:
            return 0
        last = EventReader(REAL, app.root.events).read(seq - 1, 1)
        return begin_at(session, event, since_unix_s=asked.since_unix_s, last_s=last[0]["time"] if last else 0.0)

    places = asked.places | ({place.session: place.offset} if place is not None else {})
    return OutputEvents(app, call, wanted=wanted, terminals=OUTPUT in asked.types, places=places, begins=begins)


def _filter(app: Supervisor, asked: messages.ReadEvents, place: _Place | None) -> Chooses:
    managers = [text[1:] for text in asked.sessions if text.startswith("@") and text != selection.LAST]
    for name in managers:
        manager.parse(name)
    ids = {
        app.registry.find(text, asked.own_manager).spec.id
        for text in asked.sessions
        if not text.startswith("@") or text == selection.LAST
    }

    conditions = Selection(labels=asked.labels, repo=asked.repo)
    selection.check(conditions)

    def wanted(event: Event) -> bool:
        if chain.is_checkpoint(event) or (asked.types and event["type"] not in asked.types):
            return False
        if place is not None and place.is_behind(event):
            return False
        if asked.sessions and event.get("session") not in ids:
            below = any(manager.selects(name, event.get("managed_by") or "") for name in managers)
            return below and _holds(app, conditions, event)
        return _holds(app, conditions, event)

    return wanted


def _holds(app: Supervisor, conditions: Selection, event: Event) -> bool:
    """Whether the event's session has these labels and lies there, as far as anybody still knows it."""
    if not conditions.open:
        return True
    found = app.registry.known(str(event.get("session")))
    return found is not None and selection.chooses(conditions, found)


def _said(events: list[Event], next_seq: int) -> messages.SomeEvents:
    shown = [{name: value for name, value in event.items() if name not in ("prev", "told")} for event in events]
    return messages.SomeEvents(events=tuple(map(json.dumps, shown)), next_seq=next_seq)


def _gap(first: int, end: int) -> Event:
    return {"type": "gap", "session": None, "first_seq": first, "end_seq": end}
