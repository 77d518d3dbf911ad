"""What is told by nobody's journal: events that are kept no longer."""

from __future__ import annotations

from pathlib import Path

from orchctl.log.disk import REAL
from orchctl.log.event_journal import EventStore
from orchctl.log.event_reader import EventReader
from orchctl.supervisor.events import Teller


def test_events_that_are_dropped_are_told_of_with_their_range(tmp_path: Path) -> None:
    store = EventStore(REAL, str(tmp_path), segment_bytes=1, keep_s=50)
    teller = Teller(store)
    for time in (100, 110, 120):
        store.append([{"type": "input"}], time)
    ticket = teller.news.ticket
    teller.retain(100)
    assert not ticket.is_set()
    teller.retain(1000)
    assert ticket.is_set()
    told = [event for event in EventReader(REAL, str(tmp_path)).read(0, 100) if event["type"] == "gap"]
    assert [(one["session"], one["first_seq"], one["end_seq"]) for one in told] == [(None, 1, 5)]
    store.close()
