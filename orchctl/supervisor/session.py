"""One session as the supervisor holds it: its intent, its run so far, its pair, and who waits for news."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time

from orchctl.core import segments
from orchctl.core.run import Run
from orchctl.model.session import Output, Session, State
from orchctl.store.output import OutputLog
from orchctl.store.sessions import SessionStore, Spec
from orchctl.store.timeline import Timeline
from orchctl.supervisor.commands import Commands
from orchctl.supervisor.news import News
from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.readers import Readers

log = logging.getLogger(__name__)


class SupervisedSession:
    """Built from disk alone, so that the next supervisor can build it too."""

    def __init__(self, spec: Spec, store: SessionStore) -> None:
        self.spec = spec
        self.run = Run(cols=spec.cols, rows=spec.rows, prompts=spec.shell is not None)
        self.news = News()
        self.pair = PairLink(store.folder(spec.id), self.look)
        self.readers = Readers(self.pair, segments.size_for(spec.ring_bytes))
        self.commands: Commands | None = Commands(self, store.commands(spec.id)) if spec.shell else None
        self._store = store
        self._journal_end = 0
        self.look()

    @property
    def closed(self) -> bool:
        """Whether its newest run is over."""
        return self.run.state is State.CLOSED

    async def tend(self, first: socket.socket | None) -> None:
        """Hold on to the pair until it is gone, then see to it that the end is on record."""
        async with asyncio.TaskGroup() as tasks:
            if self.commands is not None:
                tasks.create_task(self.commands.tend(tasks))
            await self.pair.tend(first)
            self.look()
            if not self.closed and self.run.failure is None:
                self._lose()
            self.news.tell()

    def look(self) -> None:
        """Read what the pair has written since the last look."""
        found = self._store.read_journal(self.spec.id, self._journal_end)
        self._journal_end = found.next_offset
        if found.bad_lines:
            log.warning("session %s: %d bad lines in its journal", self.spec.id, found.bad_lines)
        for record in found.records:
            self.run.apply(record)
        self.news.tell()

    def prompted(self) -> None:
        """Its shell has shown its first prompt: written down, so that nobody has to look for it again."""
        with contextlib.suppress(OSError):
            self._store.append_journal(self.spec.id, {"type": "prompted", "time": time.time()})
        self.run.prompted()
        self.look()

    async def shown_end(self, log: OutputLog) -> int:
        """Up to where the log may be shown."""
        return log.end

    def timeline(self) -> Timeline:
        """When its output came."""
        return Timeline(self._store.folder(self.spec.id))

    def open_log(self) -> OutputLog:
        """Its output, to be closed by the caller."""
        return OutputLog(self._store.folder(self.spec.id))

    def view(self, *, with_output: bool = True) -> Session:
        """The session as everybody sees it; without a look at its output where only the name matters."""
        spec, run = self.spec, self.run
        return Session(
            id=spec.id,
            name=spec.name,
            backend=spec.backend,
            managed_by=spec.managed_by,
            cols=run.cols,
            rows=run.rows,
            cwd=spec.cwd,
            command=spec.command,
            repo=spec.repo,
            created_at=spec.created_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            state=run.state,
            is_alive=run.state in (State.BOOTSTRAPPING, State.LIVE),
            pid=run.pid,
            exit_code=run.exit_code,
            signal=run.signal,
            end_reason=run.end_reason,
            output_open=run.output_open,
            stalled=self.pair.stalled or None,
            output=self.open_log().extent() if with_output else Output(),
        )

    def _lose(self) -> None:
        """Both processes of the pair are gone and neither wrote the end down."""
        output = self.open_log().extent()
        record = {"type": "lost", "time": time.time(), "offset": output.next_offset}
        self._store.append_journal(self.spec.id, record)
        log.warning("session %s is lost: its keeper and mover are gone", self.spec.id)
        self.look()
