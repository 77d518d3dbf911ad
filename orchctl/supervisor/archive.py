"""Sessions that are over: known by id, looked at when somebody asks, so that ten thousand of them cost nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from orchctl.log.retention import EndedStore
from orchctl.session.model import Session

SLICE = 64  # sessions that are read or taken away between two turns of the event loop


class Archive:
    """What is left of ended sessions."""

    def __init__(self, store: EndedStore, otherwise: Callable[[str], Session | None]) -> None:
        self._store = store
        self._otherwise = otherwise  # to know a session by, when its last word is damaged
        self._views: dict[str, Session | None] = {}

    def __contains__(self, session: str) -> bool:
        return session in self._views

    def __len__(self) -> int:
        return len(self._views)

    def add(self, session: str) -> bool:
        """Take it in, if it is over and done with."""
        if self._store.has(session):
            self._views[session] = None
        return session in self._views

    def remove(self, session: str) -> None:
        """It is no more."""
        self._views.pop(session, None)

    def view(self, session: str) -> Session | None:
        """As it was when it ended; None where that can no longer be read."""
        found = self._views.get(session)
        if found is None:
            found = self._store.read(session)
            if found is None or found.id != session:
                found = self._otherwise(session)
            self._views[session] = found
        return found

    async def read_ahead(self) -> None:
        """Have all of them in memory: read by a worker thread, a slice at a time, so that others are served too."""
        unread = [session for session, view in self._views.items() if view is None]
        for start in range(0, len(unread), SLICE):
            part = unread[start : start + SLICE]
            for session, view in zip(part, await asyncio.to_thread(self._read, part), strict=True):
                if view is not None and view.id == session and self._views.get(session, view) is None:
                    self._views[session] = view

    def _read(self, sessions: list[str]) -> list[Session | None]:
        return [self._store.read(session) for session in sessions]

    def ids(self, prefix: str = "") -> list[str]:
        """Those whose id begins so."""
        return [session for session in self._views if session.startswith(prefix)]

    def views(self, prefix: str = "") -> Iterator[Session]:
        """The same, in full; agent servers are nobody's sessions."""
        views = (self.view(session) for session in self.ids(prefix))
        return (view for view in views if view is not None and view.backend != "server")
