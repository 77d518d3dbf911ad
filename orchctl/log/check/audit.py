"""Who did what, out of the event journal: what somebody asked for, not what came of itself. Reads only, at any time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from orchctl.errors import BadInput, NoSuchSession
from orchctl.lazy_dataclass import dataclass
from orchctl.log import chain
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader
from orchctl.log.session_files import SessionStore
from orchctl.session import manager, selection

PAGE = 500
_PREFIX = re.compile(r"[0-9a-f-]{8,36}")
Event = dict[str, Any]
HIDDEN = ("prev", "told")


@dataclass(slots=True)
class Wanted:
    """The sessions that are asked for; none: all, and what is about none."""

    ids: set[str] = field(default_factory=set)
    managers: list[str] = field(default_factory=list)

    def __call__(self, event: Event) -> bool:
        if not self.ids and not self.managers:
            return True
        owner, several = event.get("managed_by") or "", event.get("sessions")
        if isinstance(several, list) and self.ids.intersection(map(str, several)):
            return True
        return event.get("session") in self.ids or any(manager.selects(name, owner) for name in self.managers)


def audit(
    root: str, sessions: Sequence[str], own: str = manager.DEFAULT, *, since_seq: int = 0, since: float | None = None
) -> Iterator[Event]:
    """Each deed in order, with `deed` in front of what the journal has; `own` is whose session `@last` is."""
    reader = EventReader(REAL, f"{root}/events")
    wanted = _wanted(root, sessions, own)
    seq = reader.seq_at(since) if since is not None else since_seq
    for event in _events(reader, seq):
        done = deed(event)
        if done is not None and wanted(event):
            yield {"deed": done, **{name: value for name, value in event.items() if name not in HIDDEN}}


def deed(event: Event) -> str | None:
    """What somebody did; None for what happened without anybody, and for ends of what was begun."""
    kind = event.get("type")
    if kind == "session.state" and event.get("state") == "idle":
        return "spawn"
    if kind == "command":
        return "exec" if event.get("phase") == "started" else None
    if kind == "input":
        return "interrupt" if event.get("interrupt") else str(event.get("action") or "input")
    return str(kind) if kind in ("limit", "lease", "answered") else None


def _events(reader: EventReader, seq: int) -> Iterator[Event]:
    while page := reader.read(seq, PAGE):
        yield from (event for event in page if not chain.is_checkpoint(event))
        seq = page[-1]["seq"] + 1


@dataclass(frozen=True, slots=True)
class _Known:
    name: str | None
    managed_by: str | None
    created_at: float


def _wanted(root: str, sessions: Sequence[str], own: str) -> Wanted:
    wanted = Wanted()
    known: dict[str, _Known] | None = None
    for text in sessions:
        if text.startswith("@") and text != selection.LAST:
            wanted.managers.append(manager.parse(text[1:]))
            continue
        known = known if known is not None else _known(root)
        wanted.ids.add(_find(text, known, own))
    return wanted


def _known(root: str) -> dict[str, _Known]:
    """Every session that is kept or told of; pruned ones too."""
    found: dict[str, _Known] = {}
    for event in _events(EventReader(REAL, f"{root}/events"), 0):
        session = event.get("session")
        if isinstance(session, str) and (session not in found or event.get("state") == "idle"):
            found[session] = _Known(event.get("name"), event.get("managed_by"), event["time"])
    store = SessionStore(f"{root}/sessions")
    try:
        specs = [store.read_spec(session) for session in store.ids()]
    except FileNotFoundError:
        specs = []
    return found | {spec.id: _Known(spec.name, spec.managed_by, spec.created_at) for spec in specs if spec is not None}


def _find(text: str, known: dict[str, _Known], own: str) -> str:
    if text in known:
        return text
    last = text == selection.LAST
    named = [
        (one.created_at, key) for key, one in known.items() if (one.managed_by == own if last else one.name == text)
    ]
    if named:
        return max(named)[1]
    found = [session for session in known if session.startswith(text)] if _PREFIX.fullmatch(text) else []
    if len(found) > 1:
        raise BadInput(f"{len(found)} sessions begin with {text}; give more digits", code="ambiguous-session")
    if not found:
        raise NoSuchSession(f"no session {text!r}")
    return found[0]
