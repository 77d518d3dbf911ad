"""The life of harness sessions: begun, taken over, held to their limits, and ended through their server's API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchctl import procfs
from orchctl.agents.interface import Opening
from orchctl.errors import BadInput, NoSuchSession, OrchctlError
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import Spec
from orchctl.plain import to_plain
from orchctl.session import layout
from orchctl.session.agent import Agent, Permission
from orchctl.session.run import Run
from orchctl.supervisor.agents import programs
from orchctl.supervisor.agents.conversation import Talk
from orchctl.supervisor.agents.pool import Servers
from orchctl.supervisor.change import guarded
from orchctl.supervisor.clock import boot_id, boot_s
from orchctl.supervisor.session import SupervisedSession

if TYPE_CHECKING:
    from orchctl.protocol.messages import SpawnSession
    from orchctl.supervisor.context import House

log = logging.getLogger(__name__)
INTERRUPTED_SHARE = 0.5  # of the grace period, for a turn to end by itself
LEAST_GRACE_S = 0.1
AGAIN_S = 1.0  # until a full disk is asked again
INTERRUPTED_S = 5.0  # for the end of a turn that may be over already
AGENT = "agent"  # what clients say in place of a command


class Lives:
    """All harness sessions of one supervisor."""

    def __init__(
        self,
        house: House,
        tasks: asyncio.TaskGroup,
        start: Callable[[Spec, dict[str, str], Callable[[str], None]], Any],
        fetch: Callable[[str], SupervisedSession | None],
    ) -> None:
        self._house = house
        self._tasks = tasks
        self._fetch = fetch
        self.servers = Servers(house, tasks, start, fetch, self._renewed)

    def resolved(self, asked: SpawnSession) -> SpawnSession:
        """The same with its backend: where only a profile is given, that says which."""
        if asked.backend:
            return asked
        profile = self._house.config.profiles.get(asked.profile or "")
        if profile is None:
            raise programs.unknown_profile(self._house.config, asked.profile or "")
        return replace(asked, backend=profile.harness)

    def checked(self, asked: SpawnSession) -> tuple[Agent, dict[str, str]]:
        """What is asked for, if it can be; and what its server gets of the environment. Nothing is started."""
        harness = programs.find(asked.backend)
        profile = programs.profile_of(self._house.config, harness.name, asked.profile)
        if asked.command not in ((), (AGENT,)):
            raise BadInput(f"a session with {harness.name} has no command; a prompt goes with --prompt", code="usage")
        if asked.permission is not None and asked.permission not in list(Permission):
            raise BadInput(f"{asked.permission!r} is none of ask, allow and deny", code="bad-permission")
        if asked.restart != "no":
            raise BadInput(
                f"{harness.name} sessions are resumed by themselves; --restart is not for them", code="usage"
            )
        permission = Permission(asked.permission) if asked.permission else profile.permission or Permission.ASK
        if not os.path.isdir(asked.cwd):
            raise BadInput(f"cannot start in {asked.cwd!r}: no such directory", code="bad-cwd")
        env = programs.environment(harness, profile, asked.env, asked.given)
        programs.installed(harness, profile, env.get("PATH", os.defpath))
        agent = Agent(
            profile=profile.name, model=asked.model or profile.model, permission=permission, resume=asked.resume
        )
        opening = Opening(session=asked.session_id, cwd=asked.cwd, permission=permission, model=agent.model)
        harness.check(profile, opening)
        return agent, env

    def check_again(
        self, spec: Spec, agent: Agent, asker: dict[str, str], kept: dict[str, str] | None
    ) -> dict[str, str]:
        """What its server gets of the environment in another run, if there can be one. Nothing is started."""
        harness = programs.find(spec.backend)
        profile = programs.profile_of(self._house.config, harness.name, agent.profile)
        if not os.path.isdir(spec.cwd):
            raise BadInput(f"cannot start in {spec.cwd!r}: no such directory", code="bad-cwd")
        env = kept or programs.environment(harness, profile, asker, {})
        programs.installed(harness, profile, env.get("PATH", os.defpath))
        return env

    def begin(self, session: SupervisedSession) -> None:
        """It is there, and nothing of this run yet."""
        talk = session.talk
        if talk is not None and session.closed:
            talk.roll()  # what the last run has said may be sealed
        offset = talk.end if talk is not None else 0
        started = {"type": "started", "pid": None, "offset": offset, "boot": boot_id(), "boot_s": boot_s()}
        session.note({**started, "spec": to_plain(session.spec)})

    async def fail(self, talk: Talk) -> None:
        """It could not be resumed."""
        talk.ending = True
        await self._close_when_possible(talk.session, "failed")

    def hold(self, session: SupervisedSession) -> None:
        """Have it ended by whoever asks for it, and read by whoever does."""
        talk, unpaired = session.talk, session.unpaired
        if talk is None or unpaired is None:
            return
        unpaired.held, unpaired.trimmed, unpaired.rolled = talk.hold, talk.trim, talk.roll
        unpaired.killed = lambda grace_s: self.end_soon(talk, grace_s, "asked")
        if session.closed:
            unpaired.ended.set()

    def adopt(self, sessions: list[SupervisedSession]) -> None:
        """Go on with what the last supervisor had."""
        self.servers.adopt(sessions)

    def _renewed(self, talk: Talk) -> Talk:
        """The same conversation as its files tell it, after they could not be written."""
        session = talk.session
        talk.close()
        session.talk = fresh = Talk(session, talk.agent, self._house.store.folder(talk.id))
        fresh.ending = talk.ending
        self.hold(session)
        return fresh

    async def open(self, talk: Talk) -> Talk:
        """Until it takes prompts; the conversation as it is then."""
        if talk.trouble is not None and talk.holder is None and talk.session.talk is talk:
            talk = self._renewed(talk)
        await self.servers.connect(talk)
        return talk

    def warnings(self, talk: Talk) -> tuple[str, ...]:
        """What whoever begins it should know."""
        held = self.servers.of(talk)
        return programs.untested(held.harness, held.version) if held is not None else ()

    def raw(self, talk: Talk) -> tuple[SupervisedSession, OutputLog]:
        """What the server that holds it, or held it last, has said."""
        server = talk.state.last_server
        session = self._fetch(server) if server is not None else None
        if session is None:
            raise NoSuchSession("what the agent's server said is no longer kept", code="no-raw-log")
        folder = self._house.store.folder(session.spec.id)
        heard = f"{folder}/{layout.HEARD}"
        speaks = programs.find(talk.session.spec.backend).speaks_on_stdout
        return session, OutputLog(folder if speaks else heard)

    def end_soon(self, talk: Talk, grace_s: float, reason: str) -> None:
        """Once; asking again changes nothing."""
        if not talk.ending:
            talk.ending = True
            self._tasks.create_task(guarded(f"session {talk.id}", self._end(talk, grace_s, reason)))

    async def _end(self, talk: Talk, grace_s: float, reason: str) -> None:
        """Interrupt, close, and say that it is over, whatever the server says."""
        session = talk.session
        if session.closed:
            return
        with contextlib.suppress(OSError):
            session.note({"type": "kill", "reason": reason, "grace_s": grace_s})
        with contextlib.suppress(TimeoutError, OrchctlError, OSError):
            async with asyncio.timeout(max(LEAST_GRACE_S, grace_s)):
                await self._leave(talk, grace_s)
        await self._close_when_possible(session, None)

    async def _close_when_possible(self, session: SupervisedSession, reason: str | None) -> None:
        """Its end is on record first of all; a full disk is asked again."""
        while session.talk is not None and not session.closed:
            try:
                self._close(session.talk, reason)
            except OSError as error:
                session.talk.stall(error.strerror or "the disk does not take it")
                await asyncio.sleep(AGAIN_S)
                self._renewed(session.talk)  # its server has let it go, and reads it no more

    def _close(self, talk: Talk, reason: str | None) -> None:
        session = talk.session
        self.servers.release(talk)
        talk.left("the session was ended")
        talk.close()
        session.note({"type": "closed", "offset": talk.end, **({"reason": reason} if reason else {})})
        talk.close()
        if session.unpaired is not None:
            session.unpaired.ended.set()
            session.unpaired.gone.set()
        session.news.tell()

    async def _leave(self, talk: Talk, grace_s: float) -> None:
        holder = talk.holder
        if holder is None or not talk.state.opened:
            return
        if talk.interrupt(talk.session.spec.managed_by):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s * INTERRUPTED_SHARE):
                    await _until(talk, lambda: not talk.state.busy)
        holder.backend.close(talk.id)
        await _until(talk, lambda: talk.state.closed)

    def tick(self, sessions: list[SupervisedSession]) -> None:
        """Once a second: the limits that a pair would watch, and servers that nobody needs."""
        self.servers.tick()
        for session in sessions:
            talk, spec = session.talk, session.spec
            if talk is None or session.closed or talk.ending:
                continue
            if spec.timeout_s is not None and _age_s(session.run) >= spec.timeout_s:
                self.end_soon(talk, 5.0, "timeout")
            elif spec.idle_s is not None and boot_s() - talk.active_at >= spec.idle_s:
                self.end_soon(talk, 5.0, "idle-timeout")
            elif talk.state.current is not None and talk.is_unheard(self._house.config.server_answer_s):
                talk.give_up_on_prompt()
            elif talk.state.missed:
                self._doubt(talk)
            elif spec.bind_pid is not None and _ticks(spec.bind_pid) != spec.bind_ticks:
                self.end_soon(talk, 5.0, "bound")

    def _doubt(self, talk: Talk) -> None:
        """A turn whose end may be lost: when it is silent it is interrupted, and given up if that is not answered."""
        silent_s = boot_s() - talk.active_at
        if talk.state.interrupting and silent_s > INTERRUPTED_S:
            talk.give_up_on_turn()
        elif any(one.reply is None for one in talk.state.pending.values()):
            return  # it waits for a human
        elif not talk.state.interrupting and silent_s > self._house.config.server_answer_s:
            talk.interrupt(talk.session.spec.managed_by)


async def _until(talk: Talk, holds: Callable[[], bool]) -> None:
    """Until the server has said so, or is gone."""
    while not holds():
        ticket = talk.session.news.ticket
        if talk.holder is None:
            raise NoSuchSession("the server is gone", code="server-gone")
        if holds():
            return
        await ticket.wait()


def _age_s(run: Run) -> float:
    """How long a conversation has lasted; by the wall clock only for one that an older version began."""
    if run.started_boot is not None and run.started_boot[0] == boot_id():
        return boot_s() - run.started_boot[1]
    return 0.0 if run.started_at is None else time.time() - run.started_at


def _ticks(pid: int) -> int | None:
    """When a process began; None when it is gone."""
    return procfs.start_ticks(pid) or None
