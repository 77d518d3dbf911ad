"""Events: told from what the journals say, each once, whichever supervisor comes to tell it.

An event says how far into the session's journals it goes, so that the next supervisor knows where to go on.
"""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any, Protocol

from orchctl.log.event_journal import EventStore
from orchctl.log.journal import Decoded, Record
from orchctl.log.session_files import Spec
from orchctl.session.run import Run
from orchctl.session.tale import Tale
from orchctl.supervisor.change import News

log = logging.getLogger(__name__)
Event = dict[str, Any]
WORD, WORDS = 1024, 16  # of a command line in an event; `spec.json` has all of it


class ToldSession(Protocol):
    """A session that something is told of."""

    spec: Spec
    run: Run


class JournalledSession(ToldSession, Protocol):
    """The same, whose own journals are told."""

    mixed: bool  # its two journals are told in the order of time

    @property
    def is_server(self) -> bool: ...
    @property
    def prompts(self) -> bool: ...
    def no_further_than(self, run: int, commands: int) -> tuple[int, int]: ...
    def read_journal(self, offset: int) -> Decoded: ...
    def read_commands(self, offset: int) -> Decoded: ...
    def events_of(self, record: Record) -> list[Event]: ...


class Teller:
    """The one writer of events."""

    def __init__(self, events: EventStore) -> None:
        self.events = events
        self.news = News()
        self._tales: dict[str, tuple[Tale, int, int]] = {}

    def catch_up(self, session: JournalledSession) -> bool:
        """Tell what the session's journals say and nobody has told; False when the disk does not take it now."""
        if session.is_server:  # what becomes of conversations on it is told by theirs
            return True
        session_id = session.spec.id
        told = self.events.told.get(session_id)
        if told is not None and session_id not in self._tales:  # power loss may take from a journal what was told
            told = self.events.told[session_id] = session.no_further_than(*told)
        told_run, told_commands = told or (0, 0)
        tale, run_at, commands_at = self._tales.get(session_id) or (Tale(prompts=session.prompts), 0, 0)
        events: list[Event] = [] if told is not None else [_created(session)]
        runs, commands = session.read_journal(run_at), session.read_commands(commands_at)
        for record, end, second in _in_order(runs, commands, mixed=session.mixed):
            found = session.events_of(record) if second else tale.of_run(record)
            if not found or end <= (told_commands if second else told_run):
                continue
            before = [told_run, told_commands]
            told_run, told_commands = (told_run, end) if second else (end, told_commands)
            events += [event | {"told": before} for event in found[:-1]]
            events.append(found[-1] | {"told": [told_run, told_commands]})
        self._tales[session_id] = (tale, runs.next_offset, commands.next_offset)
        if events and not self._append(session, events):
            del self._tales[session_id]  # all of it again, when there is room
            return False
        return True

    def say(self, session: ToldSession, kind: str, **fields: Any) -> None:
        """Tell what no journal says; done without when the disk is full."""
        self._append(session, [{"type": kind, **fields}])

    def announce(self, kind: str, *, managed_by: str | None, who: str | None, **fields: Any) -> bool:
        """Tell what is about no session, or about one that never came to be."""
        return self._write([{"session": None, "managed_by": managed_by, "who": who, "type": kind, **fields}])

    def forget(self, session_id: str) -> None:
        """The session is over, and everything about it is told."""
        self._tales.pop(session_id, None)
        self.events.forget(session_id)

    def remember(self, session: JournalledSession) -> None:
        """The session goes on; what its journals say up to here was told."""
        self.events.told[session.spec.id] = session.no_further_than(1 << 62, 1 << 62)

    def retain(self, now: float) -> None:
        """Drop events that are too old or too many, and say so."""
        dropped = self.events.retain(now)
        if dropped is not None:
            self.events.append([{"type": "gap", "session": None, "first_seq": dropped[0], "end_seq": dropped[1]}], now)
            self.news.tell()

    def _append(self, session: ToldSession, events: list[Event]) -> bool:
        spec = session.spec
        common = {
            "session": spec.id,
            "run": max(1, session.run.number),
            "managed_by": spec.managed_by,
            "backend": spec.backend,
        }
        return self._write([{**common, "who": spec.managed_by, **event} for event in events])

    def _write(self, events: list[Event]) -> bool:
        try:
            self.events.append(events, time.time())
        except OSError as error:
            log.warning("events cannot be written: %s", error.strerror)
            return False
        self.news.tell()
        return True


def _in_order(runs: Decoded, seconds: Decoded, *, mixed: bool) -> Iterator[tuple[Record, int, bool]]:
    """The records of both journals, where each ends, and whether it is of the second; what an agent did by its time."""
    first = [(record, end, False) for record, end in zip(runs.records, runs.ends, strict=True)]
    second = [(record, end, True) for record, end in zip(seconds.records, seconds.ends, strict=True)]
    return heapq.merge(first, second, key=lambda one: one[0].get("time", 0.0)) if mixed else chain(first, second)


def _created(session: ToldSession) -> Event:
    spec = session.spec
    return {
        "type": "session.state",
        "time": spec.created_at,
        "state": "idle",
        "name": spec.name,
        "command": [word[:WORD] for word in spec.command[:WORDS]],
        "cwd": spec.cwd,
        "told": [0, 0],
    }
