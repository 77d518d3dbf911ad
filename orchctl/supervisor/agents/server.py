"""One agent server: its raw log heard line by line, lines put on its stdin, and its end.

The process is a pair's like any other. A new supervisor hears its log again, from where no conversation had anything
open.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

from orchctl import procfs
from orchctl.agents.interface import Harness, Profile, Server
from orchctl.errors import Conflict
from orchctl.log.disk import REAL
from orchctl.log.reader import OutputLog
from orchctl.log.writer import SegmentWriter
from orchctl.pair import wire
from orchctl.session import environment, layout
from orchctl.session.events import AgentEvent, NeedsInput
from orchctl.supervisor.agents.conversation import Talk
from orchctl.supervisor.change import guarded
from orchctl.supervisor.terminal_session import TerminalSession

log = logging.getLogger(__name__)
ENDED = "the agent's server has ended"  # unless it is known why
PIECE_BYTES = 1 << 19  # of a line in one frame to the mover
STDOUT_BYTES = 1 << 16
READ_BYTES = 1 << 18
WATCH_S = 1.0
GRACE_S = 5.0
LONGEST_LINE = 64 << 20


class HearAgain(OSError):
    """What is on its way to it is not known any more: it is taken over as by a new supervisor."""


class HeldServer:
    """The host of one backend's `Server`, and all conversations on it."""

    def __init__(
        self, session: TerminalSession, harness: Harness, profile: Profile, notes: Mapping[str, str], folder: str
    ) -> None:
        self.session = session
        self.harness = harness
        self.profile = profile
        self.version: str | None = None
        self.known: dict[str, Any] = {}  # what is kept of it in `server.json`
        self.talks: dict[str, Talk] = {}
        self.greeted = asyncio.Event()  # it takes conversations
        self.greeted_once = False  # it came up, and may come up again
        self.ended = asyncio.Event()
        self.why = ENDED
        self.stopping = False  # it takes no more conversations
        self.idle_since = time.monotonic()
        self.replaying = False
        self.position = 0  # the raw log is heard up to here
        self._folder = folder
        self._heard: SegmentWriter | None = None
        self._outbox: deque[bytes] = deque()
        self._something = asyncio.Event()
        self._afterwards: list[Callable[[], None]] = []
        self._heard_at = time.monotonic()
        self._trouble: OSError | None = None
        self._stalled = ""
        self.backend: Server = harness.serve(self, profile, notes)

    @property
    def id(self) -> str:
        """Of its process's session."""
        return self.session.spec.id

    def runs(self, peer: int, session: str) -> bool:
        """Whether a process is one of that conversation's on this server."""
        pid = self.session.run.pid
        if pid is None or not procfs.descends_from(peer, pid):
            return False
        return is_own(session, procfs.told_below(peer, pid, environment.SESSION), self.talks.keys())

    # what a backend may call

    def ready(self, version: str | None) -> None:
        """It has said hello."""
        self.version = version
        self.greeted.set()

    def emit(self, session: str, *events: AgentEvent) -> None:
        """What a line means for a conversation."""
        if session not in self.talks or not (talk := self.talks[session]).heard(self.position, events, time.time()):
            return
        for one in events:
            if isinstance(one, NeedsInput) and one.request in talk.state.pending:
                request = talk.state.pending[one.request]
                self._afterwards.append(lambda talk=talk, request=request: talk.decide(request))  # type: ignore[misc]

    def write(self, line: bytes, session: str | None = None) -> None:
        """On its stdin, in order."""
        if self.replaying and session in self.talks and self.position <= self.talks[session].state.at:
            return
        self._outbox.append(line + b"\n")
        self._something.set()

    def keep_raw(self, payload: bytes) -> None:
        """What the backend fetched, heard as a line."""
        try:
            torn = b""
            if self._heard is None:
                self._heard = SegmentWriter(REAL, self._raw_folder + "/out", self.session.spec.ring_bytes, _forget)
                torn = b"\n" if self._is_torn(self._heard.end) else b""
            data = torn + payload.replace(b"\n", b" ") + b"\n"
            while data:
                data = data[self._heard.write(data) :]
            self._hear(payload, self._heard.end)
        except OSError as error:
            self.stumble(error)
            raise

    def _is_torn(self, end: int) -> bool:
        found = OutputLog(self._raw_folder)
        try:
            return end > 0 and found.read(end - 1, 1) not in (b"\n", b"")
        finally:
            found.close()

    def stumble(self, trouble: OSError) -> None:
        """Something cannot be written down now: all is heard again, when there is room."""
        self._trouble = self._trouble or trouble
        self.session.news.tell()

    def carry(self, before: HeldServer) -> None:
        """What another object for the same process was about to put on its stdin."""
        self._outbox.extend(before._outbox)
        self._something.set()

    def stdout(self) -> bytes:
        """The beginning of what it printed."""
        found = OutputLog(self._folder)
        try:
            return found.read(0, STDOUT_BYTES)
        finally:
            found.close()

    def broken(self, why: str) -> None:
        """It is of no more use."""
        log.warning("server %s: %s", self.id, why)
        self.why = why
        self.stopping = True
        self.session.pair.kill(0.0)

    # its life

    async def run(self, *, adopted: bool, silent_s: Callable[[], float]) -> None:
        """Until the process is gone, and everything it said is heard."""
        try:
            async with asyncio.TaskGroup() as tasks:
                if not adopted:
                    self.backend.begin()
                elif self.harness.speaks_on_stdout:
                    self._outbox.appendleft(b"\n")  # whoever held it last may have died in the middle of a line
                writing = tasks.create_task(self._write())
                watching = tasks.create_task(self._watch(silent_s))
                attending = asyncio.Event()
                own = tasks.create_task(self._attend(attending))
                await self._listen(adopted, attending)
                for task in (writing, watching, own):
                    task.cancel()
        finally:
            self.session.readers.gone(self)
            if self._heard is not None:
                self._heard.close()
            self.ended.set()
            self.greeted.set()

    def stop(self) -> None:
        """Nobody needs it."""
        self.why = "the agent's server was stopped"
        self.stopping = True
        self.session.pair.kill(GRACE_S)

    async def _attend(self, begun: asyncio.Event) -> None:
        await begun.wait()
        await guarded(f"server {self.id}", self.backend.attend())

    async def _listen(self, adopted: bool, attending: asyncio.Event) -> None:
        """Every line; those that were heard before first."""
        raw = OutputLog(self._folder if self.harness.speaks_on_stdout else self._raw_folder)
        lines = _Lines(self._replayed_from() if adopted else 0)
        self.position = lines.start
        self.replaying = adopted
        try:
            while True:
                ticket, closed = self.session.news.ticket, self.session.closed
                if self._trouble is not None:
                    raise self._trouble
                self._pass_on(self.session.pair.stalled)
                grew = self._hear_all(raw, lines) if self.harness.speaks_on_stdout or self.replaying else False
                if grew:
                    await asyncio.sleep(0)  # others are served too
                    continue
                if not attending.is_set():
                    self._caught_up(attending)
                    continue
                if closed:
                    return
                needed = (talk.needs_from(lines.start) for talk in self.talks.values())
                self.session.readers.at(self, min(needed, default=lines.start))  # as the next supervisor would
                self.session.pair.watch(lines.end)
                await ticket.wait()
        finally:
            raw.close()

    def _pass_on(self, stalled: str) -> None:
        """Its log takes no more, or does again: that is so for all conversations on it."""
        if stalled != self._stalled:
            self._stalled = stalled
            for talk in self.talks.values():
                talk.stall(stalled)

    def _replayed_from(self) -> int:
        """Where no conversation had anything open, or that is not on record."""
        latest = max((talk.state.at for talk in self.talks.values()), default=0)
        return min((talk.heard_from(latest) for talk in self.talks.values()), default=0)

    def _hear_all(self, raw: OutputLog, lines: _Lines) -> bool:
        """What there is now; whether there was anything."""
        data = raw.read(lines.end, READ_BYTES)
        if not data:
            gap = raw.gap(lines.end)
            if gap is None:
                return False
            log.warning("server %s: bytes %d to %d were dropped before they were heard", self.id, gap.first, gap.end)
            lines.skip_to(gap.end)
            self.position = gap.end
            for talk in self.talks.values():
                talk.miss(gap.first, gap.end)
            return True
        for line, end in lines.feed(data):
            self._hear(line, end)
        return True

    def _hear(self, line: bytes, end: int) -> None:
        self.position, self._heard_at = end, time.monotonic()
        try:
            self.backend.hear(line)
        except OSError:  # what it means cannot be written down now: all of it again, when there is room
            raise
        except Exception:  # one line that a backend cannot take must not cost all conversations
            log.exception("server %s: a line of %d bytes was not understood", self.id, len(line))
        while self._afterwards:
            self._afterwards.pop(0)()

    def _caught_up(self, attending: asyncio.Event) -> None:
        """The replay is over: what may have been lost is said again."""
        self.replaying = False
        attending.set()
        for talk in self.talks.values():
            talk.stall(self._stalled)
        for talk in self.talks.values():
            if talk.state.opened and not self.session.closed:
                talk.say_again()

    async def _write(self) -> None:
        while True:
            while self._outbox:
                await self._type(self._outbox.popleft())
            self._something.clear()
            await self._something.wait()

    async def _type(self, line: bytes) -> None:
        """A line that a dying mover may have typed in part is never typed again: the server passes over its half."""
        for at in range(0, len(line), PIECE_BYTES):
            piece = line[at : at + PIECE_BYTES]
            try:
                taken, _ = await self.session.pair.type(secrets.token_bytes(wire.ONCE_BYTES), piece, again=False)
            except Conflict as error:
                if error.code == "maybe-typed":
                    raise HearAgain(error.message) from None
                return
            if taken < len(piece):
                self.broken("the agent's server does not read what it is told")
                return

    async def _watch(self, silent_s: Callable[[], float]) -> None:
        """One that owes an answer and says nothing at all hangs."""
        owes_since: float | None = None
        while True:
            await asyncio.sleep(WATCH_S)
            now = time.monotonic()
            owes = self.backend.owes or any(talk.state.interrupting for talk in self.talks.values())
            owes_since = (owes_since or now) if owes else None
            if owes_since is not None and now - max(owes_since, self._heard_at) > silent_s():
                self.broken(f"the agent's server has said nothing for {silent_s():.0f} s, and owes an answer")
                return

    @property
    def _raw_folder(self) -> str:
        return f"{self._folder}/{layout.HEARD}"


class _Lines:
    """Lines out of bytes, and where in the log each of them ends."""

    def __init__(self, start: int) -> None:
        self.start = start  # of the line that is not whole yet
        self._buffer = bytearray()
        self._skipping = False

    @property
    def end(self) -> int:
        return self.start + len(self._buffer)

    def skip_to(self, offset: int) -> None:
        """Bytes are gone: what follows begins in the middle of a line."""
        self._buffer.clear()
        self.start, self._skipping = offset, True

    def feed(self, data: bytes) -> list[tuple[bytes, int]]:
        searched = len(self._buffer)
        self._buffer += data
        if len(self._buffer) > LONGEST_LINE and b"\n" not in data:
            self.skip_to(self.end)
            return []
        found = []
        begin = 0
        while (at := self._buffer.find(b"\n", max(begin, searched))) >= 0:
            found.append((bytes(self._buffer[begin:at]), self.start + at + 1))
            begin = at + 1
        del self._buffer[:begin]
        self.start += begin
        if self._skipping and found:
            self._skipping = False
            return found[1:]
        return found


def is_own(session: str, told: str | None, held: Collection[str]) -> bool:
    """Whether a command below a server that holds these conversations is of that one, by what it was told."""
    return told == session if told in held else set(held) == {session}


def _forget(first: int, end: int) -> None:
    """What is dropped of what a backend fetched is nobody's loss: the conversations have heard it."""
