"""What each session takes of its manager's limits, by its files alone: no supervisor is needed for the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator

from orchctl.log.reader import OutputLog
from orchctl.log.session_files import SessionStore
from orchctl.session import layout
from orchctl.session.limits import Use
from orchctl.session.model import State
from orchctl.session.run import Run


def usage(root: str) -> Iterator[Use]:
    """Of every session whose spec can be read, live or ended."""
    store = SessionStore(f"{root}/sessions")
    try:
        ids = list(store.ids())
    except FileNotFoundError:
        return
    for session in ids:
        spec = store.read_spec(session)
        if spec is not None:
            kept = OutputLog(store.folder(session)).extent().kept_bytes
            yield Use(spec.managed_by, _lives(store, session), kept)


def _lives(store: SessionStore, session: str) -> bool:
    """Its journal tells of no end, and its program is there: nobody may have been left to write the end down."""
    if os.path.lexists(f"{store.folder(session)}/{layout.ENDED}"):
        return False
    run, ticks = Run(), None
    for record in store.read_journal(session).records:
        run.apply(record)
        ticks = record.get("ticks") if record.get("type") == "started" else ticks
    return run.state not in (State.IDLE, State.CLOSED) and _is_there(run.pid, ticks)


def _is_there(pid: int | None, ticks: object) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            found = int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return False
    return not ticks or found == ticks
