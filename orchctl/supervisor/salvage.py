"""What can be known of a session whose `spec.json` is damaged, so that it is listed, read and ended all the same.

`run.jnl` names the program and its keeper. The event of its creation, where that is kept, has its name, its command
and its manager; else the kernel is asked. What nobody can tell any more is left at its default: such a session is not
started again, and takes no commands.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from orchctl.agents import registry
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader
from orchctl.log.journal import Record
from orchctl.log.session_files import SessionStore, Spec
from orchctl.pair import tree

COLS, ROWS = 80, 24
EVENTS = "events"
CREATED_S = 60.0  # a session is created so long before its program starts, at most
EVENTS_READ = 1000


def salvaged(store: SessionStore, session: str) -> Spec | None:
    """A spec made from the journals; None where not even a start is on record, or for a conversation with an agent."""
    starts = [one for one in store.read_journal(session).records if one.get("type") == "started"]
    if not starts or starts[-1].get("session", session) != session:
        return None
    began_at = float(starts[0].get("time", 0.0))
    told = _created(f"{store.state_dir}/{EVENTS}", session, began_at)
    if str(told.get("backend", "pty")) in registry.names():
        return None
    seen = _program(starts[-1])
    return Spec(
        id=session,
        command=tuple(map(str, told.get("command") or seen.get("command", ()))),
        cwd=str(told.get("cwd") or seen.get("cwd", "/")),
        cols=COLS,
        rows=ROWS,
        created_at=float(told.get("time", began_at)),
        name=told.get("name"),
        backend=str(told.get("backend") or seen.get("backend", "pty")),
        managed_by=str(told.get("managed_by", "user")),
    )


def _created(events: str, session: str, started_at: float) -> Record:
    """The event that told of its creation; empty where that is gone or damaged."""
    with contextlib.suppress(OSError):
        reader = EventReader(REAL, events)
        for event in reader.read(reader.seq_at(started_at - CREATED_S), EVENTS_READ):
            if event.get("session") == session and event.get("state") == "idle":
                return event
    return {}


def _program(started: Record) -> dict[str, Any]:
    """What the kernel tells of the program, if it still runs."""
    pid, ticks = started.get("pid"), started.get("ticks")
    if not isinstance(pid, int) or not ticks or tree.start_ticks(pid) != ticks:
        return {}
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
        with open(f"/proc/{pid}/stat", "rb") as file:
            terminal = int(file.read().rpartition(b")")[2].split()[4])
        return {
            "command": [os.fsdecode(word) for word in words],
            "cwd": os.readlink(f"/proc/{pid}/cwd"),
            "backend": "pty" if terminal else "pipe",
        }
    except (OSError, ValueError, IndexError):
        return {}
