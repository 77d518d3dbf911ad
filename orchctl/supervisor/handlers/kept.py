"""What is kept: events to be read, and sessions to be taken away."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from orchctl.core import chain, manager, selection, selector
from orchctl.disk import REAL
from orchctl.errors import BadInput
from orchctl.model.selection import Selection
from orchctl.protocol import messages
from orchctl.store.event_reading import EventReader
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.paging import pages
from orchctl.supervisor.pruning import Pruning

PAGE = 500  # events read at once
NAMED = 100  # sessions in the event about a prune
Event = dict[str, Any]


async def read_events(app: Supervisor, call: Call, asked: messages.ReadEvents) -> None:
    """In order, each once; with `follow`, for ever."""
    if asked.since_seq is not None and asked.since_seq < 0:
        raise BadInput(f"there is no event {asked.since_seq}", code="bad-seq")
    wanted = _filter(app, asked)
    reader = EventReader(REAL, app.root.events)
    seq = asked.since_seq or 0
    if asked.since_unix_s is not None:
        seq = reader.seq_at(asked.since_unix_s)
    while True:
        ticket = app.house.teller.news.ticket
        page = reader.read(seq, PAGE)
        if page:
            if page[0]["seq"] > seq > 0:
                await call.say(_said([_gap(seq, page[0]["seq"])], page[0]["seq"]))
            seq = page[-1]["seq"] + 1
            chosen = [event for event in page if wanted(event)]
            for part in pages(chosen) if chosen else ():
                await call.say(_said(part, part[-1]["seq"] + 1))
            continue
        if not asked.follow:
            await call.say(messages.SomeEvents(events=(), next_seq=seq, more=False))
            return
        await ticket.wait()


async def prune(app: Supervisor, call: Call, asked: messages.Prune) -> None:
    """Answered with what went, or would go."""
    default = asked.older_than_s is None and asked.keep_bytes is None and not asked.sessions
    age = app.house.config.ended_s if default else asked.older_than_s
    meant = messages.Prune(
        sessions=asked.sessions,
        older_than_s=age,
        keep_bytes=asked.keep_bytes,
        output=asked.output,
        dry_run=asked.dry_run,
        own_manager=asked.own_manager,
    )
    pruned = await Pruning(app).prune(meant)
    if pruned.sessions and not asked.dry_run:
        what = {"action": "prune", "sessions": list(pruned.sessions[:NAMED]), "count": len(pruned.sessions)}
        app.house.teller.announce("input", managed_by=None, who=asked.own_manager, **what, output=asked.output)
    await call.say(pruned)


def _filter(app: Supervisor, asked: messages.ReadEvents) -> Callable[[Event], bool]:
    managers = [text[1:] for text in asked.sessions if text.startswith("@") and text != selector.LAST]
    for name in managers:
        manager.parse(name)
    ids = {
        app.registry.find(text, asked.own_manager).spec.id
        for text in asked.sessions
        if not text.startswith("@") or text == selector.LAST
    }

    conditions = Selection(labels=asked.labels, repo=asked.repo)
    selection.check(conditions)

    def wanted(event: Event) -> bool:
        if chain.is_checkpoint(event) or (asked.types and event["type"] not in asked.types):
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
