"""Every session the supervisor knows, rebuilt from disk when it starts."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from orchctl.agents import registry
from orchctl.errors import BadInput, Conflict, Internal, NoSuchSession, OrchctlError
from orchctl.log.session_files import Spec
from orchctl.protocol.messages import SpawnSession
from orchctl.session import environment, manager, run
from orchctl.session import selection as choosing
from orchctl.session import selection as selector
from orchctl.session.model import Selection, Session, State
from orchctl.supervisor import spawn as shell_start
from orchctl.supervisor.agent_session import AgentSession
from orchctl.supervisor.agents import programs
from orchctl.supervisor.agents.pool import Servers
from orchctl.supervisor.change import carried_through, guarded
from orchctl.supervisor.context import House
from orchctl.supervisor.limits import Archive, LimitGuard
from orchctl.supervisor.request import copy
from orchctl.supervisor.session import DELETED_S, SupervisedSession
from orchctl.supervisor.spawn import checked, salvaged, with_stdin
from orchctl.supervisor.terminal_session import TerminalSession
from orchctl.supervisor.zygote import ZygoteLink

log = logging.getLogger(__name__)
REMOVED_AFTER_S = 20.0  # whoever started it and wants its end has come by then, through a killed supervisor or a stall
TEND_AGAIN_S = 1.0
LOOK_AGAIN_S = (0.02, 0.05, 0.1, 0.2, 0.5, *[1.0] * 20)  # its own journal, which a keeper has written before its hello
ADOPT_AGAIN_S = 2.0
STARTS_AT_ONCE = 32  # the kernel bounds how many descriptors may be on their way
SPAWN_TRIES = 4  # a zygote may die with our request in its hands, and the next one too; another one gets it


class Registry:
    """Sessions by id. Only live names are taken."""

    def __init__(self, house: House, zygote: ZygoteLink, tasks: asyncio.TaskGroup) -> None:
        self._house = house
        self._store = house.store
        self._zygote = zygote
        self._tasks = tasks
        self._sessions: dict[str, SupervisedSession] = {}  # live, or not yet put away
        self.archive = Archive(house.ended, self._from_files)
        self._limits = LimitGuard(house)
        self._starting = asyncio.Semaphore(STARTS_AT_ONCE)
        self._strange: set[str] = set()  # folders that nobody here stood for at the last look
        self._no_sessions: set[str] = set()  # folders that are none, or tell nothing
        self._quick: dict[str, int] = {}  # runs in a row that ended soon, of sessions that start again
        self.agents = Servers(house, tasks, self._start_server, self._server)

    def adopt(self) -> None:
        """Take over what earlier supervisors left. What was never forked was never answered for, and goes."""
        unread = []
        for session_id in self._store.ids():
            if self.archive.add(session_id):
                continue
            if not self._store.was_forked(session_id):
                log.warning("session %s was never started; its directory is removed", session_id)
                self._store.remove(session_id)
            elif not self._adopt(session_id):
                unread.append(session_id)
        if unread:
            self._tasks.create_task(guarded("unreadable sessions", self._adopt_later(unread)))
        sessions = self._sessions.values()
        self.agents.adopt(
            [one.spec.id for one in sessions if one.is_server],
            [talk for one in sessions for talk in one.conversations()],
        )
        self._forget(unread, away=False)
        self._tasks.create_task(guarded("sessions that are gone", self._forget_later()))

    def _forget(self, unread: Sequence[str] = (), *, away: bool) -> None:
        """What was told of sessions that are over, or of those whose folder is away."""
        for session_id in list(self._house.teller.events.told):
            known = session_id in self._sessions or session_id in unread
            if not known and os.path.isdir(self._store.folder(session_id)) is not away:
                self._house.teller.forget(session_id)

    async def _forget_later(self) -> None:
        """A folder that was moved away may come back, and nothing of it is to be told twice."""
        await asyncio.sleep(DELETED_S)
        self._forget(away=True)

    def _adopt(self, session_id: str) -> bool:
        """Hold a session of an earlier supervisor; False where its files cannot be read now."""
        try:
            spec = self._store.read_spec(session_id)
            if spec is None or spec.id != session_id:
                log.warning("session %s: spec.json is damaged; what its journals tell is used instead", session_id)
                spec = salvaged(self._store, session_id)
            if spec is None:
                log.warning("session %s: nothing tells what it is; its files are left as they are", session_id)
                return True
            session = self._made(spec)
        except OSError as error:
            log.warning("session %s cannot be read, and is tried again: %s", session_id, error.strerror)
            return False
        self._sessions[session_id] = session
        self.tend(session)
        return True

    def _made(self, spec: Spec, *, over: bool = False) -> SupervisedSession:
        """A session of the kind that the intent says."""
        if spec.agent is not None:
            return AgentSession(spec, spec.agent, self._house, self.agents, over=over)
        return TerminalSession(spec, self._house, over=over)

    def tend(self, session: SupervisedSession, first: socket.socket | None = None) -> None:
        """Have it looked after to its end."""
        self._tasks.create_task(guarded(f"session {session.spec.id}", self._tend(session, first)))

    def put(self, session: SupervisedSession) -> None:
        """This object stands for its id."""
        self._sessions[session.spec.id] = session

    async def _adopt_later(self, unread: list[str]) -> None:
        """Files that could not be read at the start are tried again until they can be."""
        while unread := [session_id for session_id in unread if not self._adopt(session_id)]:
            await asyncio.sleep(ADOPT_AGAIN_S)

    async def adopt_returned(self) -> bool:
        """Take over sessions whose folder was away when this supervisor began, or for long; False: look again.

        One that is strange twice running is none that is just being made or taken away.
        """
        there = await asyncio.to_thread(lambda: list(self._store.ids()))
        strange = {one for one in there if one not in self._sessions and one not in self.archive} - self._no_sessions
        back, self._strange = sorted(strange & self._strange), strange - self._strange
        for session_id in back:
            if not self.archive.add(session_id) and self._store.was_forked(session_id) and not self._adopt(session_id):
                self._strange.add(session_id)
            elif session_id in self._sessions or session_id in self.archive:
                log.warning("session %s is back: its folder was away", session_id)
            else:
                self._no_sessions.add(session_id)
        return not self._strange

    async def _tend(self, session: SupervisedSession, first: socket.socket | None) -> None:
        await self._hold(session, first)
        while self._is_to_run(session):
            await self._wait_before_run(session)
            if self._is_to_run(session) and await self._runs_again(session):
                return
        if not self._is_known(session):
            return  # another object stands for it: its next run, or a second attempt to start it
        if session.deleted:
            log.warning("session %s has ended, and its files were deleted before", session.spec.id)
            del self._sessions[session.spec.id]
            self._house.teller.forget(session.spec.id)
            return
        if session.spec.remove:
            await self._remove(session)
            return
        await session.wrap_up()
        self.put_away(session)

    async def _runs_again(self, session: SupervisedSession) -> bool:
        """Have it run again; False when we could not even ask for it: then it is tried once more."""
        try:
            await self.restart(session, None)
        except OrchctlError:
            pass  # a start that failed is on record, and its own task goes on
        except OSError as error:
            log.warning("session %s is started again later: %s", session.spec.id, error.strerror)
            return False
        return True

    async def _hold(self, session: SupervisedSession, first: socket.socket | None) -> None:
        """Tend a session to its end; an error of ours, or a disk that fails, is no reason to leave it alone."""
        while True:
            over = False
            try:
                await session.tend(first)
                over = True
            except* OSError as errors:
                log.warning("session %s: tended again after an error: %s", session.spec.id, errors.exceptions[0])
            except* Exception:
                log.exception("session %s: tended again after an error", session.spec.id)
            if over:  # no return out of except*
                return
            first = None
            await asyncio.sleep(TEND_AGAIN_S)

    async def _remove(self, session: SupervisedSession) -> None:
        """It goes with its files, a little later: whoever waits for it, or reads it, hears its end first."""
        await asyncio.sleep(REMOVED_AFTER_S)  # from when we saw the end: by the wall clock it may be any time ago
        while session.readers.any:
            await asyncio.sleep(REMOVED_AFTER_S)
        if self._is_known(session):  # and does not run again
            del self._sessions[session.spec.id]
            self._house.teller.forget(session.spec.id)
            await asyncio.to_thread(self._store.remove, session.spec.id)

    def _is_known(self, session: SupervisedSession) -> bool:
        return self._sessions.get(session.spec.id) is session

    def _is_to_run(self, session: SupervisedSession) -> bool:
        return session.starts_again and self._is_known(session)

    async def _wait_before_run(self, session: SupervisedSession) -> None:
        """Longer after each run that ended soon; a kill ends the waiting."""
        lasted = (session.run.ended_at or 0.0) - (session.run.started_at or 0.0)
        quick = self._quick.get(session.spec.id, 0) + 1 if lasted < run.STEADY_S else 1
        self._quick[session.spec.id] = quick
        await session.news.until(lambda: not session.starts_again, run.wait_s(quick))

    def check_restart(self, session: SupervisedSession) -> None:
        """Whether an ended session may live again: refused as a new one would be."""
        if session.closed:
            self._limits.check(session.spec.managed_by, self.all(), self.archive)
            if session.run.name is not None:
                self.check_free(session.run.name)

    async def restart(self, session: SupervisedSession, env: dict[str, str] | None) -> SupervisedSession:
        """Another run of a session whose processes are gone; what waits for the old run has seen its end."""
        return await carried_through(self._tasks, self._run_again(session, env))

    async def _run_again(self, session: SupervisedSession, env: dict[str, str] | None) -> SupervisedSession:
        session_id = session.spec.id
        await session.hand_over()
        if session.over:
            self._house.teller.remember(session)
        if not self._store.has_environment(session_id):
            if env is None:
                raise Internal(f"the environment of session {session_id} is gone", code="no-environment")
            folder = self._store.commands(session_id).shell
            self._store.put_environment(session_id, shell_start.environment(session.spec, folder, env))
        self._house.ended.remove(session_id)
        self.archive.remove(session_id)
        fresh = self._made(session.spec)
        self.put(fresh)
        await fresh.start_again(self, session)
        return fresh

    def put_away(self, session: SupervisedSession) -> None:
        """One that is over takes no more memory than its id."""
        if session.over and self._sessions.get(session.spec.id) is session and self.archive.add(session.spec.id):
            del self._sessions[session.spec.id]

    def all(self) -> list[SupervisedSession]:
        """Those that are not put away, in the order of their creation."""
        return [session for session in self.held() if not session.is_server]

    def held(self) -> list[SupervisedSession]:
        """The same, and the agent servers."""
        return sorted(self._sessions.values(), key=lambda session: session.spec.created_at)

    def servers(self) -> list[SupervisedSession]:
        """The agent servers."""
        return [session for session in self.held() if session.is_server]

    def views(self, *, ended_too: bool) -> list[Session]:
        """The live sessions as everybody sees them, and the ended ones if asked for; oldest first."""
        views = [session.view() for session in self.all() if ended_too or not session.closed]
        return sorted([*views, *(self.archive.views() if ended_too else ())], key=lambda view: view.created_at)

    def live(self) -> list[SupervisedSession]:
        """Those whose program has not ended."""
        return [session for session in self.all() if not session.closed]

    def find(self, text: str, own_manager: str, *, ended_too: bool = True) -> SupervisedSession:
        """The session a user means."""
        if text in self._sessions and not self._sessions[text].is_server:
            return self._sessions[text]
        known = [session.view(with_output=False) for session in self.all()]
        live = [view for view in known if view.state is not State.CLOSED and view.name == text]
        if not live:  # only then it may be one of those that are put away
            known += self.archive.views(text if selector.is_prefix(text) and text not in _names(known) else "")
        found = selector.find(text, live or known, own_manager=own_manager, ended_too=ended_too)
        return self._sessions.get(found.id) or self._take_out(found.id)

    def find_live(self, text: str, own_manager: str) -> SupervisedSession:
        """The same, to be done something with."""
        session = self.find(text, own_manager, ended_too=False)
        if session.closed:
            raise NoSuchSession(f"the session {text!r} has ended", code="session-ended")
        return session

    def _from_files(self, session_id: str) -> Session | None:
        """An ended session whose last word is damaged."""
        try:
            return self._take_out(session_id).view()
        except OrchctlError:
            return None

    def _take_out(self, session_id: str) -> SupervisedSession:
        """A session that is over, to be read."""
        spec = self._store.read_spec(session_id)
        if spec is None or spec.id != session_id:
            spec = salvaged(self._store, session_id)
        if spec is None:
            raise NoSuchSession(f"the files of session {session_id} are gone or damaged", code="damaged-session")
        session = self._made(spec, over=True)
        session.pair.greeted.set()
        session.pair.gone.set()
        return session

    def below(self, name: str, *, exact: bool = False) -> list[SupervisedSession]:
        """The sessions of a manager and of everything below it."""
        manager.parse(name)
        own = [session for session in self.all() if session.spec.managed_by == name]
        return own if exact else [one for one in self.all() if manager.selects(name, one.spec.managed_by)]

    async def spawn(self, asked: SpawnSession, stdin: int | None = None) -> SupervisedSession:
        """Start a session, or find the one that was started when this was asked before.

        `stdin` is the descriptor that was handed over; it stays the caller's.
        """
        asked = await with_stdin(programs.resolved(self._house.config, asked), stdin, self._zygote.can)
        for _ in range(SPAWN_TRIES):
            if asked.session_id in self.archive:
                return self._take_out(asked.session_id)
            session = self._sessions.get(asked.session_id)
            if session is not None:  # asked again after a lost answer
                await session.pair.greeted.wait()
            elif (session := self._already_there(asked)) is not None:
                return session
            elif not await carried_through(self._tasks, (session := self._create(asked)).start(self, copy(stdin))):
                continue
            if self._sessions.get(asked.session_id) is session or session.over:
                return session
        raise Internal("no keeper could be started; see 'supervisor.log' in the state directory", code="spawn-failed")

    def drop(self, session: SupervisedSession) -> None:
        """Nothing is left of it."""
        del self._sessions[session.spec.id]
        self._house.teller.forget(session.spec.id)
        self._store.remove(session.spec.id)

    async def _start_server(self, spec: Spec, env: dict[str, str], prepare: Callable[[str], None]) -> TerminalSession:
        """The process of an agent server, as a session that nobody sees."""
        for _ in range(SPAWN_TRIES):
            self._store.create(spec, env, {}, prepare)
            session = TerminalSession(spec, self._house)
            self.put(session)
            if await session.start(self, None):
                return session
        raise Internal("no keeper could be started; see 'supervisor.log' in the state directory", code="spawn-failed")

    def _server(self, session_id: str) -> TerminalSession | None:
        """An agent server's session, also of one that has ended; it is a program like any other."""
        try:
            return cast(TerminalSession, self._sessions.get(session_id) or self._take_out(session_id))
        except OrchctlError:
            return None

    def _create(self, asked: SpawnSession) -> SupervisedSession:
        agent, server_env = (
            programs.checked(self._house.config, asked) if registry.is_agent(asked.backend) else (None, {})
        )
        intent = replace(checked(asked), ring_bytes=self._house.config.session_bytes, agent=agent)
        spec = self._limits.apply(intent)
        if asked.name is not None:
            self.check_free(asked.name)
        self._limits.check(spec.managed_by, self.all(), self.archive)
        try:
            env = server_env or environment.compose(
                asked.env, asked.given, spec.id, spec.managed_by, spec.cwd, terminal=spec.backend == "pty"
            )
            self._create_on_disk(spec, env)
        except OSError as error:
            self._store.remove(spec.id)
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            raise OrchctlError(f"the session cannot be written down: {error.strerror}", code="no-space") from None
        session = self._made(spec)
        self.put(session)
        return session

    def known(self, session_id: str) -> Session | None:
        """What is known of a session, live or ended, without a look at its output."""
        live = self._sessions.get(session_id)
        if live is not None:
            return live.view(with_output=False)
        return self.archive.view(session_id) if session_id in self.archive else None

    def named(self, name: str | None) -> SupervisedSession | None:
        """The live session of that name."""
        return next((one for one in self.live() if name is not None and one.run.name == name), None)

    def check_free(self, name: str) -> None:
        """Refuse a name that a live session has."""
        if (other := self.named(name)) is not None:
            raise Conflict(f"the name {name!r} is taken by session {other.spec.id}", code="name-taken")

    def _already_there(self, asked: SpawnSession) -> SupervisedSession | None:
        """The live session of that name, where the asker is content with it."""
        if asked.if_exists not in ("error", "reuse", "skip"):
            raise BadInput(f"{asked.if_exists!r} is none of error, reuse and skip", code="bad-choice")
        found = self.named(asked.name) if asked.if_exists != "error" else None
        if (
            found is None
            or asked.if_exists == "skip"
            or (found.spec.command, found.spec.cwd) == (asked.command, asked.cwd)
        ):
            return found
        raise Conflict(
            f"the name {asked.name!r} is taken by session {found.spec.id}, which runs another command or elsewhere",
            code="name-taken",
        )

    def select(self, selection: Selection, own_manager: str, *, ended_too: bool) -> list[Session]:
        """The sessions that a selection means, oldest first; one that is named and unknown is an error."""
        choose_from = self.views(ended_too=ended_too) if selection.open else []
        chosen = {one.id: one for one in choosing.choose(selection, choose_from)}
        for text in selection.sessions:
            found = self.find(text, own_manager, ended_too=ended_too)
            chosen[found.spec.id] = found.view()
        return sorted(chosen.values(), key=lambda view: view.created_at)

    def _create_on_disk(self, spec: Spec, env: dict[str, str]) -> None:
        """A shell that can tell its prompts gets start-up files of its own, which run the user's first."""
        folder = self._store.commands(spec.id).shell
        spec, files = shell_start.equipped(spec, folder)
        self._store.create(spec, shell_start.environment(spec, folder, env), files)

    async def fork(self, session: SupervisedSession, stdin: int | None) -> None:
        """Have a pair started for it, not too many at once; returns once that has said hello, or is gone."""
        async with self._starting:
            await self._fork(session, stdin)

    async def _fork(self, session: SupervisedSession, stdin: int | None) -> None:
        before = session.run.number
        ours, theirs = socket.socketpair()
        with theirs:
            if stdin is not None:  # it lies there before anybody is asked to fork
                socket.send_fds(ours, [b"\0"], [stdin])
            try:
                self._zygote.spawn(session.spec.id, theirs)
            except OSError:
                ours.close()
                await self._zygote.replacement()
                return
        self.tend(session, ours)
        await session.pair.greeted.wait()
        await self._look(session, before)

    async def _look(self, session: SupervisedSession, before: int) -> None:
        """What the keeper has written down; it runs, and nobody may take it for one that never began."""
        for pause_s in LOOK_AGAIN_S:
            with contextlib.suppress(OSError):
                session.look()
                if session.run.number > before or session.run.failure is not None or session.pair.gone.is_set():
                    return
            await asyncio.sleep(pause_s)
        raise OrchctlError(f"the files of session {session.spec.id} cannot be read; it runs", code="unreadable")


def _names(views: list[Session]) -> set[str | None]:
    return {view.name for view in views}
