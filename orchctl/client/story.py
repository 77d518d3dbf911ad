"""A conversation's events, with what was said in it, from one place in its output to another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from orchctl.client.events import EventReading
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Answer, ReadEvents, ReadOutput
from orchctl.session.model import EndReason, Session, State

Event = dict[str, Any]


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
        found = list(self._told(item))
        for event in found:
            if event["type"] == "session.state":
                self.session = _as_told(self.session, event)
        return self._over or self._ending.reached, found

    def _told(self, item: Answer | Data) -> Iterator[Event]:
        assert not isinstance(item, Data)
        return filter(self._ending.passes, self._hear(item))
