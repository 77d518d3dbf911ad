"""One session as the supervisor holds it: its intent, its run so far, its pair, and who waits for news.

There are two kinds: a program below a pair (`terminal_session.py`) and a conversation with an agent
(`agent_session.py`). Here is what both share, and what everybody else may ask of either.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from orchctl.errors import Conflict
from orchctl.log import journal, segments
from orchctl.log.commands import CommandStore, TypedLog
from orchctl.log.disk import REAL
from orchctl.log.reader import OutputLog
from orchctl.log.recovery import recover
from orchctl.log.session_files import LeaseStore, Spec
from orchctl.log.sync import Safety
from orchctl.log.time_index import Timeline
from orchctl.protocol import messages
from orchctl.session import run as restarting
from orchctl.session import wait
from orchctl.session.agent import AgentState, Pending
from orchctl.session.command import Command
from orchctl.session.model import Output, Session, State, Waiting
from orchctl.session.run import Run
from orchctl.supervisor.agents.conversation import Talk
from orchctl.supervisor.change import News, kept_up
from orchctl.supervisor.context import House
from orchctl.supervisor.exec.running import Running
from orchctl.supervisor.lease import Leases
from orchctl.supervisor.pair import Pair
from orchctl.supervisor.request import Call, Readers

log = logging.getLogger(__name__)
LEFT_S = 2.0
DELETED_S = 20.0  # a folder that was moved away may come back
GONE = "its files are gone"
SERVER = "server"  # the backend of an agent server's own session, which nobody sees but `harness list`


Duties = dict[str, Callable[[], Coroutine[Any, Any, None]]]


class Launcher(Protocol):
    """What a session needs of whoever holds all of them, to begin."""

    async def fork(self, session: SupervisedSession, stdin: int | None) -> None:
        """Have a pair started for it, and looked after; returns once that has said hello, or is gone."""

    def tend(self, session: SupervisedSession) -> None:
        """Have it looked after."""

    def put(self, session: SupervisedSession) -> None:
        """This object stands for its id."""

    def drop(self, session: SupervisedSession) -> None:
        """Nothing is left of it."""


class SupervisedSession(ABC):
    """Built from disk alone, so that the next supervisor can build it too."""

    second_journal: str  # the file beside the pair's journal
    mixed: bool  # the events of both are told in the order of time

    def __init__(self, spec: Spec, house: House, pair: Pair, *, over: bool) -> None:
        self._house = house
        store = house.store
        self.spec = spec
        self.run = Run(cols=spec.cols, rows=spec.rows, prompts=self.prompts, name=spec.name, labels=dict(spec.labels))
        self.news = News()
        self.folder, self.state_dir = store.folder(spec.id), store.state_dir
        self.pair = pair
        self.leases = Leases(self, LeaseStore(self.folder), house.teller, over=over)
        self.readers = Readers(self.pair, segments.size_for(spec.ring_bytes))
        self.safety = Safety(store.folder(spec.id), strict=house.config.strict)
        self.typed_log = TypedLog(self.folder, spec.shell)
        self.over = over  # everything about it is told, and safe
        self._last_words = asyncio.Lock()
        self._superseded = False
        self.given_up = False  # no run follows, whatever its policy says
        self.grew = True  # something of it may not be safe from power loss yet
        self._unsure = False  # its log may have come through a power cut
        self._store = store
        self._journal_end = 0
        self._stalled = ""
        self._away_at: float | None = None  # since when its folder is missing, and its processes too
        self.deleted = False  # somebody deleted its files, and nothing can be told of its end

    def _read(self) -> None:
        """What its files tell; once it is built."""
        self.look()
        if self.closed:
            self.leases.forget()

    @property
    @abstractmethod
    def prompts(self) -> bool:
        """Whether it is live only once it takes commands: a shell of ours, or an agent."""

    # its beginning

    @abstractmethod
    async def start(self, launcher: Launcher, stdin: int | None) -> bool:
        """Begin it; False when the zygote died with the request in its hands. What cannot be begun leaves nothing.

        `stdin` is the program's, and closed here. A keeper that was asked for cannot be called back: this is carried
        through, whoever still listens.
        """

    @abstractmethod
    async def start_again(self, launcher: Launcher, before: SupervisedSession) -> None:
        """Another run, after that of another object; one that cannot be begun is closed, and says why."""

    @abstractmethod
    async def open(self) -> None:
        """Until it takes what is said to it."""

    @abstractmethod
    async def environment(self, asker: dict[str, str]) -> dict[str, str]:
        """For another run: that of this one, where it is kept; else of whoever asks."""

    # what is asked of it

    @abstractmethod
    async def exec(self, call: Call, request: messages.ExecCommand) -> None:
        """Run a command, or come back to it; answered by its output and then by how it ended."""

    @abstractmethod
    def spool(self, call: Call, request: messages.PutSpool) -> CommandStore:
        """Where a command finds what it is to read, and a long text of its own."""

    def command(self, exec_id: str) -> Running | None:
        """What its shell runs, or ran, by the id."""
        return None

    @abstractmethod
    async def interrupt_command(self, request: messages.InterruptCommand) -> str:
        """Take a command out of the queue, or interrupt it if it has begun; what became of it."""

    @abstractmethod
    def history(self) -> list[Command]:
        """Oldest first; what runs now is the last."""

    @abstractmethod
    async def send(self, request: messages.SendInput, data: bytes) -> None:
        """Until all of it was taken."""

    @abstractmethod
    async def interrupt(self, who: str) -> None:
        """End what it does now."""

    @abstractmethod
    async def control(self, request: messages.ControlSession) -> None:
        """Signals, sizes and pauses; until it is on record."""

    async def modes(self, echo: bool | None) -> int:
        """The local modes of its terminal; `echo` is set first."""
        raise Conflict("the session has no terminal", code="no-terminal")

    @abstractmethod
    async def first_prompt(self, text: str, *, once: str, who: str) -> None:
        """Say what it was begun for."""

    def pending(self) -> list[Pending]:
        """What its agent asks."""
        return []

    @abstractmethod
    def reply(self, request: messages.ReplyTo) -> Pending:
        """Reply to what its agent asks; what that was."""

    def refuse_own(self, call: Call, what: str) -> None:
        """With `own-session`, where the caller runs in it."""
        if self.runs_in(call.peer):
            raise Conflict(what, code="own-session")

    @abstractmethod
    def runs_in(self, peer: int) -> bool:
        """Whether a process is one of its own."""

    # what is waited for

    async def waiting(self) -> Waiting:
        """Whether it waits for input now."""
        return Waiting.NO if self.closed or self.run.paused else await self._waits()

    @abstractmethod
    async def _waits(self) -> Waiting: ...

    @abstractmethod
    def check_conditions(self, conditions: set[str], name: str) -> None:
        """Refuse those that can never hold in a session of its kind, which the asker calls by that name."""

    async def holds(self, condition: str, *, quiet: bool) -> bool:
        """Whether that is so now; `quiet` says whether it has been, for as long as was asked for."""
        if condition == "input":
            return await self.waiting() in wait.WAITS
        state = "closed" if condition == "exit" else condition.removeprefix(wait.STATE)
        return quiet if condition == "quiet" else self.run.state.value == state

    async def last_input(self, manager: str | None) -> int:
        """Where the output after the last input begins: that of one manager if known, else anybody's; else the run's.

        After a mover was killed, what was typed before is not known.
        """
        return self.run.start_offset

    # what there is to say of it

    def warnings(self) -> tuple[str, ...]:
        """What whoever begins it should know."""
        return ()

    def conversations(self) -> list[Talk]:
        """Those to be gone on with."""
        return []

    def agent_state(self) -> AgentState | None:
        """What there is to say of its agent."""
        return None

    @abstractmethod
    def check_limits(self) -> None:
        """Once a second: what no pair watches."""

    @property
    def is_server(self) -> bool:
        """Whether it is an agent server's own."""
        return self.spec.backend == SERVER

    @property
    def closed(self) -> bool:
        """Whether its newest run is over."""
        return self.run.state is State.CLOSED

    @property
    def stdin(self) -> str:
        """What its program reads: `open` while that is what is typed; a stdin handed over is read by one run alone."""
        if self.run.input_ended is not None:
            return "ended"
        return "null" if self.spec.stdin == "handed" and self.run.number > 1 else self.spec.stdin

    async def tend(self, first: socket.socket | None) -> None:
        """Hold on to the pair until it is gone, then see to it that the end is on record."""
        self._unsure = first is None
        async with asyncio.TaskGroup() as tasks:
            # a mistake in one of these must not cost us the pair, and one that fails is started again
            for name, duty in self._duties().items():
                tasks.create_task(kept_up(f"the {name} of session {self.spec.id}", partial(self._attend, duty)))
            await self.pair.tend(first)
            self.look()
            self.leases.wake()
            begun = first is None or self.run.started_at is not None  # else whoever asked for it tries again
            if begun and not self.closed and self.run.failure is None:
                await asyncio.to_thread(self._lose)
                self.look()
            self.news.tell()
        if not self.starts_again and not self.deleted:
            await self.wrap_up()

    def _duties(self) -> Duties:
        """What goes on beside the pair, for as long as it is there."""
        return {"lease": self.leases.tend}

    async def _attend(self, duty: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await self.pair.greeted.wait()  # before that, the end of the last run is all that is known
        self.look()
        await duty()

    @property
    def starts_again(self) -> bool:
        """Whether its policy wants another run."""
        run = self.run
        return (
            self.closed
            and self.pair.gone.is_set()
            and not self.given_up
            and restarting.again(self.spec.restart, run.exit_status, run.kill_reason, run.number)
        )

    async def wrap_up(self) -> None:
        """The last word on a session whose processes are gone; tried again later where the disk does not take it."""
        async with self._last_words:
            kept = self.over or self._superseded or self.starts_again or self.spec.remove
            if not kept and self.closed and self.pair.gone.is_set():
                await self._put_away()

    async def hand_over(self) -> None:
        """Another run follows, in the hands of another object: no last word on this one."""
        async with self._last_words:
            self._superseded = True

    async def _put_away(self) -> None:
        try:
            if self._unsure:
                await asyncio.to_thread(recover, REAL, self._store.folder(self.spec.id), now=time.time())
                self._unsure = False
            self.report(await self.safety.sync(closed=True))
            if self.safety.sealed and self._house.teller.catch_up(self):
                self._store.forget_environment(self.spec.id)
                self._house.ended.put(self.view())
                self._house.teller.forget(self.spec.id)
                self.over = True
        except OSError as error:
            log.warning("session %s cannot be put away: %s", self.spec.id, error.strerror)

    def report(self, suspects: list[tuple[int, str]]) -> None:
        """Say which segments the disk failed to make safe; the log goes on in another."""
        for start, error in suspects:
            self._house.teller.say(self, "error", code="suspect", message=f"byte {start} and after: {error}")
            self.pair.roll()

    def look(self) -> None:
        """Read what the pair has written since the last look."""
        self.grew = True
        found = self._store.read_journal(self.spec.id, self._journal_end)
        self._journal_end = found.next_offset
        if found.bad_lines:
            log.warning("session %s: %d bad lines in its journal", self.spec.id, found.bad_lines)
        for record in found.records:
            self.run.apply(record)
        if found.records:
            self.tell()
        if self.pair.stalled != self._stalled:
            self._stalled = self.pair.stalled
            said = f"the output cannot be written: {self._stalled}" if self._stalled else "the output is written again"
            if not self.is_server:  # the conversations on one tell it
                self._house.teller.say(self, "error", code="stalled" if self._stalled else "unstalled", message=said)
        if self.closed:
            self.leases.wake()
        self.news.tell()

    def tell(self) -> None:
        """What its journals say becomes events."""
        if (self.run.started_at is not None or self.closed) and not self.over:
            self._house.teller.catch_up(self)

    def no_further_than(self, run: int, commands: int) -> tuple[int, int]:
        """These places in its journals, or their ends."""
        run_size, commands_size = self._store.journal_sizes(self.spec.id, self.second_journal)
        return min(run, run_size), min(commands, commands_size)

    def read_journal(self, offset: int) -> journal.Decoded:
        """What its pair has written down."""
        return self._store.read_journal(self.spec.id, offset)

    @abstractmethod
    def read_commands(self, offset: int) -> journal.Decoded:
        """What was run in its shell, or said to its agent and by it."""

    def prompted(self) -> None:
        """Its shell has shown its first prompt: written down, so that nobody has to look for it again."""
        with contextlib.suppress(OSError):
            self._store.append_journal(self.spec.id, {"type": "prompted", "time": time.time()})
        self.run.prompted()
        self.look()

    def timeline(self) -> Timeline:
        """When its output came."""
        return Timeline(self._store.folder(self.spec.id))

    def open_log(self) -> OutputLog:
        """Its output, to be closed by the caller."""
        return OutputLog(self._store.folder(self.spec.id))

    @abstractmethod
    def events_of(self, record: journal.Record) -> list[dict[str, Any]]:
        """What one of those records means."""

    def text_of(self, log: OutputLog, first: int, end: int) -> tuple[str | None, int]:
        """As much of its output as one event has room for, where that is text; and where it ends."""
        return None, min(end, log.end)

    def told_up_to(self, last_s: float, first_s: float) -> int:
        """How much of its output belongs to what happened by then; the next event of its own is of `first_s`."""
        with contextlib.closing(self.open_log()) as output:
            return self.timeline().offset_at(last_s, output.end)

    @abstractmethod
    def raw_log(self) -> tuple[SupervisedSession, OutputLog]:
        """What was said on its behalf as it was said, to be closed by the caller; and whose output that is."""

    async def full_view(self) -> Session:
        """The same with what it left running, which only its pair can tell."""
        left: tuple[int, ...] = ()
        if self.closed and not self.pair.gone.is_set():
            with contextlib.suppress(Conflict, TimeoutError):
                async with asyncio.timeout(LEFT_S):  # a pair of an older version does not know the question
                    left = await self.pair.who_is_left()
        return self.view(leftover=left)

    def view(self, *, with_output: bool = True, leftover: tuple[int, ...] = ()) -> Session:
        """The session as everybody sees it; without a look at its output where only the name matters."""
        spec, run = self.spec, self.run
        return Session(
            id=spec.id,
            name=run.name,
            backend=spec.backend,
            managed_by=spec.managed_by,
            cols=run.cols if spec.backend == "pty" else None,
            rows=run.rows if spec.backend == "pty" else None,
            cwd=spec.cwd,
            command=spec.command,
            shell=spec.shell,
            stdin=self.stdin,
            repo=spec.repo,
            labels=run.labels,
            created_at=spec.created_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            run=max(1, run.number),
            restart=spec.restart,
            state=run.state,
            is_alive=run.state in (State.BOOTSTRAPPING, State.LIVE),
            pid=run.pid,
            exit_code=run.exit_code,
            signal=run.signal,
            end_reason=run.end_reason,
            output_open=run.output_open,
            paused=run.paused,
            degraded=run.degraded,
            leftover=leftover,
            timeout_s=spec.timeout_s,
            idle_s=spec.idle_s,
            bind_pid=spec.bind_pid,
            remove=spec.remove,
            uptime=self._uptime(),
            stalled=self.pair.stalled or (None if os.path.isdir(self.folder) else GONE),
            output=self.open_log().extent() if with_output else Output(),
            lease=self.leases.view(),
            agent=self.agent_state(),
        )

    def _uptime(self) -> float | None:
        run = self.run
        if run.started_at is None:
            return None
        return round(max(0.0, (time.time() if run.ended_at is None else run.ended_at) - run.started_at), 3)

    def now(self) -> float:
        """The time by which ages are measured."""
        return self._house.clock.now()

    def note(self, record: dict[str, Any]) -> None:
        """Write down what was decided about it; the journal is read by everybody who comes after us."""
        self._store.append_journal(self.spec.id, {**record, "time": time.time()})
        self.look()

    def _is_deleted(self) -> bool:
        """Whether its folder is gone for so long that it does not come back."""
        if os.path.isdir(self.folder):
            self._away_at = None
            return False
        now = time.monotonic()
        self._away_at = now if self._away_at is None else self._away_at
        self.deleted = now - self._away_at >= DELETED_S
        return self.deleted

    def _lose(self) -> None:
        """Both processes of the pair are gone and neither wrote the end down."""
        folder, now = self._store.folder(self.spec.id), time.time()
        if self._is_deleted():
            self.run.lose(now, 0)
            return
        try:
            end = recover(REAL, folder, now=now).end
        except OSError as error:
            log.warning("session %s cannot be recovered now: %s", self.spec.id, error.strerror)
            end, self._unsure = self.open_log().extent().next_offset, True
        self._store.append_journal(self.spec.id, {"type": "lost", "time": now, "offset": end})
        self._store.remove_socket(self.spec.id)
        log.warning("session %s is lost: its keeper and mover are gone", self.spec.id)
