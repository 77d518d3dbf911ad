"""Retention: when a session ended and what its output takes, what is used in all, and dropping output.

What goes is written down before it goes. The ring of a live session is the mover's (`writer.py`); whole sessions and
totals are the supervisor's (`supervisor/prune.py`), by what is here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from orchctl import procfs
from orchctl.errors import PeerBroke
from orchctl.log import journal, segments, time_index
from orchctl.log.disk import REAL, Disk
from orchctl.log.journal import append
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import SessionStore
from orchctl.plain import from_plain, to_plain
from orchctl.session import layout
from orchctl.session.limits import Use
from orchctl.session.model import Session, State
from orchctl.session.run import Run


def drop_output(folder: str, now: float, disk: Disk = REAL) -> int:
    """Empty the log of a session that nobody writes any more; how many bytes went.

    The range is written down first. An empty segment stays, whose name says where the log had come to.
    """
    out = f"{folder}/{layout.OUTPUT}"
    extent = OutputLog(folder, disk).extent()
    if extent.kept_bytes == 0:
        return 0
    append(f"{folder}/{layout.JOURNAL}", _dropped(extent.first_offset, extent.next_offset, now), disk)
    starts = segments.starts(disk.names(out))
    disk.close(disk.open(f"{out}/{segments.name(extent.next_offset)}", create=True))
    for start in starts:
        disk.unlink(f"{out}/{segments.name(start)}")
        disk.unlink(f"{out}/{time_index.name(start)}")
    return extent.kept_bytes


def output_bytes(folder: str) -> int:
    """How much output of a session is on disk."""
    return OutputLog(folder).extent().kept_bytes


def ended_at(folder: str) -> float:
    """When the last word on a session was written; 0 where there is none."""
    try:
        return os.stat(f"{folder}/{layout.ENDED}").st_mtime
    except FileNotFoundError:
        return 0.0


def _dropped(first: int, end: int, now: float) -> dict[str, object]:
    return {"type": "dropped", "time": now, "first": first, "end": end}


class EndedStore:
    """All `ended.json` files below the sessions' directory."""

    def __init__(self, path: str) -> None:
        self._path = path

    def has(self, session: str) -> bool:
        """Whether the session is over and done with."""
        return os.path.lexists(self._file(session))

    def put(self, session: Session) -> None:
        """The session as it stays; by rename, so that it is whole or not there."""
        temporary = f"{self._file(session.id)}.new"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            file.write(journal.dump(to_plain(session)))
        os.rename(temporary, self._file(session.id))

    def read(self, session: str) -> Session | None:
        """The session as it was put; None where that cannot be read."""
        try:
            with open(self._file(session), "rb") as file:
                return from_plain(Session, journal.load(file.read()))
        except (OSError, ValueError, PeerBroke):
            return None

    def remove(self, session: str) -> None:
        """It is not over after all: another run follows."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._file(session))

    def _file(self, session: str) -> str:
        return f"{self._path}/{session}/{layout.ENDED}"


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
    found = procfs.start_ticks(run.pid)
    return run.state not in (State.IDLE, State.CLOSED) and found > 0 and (not ticks or found == ticks)
