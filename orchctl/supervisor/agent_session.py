"""A session that is a conversation on an agent's server: begun, taken over, held to its limits, ended through the API.

It has no pair of its own. What stands in the pair's place is `ConversationPair`: the supervisor itself keeps the
transcript and ends the conversation.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

from orchctl import procfs
from orchctl.errors import BadInput, Conflict, NoSuchSession, OrchctlError
from orchctl.log import journal
from orchctl.log.commands import CommandStore
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import ConversationStore, Spec
from orchctl.plain import to_plain
from orchctl.protocol import messages
from orchctl.session import layout
from orchctl.session.agent import Agent, AgentState, Pending
from orchctl.session.command import Command
from orchctl.session.model import State, Waiting
from orchctl.session.tale import of_conversation
from orchctl.supervisor.agents import programs, prompts
from orchctl.supervisor.agents.conversation import Talk
from orchctl.supervisor.agents.pool import Servers
from orchctl.supervisor.change import guarded
from orchctl.supervisor.clock import boot_id, boot_s
from orchctl.supervisor.context import House
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import Launcher, SupervisedSession

log = logging.getLogger(__name__)
INTERRUPTED_SHARE = 0.5  # of the grace period, for a turn to end by itself
LEAST_GRACE_S = 0.1
LIMIT_GRACE_S = 5.0  # for a conversation that has reached a limit
AGAIN_S = 1.0  # until a full disk is asked again
TEXT_BYTES = 1 << 14  # of a transcript in one event
INTERRUPTED_S = 5.0  # for the end of a turn that may be over already


class ConversationPair:
    """Stands in a pair's place. A conversation has no process, terminal or socket of its own."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self.stalled = ""
        self.greeted = asyncio.Event()
        self.gone = asyncio.Event()
        self.greeted.set()

    async def tend(self, first: socket.socket | None) -> None:
        """Until the conversation is over, and that is on record."""
        if self._session.closed:
            self.gone.set()
        await self.gone.wait()

    def kill(self, grace_s: float) -> None:
        """End the conversation."""
        self._session.end_soon(grace_s, "asked")

    def hold(self, offset: int | None) -> None:
        """Somebody reads the transcript."""
        self._session.talk.hold(offset)

    def trim(self, keep_bytes: int) -> None:
        """Keep no more of it."""
        self._session.talk.trim(keep_bytes)

    def roll(self) -> None:
        """Go on in another segment."""
        self._session.talk.roll()

    def watch(self, seen: int) -> None:
        """Whoever writes the transcript tells of it."""

    def fence(self, epoch: int) -> None:
        """Nothing is typed."""

    def signal_program(self, number: int) -> None:
        """There is none."""

    def check_socket(self) -> None:
        """There is none."""

    def processes(self) -> list[int]:
        """It has none."""
        return []

    async def sweep(self, since_ticks: int, number: int) -> int:
        """It has no processes."""
        return 0

    async def who_is_left(self) -> tuple[int, ...]:
        """What stays behind belongs to the server."""
        return ()


class AgentSession(SupervisedSession):
    """A conversation; `talk` is another object whenever it was read from its files again."""

    prompts = True
    second_journal, mixed = layout.HARNESS, True

    def __init__(self, spec: Spec, agent: Agent, house: House, servers: Servers, *, over: bool = False) -> None:
        super().__init__(spec, house, ConversationPair(self), over=over)
        self._servers = servers
        self._agent = agent
        self.talk = Talk(self, agent, self.folder)
        self._read()

    def conversations(self) -> list[Talk]:
        return [] if self.closed else [self.talk]

    def agent_state(self) -> AgentState:
        return self.talk.view()

    def warnings(self) -> tuple[str, ...]:
        held = self._servers.of(self.talk)
        return programs.untested(held.harness, held.version) if held is not None else ()

    # what is asked of it

    async def exec(self, call: Call, request: messages.ExecCommand) -> None:
        if (request.once or request.exec_id) not in self.talk.state.prompts:
            self.refuse_own(call, "an agent cannot be prompted in the turn that asks for it")
        await prompts.exec_prompt(call, self, request)

    def spool(self, call: Call, request: messages.PutSpool) -> CommandStore:
        return CommandStore(self.folder)

    async def interrupt_command(self, request: messages.InterruptCommand) -> str:
        if request.detach:
            return "over"
        await self.interrupt(request.own_manager)
        return "interrupted"

    def history(self) -> list[Command]:
        return [prompts.command(self, said) for said in self.talk.state.prompts.values()]

    async def send(self, request: messages.SendInput, data: bytes) -> None:
        if request.eof:
            raise BadInput("the input of an agent does not end; 'kill' ends the session", code="has-no-stdin")
        await prompts.send(self, data, whole=request.enter, once=request.once, who=request.own_manager)

    async def interrupt(self, who: str) -> None:
        self.talk.interrupt(who)

    async def control(self, request: messages.ControlSession) -> None:
        message = "the session is a conversation with an agent, not a program in a terminal"
        raise Conflict(message, code="not-a-program")

    async def first_prompt(self, text: str, *, once: str, who: str) -> None:
        await prompts.say(self, text, once=once, who=who)

    def pending(self) -> list[Pending]:
        return [prompts.pending(self, request) for request in self.talk.requests]

    def reply(self, request: messages.ReplyTo) -> Pending:
        if self.closed:
            raise NoSuchSession(f"the session {request.session!r} has ended", code="session-ended")
        chosen = prompts.chosen(self.talk, request)
        self.talk.reply(chosen.asked.request, prompts.reply_of(chosen, request), request.own_manager)
        return prompts.pending(self, chosen)

    def runs_in(self, peer: int) -> bool:
        held = self._servers.of(self.talk)
        return held is not None and held.runs(peer, self.spec.id)

    # what is waited for

    async def _waits(self) -> Waiting:
        return Waiting.YES if self.talk.requests else Waiting.NO if self.talk.state.busy else Waiting.PROMPT

    def check_conditions(self, conditions: set[str], name: str) -> None:
        """Each may hold."""

    async def holds(self, condition: str, *, quiet: bool) -> bool:
        if condition in ("turn", "command", "prompt"):
            return not self.talk.state.busy and self.run.state is State.LIVE
        if condition == "needs-input":
            return bool(self.talk.requests)
        return await super().holds(condition, quiet=quiet)

    # its beginning

    async def start(self, launcher: Launcher, stdin: int | None) -> bool:
        try:
            self._begin()
            await self.open()
        except BaseException:
            self._servers.release(self.talk)
            self.talk.close()
            launcher.drop(self)
            raise
        launcher.tend(self)
        return True

    async def start_again(self, launcher: Launcher, before: SupervisedSession) -> None:
        self._begin()
        launcher.tend(self)
        try:
            await self.open()
        except OrchctlError:
            self.talk.ending = True
            await self._close_when_possible("failed")
            raise

    def _begin(self) -> None:
        """It is there, and nothing of this run yet."""
        if self.closed:
            self.talk.roll()  # what the last run has said may be sealed
        started = {"type": "started", "pid": None, "offset": self.talk.end, "boot": boot_id(), "boot_s": boot_s()}
        self.note({**started, "spec": to_plain(self.spec)})

    async def open(self) -> None:
        if self.talk.trouble is not None and self.talk.holder is None:
            self.renew()
        await self._servers.connect(self.talk)

    def renew(self) -> Talk:
        """The same conversation as its files tell it, after they could not be written."""
        before = self.talk
        before.close()
        self.talk = Talk(self, self._agent, self.folder)
        self.talk.ending = before.ending
        return self.talk

    async def environment(self, asker: dict[str, str]) -> dict[str, str]:
        kept = self._store.read_environment(self.spec.id)
        return programs.check_again(self._house.config, self.spec, self._agent, asker, kept)

    # its end

    def end_soon(self, grace_s: float, reason: str) -> None:
        """Once; asking again changes nothing."""
        if not self.talk.ending:
            self.talk.ending = True
            self._servers.tasks.create_task(guarded(f"session {self.spec.id}", self._end(grace_s, reason)))

    async def _end(self, grace_s: float, reason: str) -> None:
        """Interrupt, close, and say that it is over, whatever the server says."""
        if self.closed:
            return
        with contextlib.suppress(OSError):
            self.note({"type": "kill", "reason": reason, "grace_s": grace_s})
        with contextlib.suppress(TimeoutError, OrchctlError, OSError):
            async with asyncio.timeout(max(LEAST_GRACE_S, grace_s)):
                await self._leave(self.talk, grace_s)
        await self._close_when_possible(None)

    async def _leave(self, talk: Talk, grace_s: float) -> None:
        holder = talk.holder
        if holder is None or not talk.state.opened:
            return
        if talk.interrupt(self.spec.managed_by):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s * INTERRUPTED_SHARE):
                    await self._until(talk, lambda: not talk.state.busy)
        holder.backend.close(talk.id)
        await self._until(talk, lambda: talk.state.closed)

    async def _until(self, talk: Talk, holds: Callable[[], bool]) -> None:
        """Until the server has said so, or is gone."""
        while not holds():
            ticket = self.news.ticket
            if talk.holder is None:
                raise NoSuchSession("the server is gone", code="server-gone")
            await ticket.wait()

    async def _close_when_possible(self, reason: str | None) -> None:
        """Its end is on record first of all; a full disk is asked again."""
        while not self.closed:
            try:
                self._close(reason)
            except OSError as error:
                self.talk.stall(error.strerror or "the disk does not take it")
                await asyncio.sleep(AGAIN_S)
                self.renew()  # its server has let it go, and reads it no more

    def _close(self, reason: str | None) -> None:
        self._servers.release(self.talk)
        self.talk.left("the session was ended")
        self.talk.close()
        self.note({"type": "closed", "offset": self.talk.end, **({"reason": reason} if reason else {})})
        self.talk.close()
        self.pair.gone.set()
        self.news.tell()

    # its limits

    def check_limits(self) -> None:
        talk, spec, answer_s = self.talk, self.spec, self._house.config.server_answer_s
        if self.closed or talk.ending:
            return
        if spec.timeout_s is not None and self._age_s() >= spec.timeout_s:
            self.end_soon(LIMIT_GRACE_S, "timeout")
        elif spec.idle_s is not None and boot_s() - talk.active_at >= spec.idle_s:
            self.end_soon(LIMIT_GRACE_S, "idle-timeout")
        elif talk.state.current is not None and talk.is_unheard(answer_s):
            talk.give_up_on_prompt()
        elif talk.state.missed:
            self._doubt(talk, answer_s)
        elif spec.bind_pid is not None and (procfs.start_ticks(spec.bind_pid) or None) != spec.bind_ticks:
            self.end_soon(LIMIT_GRACE_S, "bound")

    def _doubt(self, talk: Talk, answer_s: float) -> None:
        """A turn whose end may be lost: when it is silent it is interrupted, and given up if that is not answered."""
        silent_s = boot_s() - talk.active_at
        if talk.state.interrupting and silent_s > INTERRUPTED_S:
            talk.give_up_on_turn()
        elif talk.requests:
            return  # it waits for a human
        elif not talk.state.interrupting and silent_s > answer_s:
            talk.interrupt(self.spec.managed_by)

    def _age_s(self) -> float:
        """How long it has lasted; by the wall clock only if an older version began it."""
        run = self.run
        if run.started_boot is not None and run.started_boot[0] == boot_id():
            return boot_s() - run.started_boot[1]
        return 0.0 if run.started_at is None else time.time() - run.started_at

    # what it has written

    def read_commands(self, offset: int) -> journal.Decoded:
        return ConversationStore(self.folder).read(offset)

    def events_of(self, record: journal.Record) -> list[dict[str, Any]]:
        return of_conversation(record)

    def text_of(self, log: OutputLog, first: int, end: int) -> tuple[str | None, int]:
        data = log.span(first, min(end, first + TEXT_BYTES))
        text, used = codecs.utf_8_decode(data, "replace", first + len(data) >= end)
        return text, first + used

    def told_up_to(self, last_s: float, first_s: float) -> int:
        before = [record for record in self.read_commands(0).records if record.get("time", 0.0) < first_s]
        events = (event for record in before for event in of_conversation(record))
        return max((event["offset"] for event in events if "offset" in event), default=0)

    def raw_log(self) -> tuple[SupervisedSession, OutputLog]:
        server = self.talk.state.last_server
        session = self._servers.fetch(server) if server is not None else None
        if session is None:
            raise NoSuchSession("what the agent's server said is no longer kept", code="no-raw-log")
        speaks = programs.find(self.spec.backend).speaks_on_stdout
        return session, OutputLog(session.folder if speaks else f"{session.folder}/{layout.HEARD}")
