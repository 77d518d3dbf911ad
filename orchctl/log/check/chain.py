"""Whether the event journal is what it was: the chain itself, and a head that somebody noted elsewhere. Reads only.

An edit, a deletion or a changed order in the middle breaks the chain. A cut from the end, or a chain that was written
anew, shows only in a noted head: that is why it is worth noting one on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from orchctl.errors import NoSuchSession
from orchctl.lazy_dataclass import dataclass
from orchctl.log import chain, journal
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader
from orchctl.log.session_files import SessionStore
from orchctl.session import manager, selection

Line = dict[str, Any]
MISSING = "missing-head"


def check_chain(root: str, head: str | None) -> list[Line]:
    """One line for each record that does not follow, and one with the summary; two looks, as it may be written to."""
    first = _look(root, head)
    if len(first) == 1:
        return first
    again = _look(root, head)
    seen = {(line["seq"], line["kind"]) for line in first[:-1]}
    kept = [line for line in again[:-1] if (line["seq"], line["kind"]) in seen]
    return [*kept, {"summary": {**again[-1]["summary"], "findings": len(kept)}}]


def _look(root: str, head: str | None) -> list[Line]:
    reader = EventReader(REAL, f"{root}/events")
    walk = _Walk(reader, head)
    findings = [*walk.findings(), *walk.compare()]
    summary = {"first_seq": walk.first, "last_seq": walk.last, "head": walk.head, "findings": len(findings)}
    return [*findings, {"summary": summary}]


class _Walk:
    """One look at all that is kept; `noted` is `HASH` or `SEQ:HASH`."""

    def __init__(self, reader: EventReader, noted: str | None) -> None:
        self._reader = reader
        number, _, self._noted = (noted or "").rpartition(":")
        self._noted_seq = int(number) if number else None
        self._found = False  # the noted hash
        self._there: str | None = None  # the hash of the record that was noted
        self._before: str | None = None  # the hash that the first record carries
        self.first: int | None = None
        self.last: int | None = None
        self.head = chain.ZERO

    def findings(self) -> Iterator[Line]:
        follower: chain.Follower | None = None
        starts = self._reader.starts()
        for start in starts:
            if follower is None:
                follower = chain.Follower(start, chain.ZERO if start == chain.FIRST else None)
            elif start != follower.seq:
                yield _finding(follower.seq, chain.MISSING_EVENTS, f"the next file begins with record {start}")
            size = self._reader.size(start)  # first: what is written meanwhile is not torn
            read = 0
            for line in self._reader.lines(start):
                due, read = follower.seq, read + len(line) + 1
                problem = follower.follow(line)
                self._note(line)
                if problem is not None:
                    event = chain.event_of(line)
                    yield _finding(event["seq"] if event is not None else due, *problem)
            if read < size:
                yield _finding(follower.seq, chain.TORN_TAIL, f"{size - read} bytes are no whole record")

    def compare(self) -> Iterator[Line]:
        """What the head that was noted does not agree with; asked after the findings."""
        if not self._noted:
            return
        if self.first is None or self.last is None:
            if self._noted != chain.ZERO:
                yield _finding(self._noted_seq or 0, MISSING, "the journal is empty, and a head was noted")
        elif self._noted_seq is not None:
            yield from self._compare_at(self._noted_seq, self.first, self.last)
        elif not self._found and self._noted != self._before:
            kept = f"records {self.first} to {self.last} are kept, and none has the hash {self._noted}"
            yield _finding(self.last, MISSING, f"{kept}; it was changed, cut off, or is no longer kept")

    def _compare_at(self, seq: int, first: int, last: int) -> Iterator[Line]:
        if seq > last:
            yield _finding(seq, MISSING, f"the journal ends with record {last}, and {seq} was noted")
        elif seq < first - 1:
            yield _finding(seq, MISSING, f"record {seq} is no longer kept; the oldest is {first}")
        elif (self._before if seq == first - 1 else self._there) != self._noted:
            yield _finding(seq, "wrong-head", f"record {seq} is not what it was when its hash was noted")

    def _note(self, line: bytes) -> None:
        event = chain.event_of(line)
        if event is None:
            return
        self.head, self.last = chain.digest(journal.text_of(line)), event["seq"]
        self._found = self._found or self.head == self._noted
        if self.last == self._noted_seq:
            self._there = self.head
        if self.first is None:
            self.first, self._before = event["seq"], event["prev"]


def _finding(seq: int, kind: str, detail: str) -> Line:
    return {"seq": seq, "kind": kind, "detail": detail}


PAGE = 500
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
    if (found := selection.by_prefix(text, known)) is not None:
        return found
    raise NoSuchSession(f"no session {text!r}")
