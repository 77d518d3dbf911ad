"""What is done without being asked for: syncing once a second, and taking away what is too old or too much."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os

from orchctl.config import differences
from orchctl.log.disk import REAL
from orchctl.pair.daemon_io import follow_or_roll_log
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.change import guarded
from orchctl.supervisor.door import Door
from orchctl.supervisor.prune import Pruning
from orchctl.supervisor.session import SupervisedSession

log = logging.getLogger(__name__)
SYNC_S = WATCH_S = 1.0
RETAIN_EVERY = 10  # of those


class Upkeep:
    """Two tasks, for as long as the supervisor lives: on a slow disk syncing takes long, and others need not wait."""

    def __init__(self, app: Supervisor, door: Door) -> None:
        self._app = app
        self._door = door
        self._pruning = Pruning(app)
        self._config = app.house.config
        self._changed = 0  # when the directory of sessions had last changed, when it was last made safe
        self._looked = 0  # when it had last changed, when each folder in it was looked for

    async def watch(self) -> None:
        """Whether clients find us, and whether we know all sessions."""
        while True:  # at once, too: something may have been removed or replaced while the last supervisor died
            await guarded("the socket", self._door.check())
            await guarded("the sessions", self._look_for_sessions())
            await asyncio.sleep(WATCH_S)

    async def _look_for_sessions(self) -> None:
        with contextlib.suppress(OSError):
            changed = os.stat(self._app.root.sessions).st_mtime_ns
            if changed != self._looked and await self._app.registry.adopt_returned():
                self._looked = changed

    async def run(self) -> None:
        """For ever; what fails is tried again."""
        turn = 0
        await guarded("upkeep", asyncio.to_thread(self._app.house.store.clear))
        while True:
            await asyncio.sleep(SYNC_S)
            turn += 1
            await guarded("upkeep", self._do(retain=turn % RETAIN_EVERY == 0))

    async def _do(self, *, retain: bool) -> None:
        try:
            self._take_up_settings()
            await self._sync()
            if retain:
                follow_or_roll_log(self._app.root.path)
                for session in self._app.registry.held():
                    session.pair.check_socket()
                await self._pruning.retain()
                self._app.house.teller.retain(self._app.house.clock.now())
        except OSError as error:
            log.warning("upkeep: %s", error)

    def _take_up_settings(self) -> None:
        """What is not looked up when it is needed."""
        before, now = self._config, self._app.house.config
        if now == before:
            return
        self._config = now
        self._app.house.teller.events.keep(now.events_bytes, now.events_s)
        for session in self._app.registry.held():
            session.safety.strict = now.strict
        self._app.house.teller.announce(
            "input", managed_by=None, who=None, action="config", changed=differences(before, now)
        )

    async def _sync(self) -> None:
        self._app.registry.agents.tick()
        for session in self._app.registry.all():
            session.check_limits()
        for session in self._app.registry.held():
            if session.closed and session.pair.gone.is_set():
                await session.wrap_up()
                self._app.registry.put_away(session)
                continue
            if session.grew:
                await self._make_safe(session)
        if not self._app.house.teller.events.safe:
            await asyncio.to_thread(self._app.house.teller.events.sync)
        changed = os.stat(self._app.root.sessions).st_mtime_ns
        if changed != self._changed:
            await asyncio.to_thread(REAL.sync_folder, self._app.root.sessions)
            self._changed = changed

    async def _make_safe(self, session: SupervisedSession) -> None:
        """What is not safe is tried again, and what grows meanwhile is told of by the pair."""
        session.grew = False
        try:
            session.report(await session.safety.sync())
            session.pair.watch(session.safety.durable)
        except OSError as error:
            session.grew = True
            log.warning("session %s cannot be synced: %s", session.spec.id, error.strerror)
        session.tell()
