"""Which ended sessions go, and whose output: by name, by age, by size, and by the limits of the state directory."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable

from orchctl.core import layout
from orchctl.errors import Conflict
from orchctl.protocol.messages import Prune, Pruned
from orchctl.store import pruning
from orchctl.supervisor.app import Supervisor


class Pruning:
    """Looks at files in a worker thread; sizes of ended sessions are remembered while their last word is the same."""

    def __init__(self, app: Supervisor) -> None:
        self._app = app
        self._known: dict[str, tuple[float, int]] = {}  # when it ended, and how much output is left

    async def retain(self) -> None:
        """What the settings say: no session for longer, no more output in all."""
        settings = self._app.house.config
        await self.prune(Prune(older_than_s=settings.ended_s))
        live = [session for session in self._app.registry.held() if not session.over]
        sizes = {one.spec.id: await asyncio.to_thread(pruning.output_bytes, self._folder(one.spec.id)) for one in live}
        await self.prune(Prune(keep_bytes=max(0, settings.total_bytes - sum(sizes.values())), output=True))
        if sum(sizes.values()) > settings.total_bytes:
            share = settings.total_bytes // len(live)
            for session in live:
                if sizes[session.spec.id] > share:
                    session.pair.trim(share)

    async def prune(self, asked: Prune) -> Pruned:
        """Take away what is meant; what went, or would go."""
        live = []
        if asked.sessions:
            chosen = [self._app.registry.find(text, asked.own_manager) for text in asked.sessions]
            live = [session for session in chosen if not session.over]
            if live and not asked.output:
                name = live[0].run.name or live[0].spec.id
                raise Conflict(f"session {name} is not over; 'prune --output' takes its output alone", code="live")
            candidates = [session.spec.id for session in chosen if session.over]
        else:
            candidates = self._app.registry.archive.ids()
        known = await asyncio.to_thread(self._look, candidates)
        going = candidates if asked.sessions else _overdue(known, asked, time.time())
        count = sum(known[session][1] for session in going)
        shown = [session for session in going if not self._is_server(session)]
        for session in live:
            count += session.view().output.kept_bytes
            if not asked.dry_run:
                session.pair.trim(0)
        if not asked.dry_run:
            await asyncio.to_thread(self._take_away, going, asked.output)
        return Pruned(sessions=(*shown, *(session.spec.id for session in live)), output_bytes=count)

    def _is_server(self, session: str) -> bool:
        """An agent server's own goes like any other, and nobody ever saw it."""
        return os.path.exists(f"{self._folder(session)}/{layout.SERVER}")

    def _look(self, sessions: Iterable[str]) -> dict[str, tuple[float, int]]:
        for session in sessions:
            folder = self._folder(session)
            ended_at = pruning.ended_at(folder)  # a later run, or output that was taken away, has changed it
            if session not in self._known or self._known[session][0] != ended_at:
                self._known[session] = ended_at, pruning.output_bytes(folder)
        return {session: self._known[session] for session in sessions}

    def _take_away(self, sessions: list[str], output: bool) -> None:
        house = self._app.house
        for session in sessions:
            self._known.pop(session, None)
            if not output:
                self._app.registry.archive.remove(session)
                house.store.remove(session)
                continue
            pruning.drop_output(self._folder(session), time.time())
            view = house.ended.read(session)
            if view is not None:
                house.ended.put(view.without_output())
                self._app.registry.archive.add(session)

    def _folder(self, session: str) -> str:
        return self._app.house.store.folder(session)


def _overdue(known: dict[str, tuple[float, int]], asked: Prune, now: float) -> list[str]:
    """Those that ended too long ago, and the oldest of the others until the rest is small enough."""
    oldest_first = sorted(known, key=lambda session: known[session][0])
    going = [
        session
        for session in oldest_first
        if asked.older_than_s is not None and known[session][0] < now - asked.older_than_s
    ]
    if asked.keep_bytes is not None:
        rest = [session for session in oldest_first if session not in going]
        left = sum(known[session][1] for session in rest)
        for session in rest:
            if left <= asked.keep_bytes:
                break
            if known[session][1]:
                left -= known[session][1]
                going.append(session)
    return going
