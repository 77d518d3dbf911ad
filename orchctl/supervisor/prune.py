"""Which ended sessions go, and whose output: by name, by age, by size, and by the limits of the state directory."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from orchctl.errors import Conflict, NoSuchSession
from orchctl.log import retention
from orchctl.protocol.messages import Prune, Pruned
from orchctl.session import layout
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.limits import SLICE
from orchctl.supervisor.session import SupervisedSession


class _Ended(NamedTuple):
    """What is known of an ended session."""

    at: float
    output_bytes: int
    server: bool  # an agent server's own: it goes like any other, and nobody ever saw it


class Pruning:
    """Looks at files and takes them away in a worker thread, a slice of sessions at a time.

    Between two slices everybody else is served, and which sessions there are changes on the event loop alone: one is
    out of the archive before its files go, so that nobody starts it again meanwhile. What is known of ended sessions
    is remembered while their last word is the same.
    """

    def __init__(self, app: Supervisor) -> None:
        self._app = app
        self._known: dict[str, _Ended] = {}

    async def retain(self) -> None:
        """What the settings say: no session for longer, no more output in all."""
        settings = self._app.house.config
        await self.prune(Prune(older_than_s=settings.ended_s))
        live = [session for session in self._app.registry.held() if not session.over]
        sizes = await asyncio.to_thread(self._sizes, [session.spec.id for session in live])
        await self.prune(Prune(keep_bytes=max(0, settings.total_bytes - sum(sizes.values())), output=True))
        if sum(sizes.values()) > settings.total_bytes:
            share = settings.total_bytes // len(live)
            for session in live:
                if sizes[session.spec.id] > share:
                    session.pair.trim(share)

    async def prune(self, asked: Prune) -> Pruned:
        """Take away what is meant; what went, or would go."""
        live, candidates = await self._chosen(asked) if asked.sessions else ([], self._app.registry.archive.ids())
        known = await self._look(candidates)
        if asked.sessions and (servers := [session for session in candidates if known[session].server]):
            raise NoSuchSession(f"no session goes by {servers[0]!r}")
        going = candidates if asked.sessions else _overdue(known, asked, self._app.house.clock.now())
        count = sum(known[session].output_bytes for session in going)
        shown = [session for session in going if not known[session].server]
        for session in live:
            count += session.view().output.kept_bytes
            if not asked.dry_run:
                session.pair.trim(0)
        if not asked.dry_run:
            await self._take_away(going, asked.output)
        return Pruned(sessions=(*shown, *(session.spec.id for session in live)), output_bytes=count)

    async def _chosen(self, asked: Prune) -> tuple[list[SupervisedSession], list[str]]:
        """Of those named, the live ones, and the ids of the others; a name that is no id has the archive read."""
        registry = self._app.registry
        if not all(text in registry.archive for text in asked.sessions):
            await registry.archive.read_ahead()
        live, ended = dict[str, SupervisedSession](), dict[str, None]()
        for number, text in enumerate(asked.sessions, 1):
            if text in registry.archive:
                ended[text] = None
            elif (session := registry.find(text, asked.own_manager)).over:
                ended[session.spec.id] = None
            else:
                live[session.spec.id] = session
            if number % SLICE == 0:
                await asyncio.sleep(0)
        if live and not asked.output:
            first = next(iter(live.values()))
            name = first.run.name or first.spec.id
            raise Conflict(f"session {name} is not over; 'prune --output' takes its output alone", code="live")
        return list(live.values()), list(ended)

    async def _look(self, sessions: list[str]) -> dict[str, _Ended]:
        for part in _slices(sessions):
            await asyncio.to_thread(self._look_at, part)
        return {session: self._known[session] for session in sessions}

    def _look_at(self, sessions: list[str]) -> None:
        for session in sessions:
            folder = self._folder(session)
            at = retention.ended_at(folder)  # a later run, or output that was taken away, has changed it
            if session not in self._known or self._known[session].at != at:
                server = os.path.exists(f"{folder}/{layout.SERVER}")
                self._known[session] = _Ended(at, retention.output_bytes(folder), server)

    def _sizes(self, sessions: list[str]) -> dict[str, int]:
        return {session: retention.output_bytes(self._folder(session)) for session in sessions}

    async def _take_away(self, sessions: list[str], output: bool) -> None:
        archive = self._app.registry.archive
        for part in _slices(sessions):
            still = [session for session in part if session in archive]  # others run again, or went meanwhile
            for session in still:
                self._known.pop(session, None)
                if not output:
                    archive.remove(session)
            await asyncio.to_thread(self._drop_output if output else self._remove, still)
            for session in still if output else []:
                archive.add(session)

    def _remove(self, sessions: list[str]) -> None:
        for session in sessions:
            self._app.house.store.remove(session)

    def _drop_output(self, sessions: list[str]) -> None:
        ended = self._app.house.ended
        for session in sessions:
            retention.drop_output(self._folder(session), time.time())
            view = ended.read(session)
            if view is not None:
                ended.put(view.without_output())

    def _folder(self, session: str) -> str:
        return self._app.house.store.folder(session)


def _slices(sessions: list[str]) -> Iterator[list[str]]:
    return (sessions[start : start + SLICE] for start in range(0, len(sessions), SLICE))


def _overdue(known: dict[str, _Ended], asked: Prune, now: float) -> list[str]:
    """Those that ended too long ago, and the oldest of the others until the rest is small enough."""
    oldest_first = sorted(known, key=lambda session: known[session].at)
    limit = -math.inf if asked.older_than_s is None else now - asked.older_than_s
    going = [session for session in oldest_first if known[session].at < limit]
    if asked.keep_bytes is not None:
        rest = oldest_first[len(going) :]
        left = sum(known[session].output_bytes for session in rest)
        for session in rest:
            if left <= asked.keep_bytes:
                break
            if known[session].output_bytes:
                left -= known[session].output_bytes
                going.append(session)
    return going
