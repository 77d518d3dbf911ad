"""The last word on sessions that are over: `ended.json`, written once everything about a session is told and safe.

A session that has one is not looked at when a supervisor starts, however many there are.
"""

from __future__ import annotations

import contextlib
import os

from orchctl.errors import PeerBroke
from orchctl.log import journal
from orchctl.plain import from_plain, to_plain
from orchctl.session import layout
from orchctl.session.model import Session


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
