"""Limits at the door: a session too many is refused before anything of it is made, and that is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from orchctl.errors import LimitReached
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import Spec
from orchctl.session import limits
from orchctl.session.limits import IDLE, TIME
from orchctl.session.model import Session
from orchctl.supervisor.context import House
from orchctl.supervisor.session import SupervisedSession

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


class LimitGuard:
    """Asks the settings as they are now."""

    def __init__(self, house: House) -> None:
        self._house = house

    def apply(self, spec: Spec) -> Spec:
        """The intent with the times that its manager's sessions may have at most."""
        set_now = self._house.config.limits
        time_s, _ = limits.longest(set_now, spec.managed_by, TIME)
        idle_s, _ = limits.longest(set_now, spec.managed_by, IDLE)
        return replace(
            spec,
            timeout_s=limits.bounded(spec.timeout_s, time_s),
            idle_s=limits.bounded(spec.idle_s, idle_s),
        )

    def check(self, manager: str, sessions: Iterable[SupervisedSession], archive: Archive) -> None:
        """Refuse one more session of this manager where that is too many."""
        set_now = self._house.config.limits
        output = limits.counts_output(set_now, manager)
        uses = [limits.Use(one.spec.managed_by, not one.closed, _kept(one) if output else 0) for one in sessions]
        if output:
            uses += [limits.Use(view.managed_by, False, view.output.kept_bytes) for view in archive.views()]
        broken = limits.refusal(set_now, manager, uses)
        if broken is not None:
            self._house.teller.announce(
                "limit",
                managed_by=manager,
                who=manager,
                limit=broken.kind,
                owner=broken.owner,
                value=broken.value,
                used=broken.used,
            )
            raise LimitReached(broken.message)


def _kept(session: SupervisedSession) -> int:
    return session.open_log().extent().kept_bytes
