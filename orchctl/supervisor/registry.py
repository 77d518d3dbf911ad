"""Every session the supervisor knows, rebuilt from disk when it starts."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import secrets
import socket
import time
from dataclasses import replace

from orchctl.core import environment, manager, restarting, selector
from orchctl.core import selection as choosing
from orchctl.errors import BadInput, CannotExecute, CommandNotFound, Conflict, Internal, NoSuchSession, OrchctlError
from orchctl.model.selection import Selection
from orchctl.model.session import Session, State
from orchctl.protocol.messages import SpawnSession
from orchctl.settings import repo_of
from orchctl.store.sessions import Spec
from orchctl.supervisor import shell_start
from orchctl.supervisor.archive import Archive
from orchctl.supervisor.guard import carried_through, guarded
from orchctl.supervisor.house import House
from orchctl.supervisor.limits import LimitGuard
from orchctl.supervisor.session import SupervisedSession
from orchctl.supervisor.zygote import ZygoteLink

log = logging.getLogger(__name__)
LONGEST_S = 10 * 365 * 86400.0
REMOVED_AFTER_S = 20.0  # whoever started it and wants its end has come by then, through a killed supervisor or a stall
STARTS_AT_ONCE = 32  # the kernel bounds how many descriptors may be on their way
SPAWN_TRIES = 2  # a zygote may die with our request in its hands; the next one gets it


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
        self._quick: dict[str, int] = {}  # runs in a row that ended soon, of sessions that start again

    def adopt(self) -> None:
        """Take over what earlier supervisors left. What was never forked was never answered for, and goes."""
        self._store.clear()
        for session_id in self._store.ids():
            if self.archive.add(session_id):
                continue
            spec = self._store.read_spec(session_id)
            if not self._store.was_forked(session_id):
                log.warning("session %s was never started; its directory is removed", session_id)
                self._store.remove(session_id)
                continue
            if spec is None:
                log.warning("session %s: its spec.json is damaged; its files are left as they are", session_id)
                continue
            session = SupervisedSession(spec, self._house)
            self._sessions[session_id] = session
            self._tasks.create_task(guarded(f"session {session_id}", self._tend(session, None)))
        for session_id in list(self._house.teller.events.told):
            if session_id not in self._sessions:
                self._house.teller.forget(session_id)

    async def _tend(self, session: SupervisedSession, first: socket.socket | None) -> None:
        await session.tend(first)
        if self._is_to_run(session):
            await self._wait_before_run(session)
        if self._is_to_run(session):
            with contextlib.suppress(OrchctlError):  # a start that failed is on record, and its own task goes on
                await self.restart(session, None)
            return
        if not self._is_known(session):
            return  # another object stands for it: its next run, or a second attempt to start it
        if session.spec.remove:
            await self._remove(session)
            return
        await session.wrap_up()
        self.put_away(session)

    async def _remove(self, session: SupervisedSession) -> None:
        """It goes with its files, a little later: whoever waits for it, or reads it, hears its end first."""
        await asyncio.sleep(max(0.0, (session.run.ended_at or 0.0) + REMOVED_AFTER_S - time.time()))
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
        quick = self._quick.get(session.spec.id, 0) + 1 if lasted < restarting.STEADY_S else 1
        self._quick[session.spec.id] = quick
        until = asyncio.get_running_loop().time() + restarting.wait_s(quick)
        try:
            async with asyncio.timeout_at(until):
                while session.starts_again:
                    await session.news.ticket.wait()
        except TimeoutError:
            pass

    def check_limits(self, session: SupervisedSession) -> None:
        """Whether an ended session may live again: refused as a new one would be."""
        self._limits.check(session.spec.managed_by, self._sessions.values(), self.archive)

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
        fresh = SupervisedSession(session.spec, self._house)
        self._sessions[session_id] = fresh
        before = fresh.run.number
        async with self._starting:
            await self._start(fresh)
        if fresh.run.number == before:
            fresh.pair.greeted.set()
            fresh.pair.gone.set()
            raise _start_error(fresh.spec, *(fresh.run.failure or ("exec", errno.EAGAIN)))
        return fresh

    def put_away(self, session: SupervisedSession) -> None:
        """One that is over takes no more memory than its id."""
        if session.over and self._sessions.get(session.spec.id) is session and self.archive.add(session.spec.id):
            del self._sessions[session.spec.id]

    def all(self) -> list[SupervisedSession]:
        """Those that are not put away, in the order of their creation."""
        return sorted(self._sessions.values(), key=lambda session: session.spec.created_at)

    def views(self, *, ended_too: bool) -> list[Session]:
        """The live sessions as everybody sees them, and the ended ones if asked for; oldest first."""
        views = [session.view() for session in self._sessions.values() if ended_too or not session.closed]
        return sorted([*views, *(self.archive.views() if ended_too else ())], key=lambda view: view.created_at)

    def live(self) -> list[SupervisedSession]:
        """Those whose program has not ended."""
        return [session for session in self.all() if not session.closed]

    def find(self, text: str, own_manager: str, *, ended_too: bool = True) -> SupervisedSession:
        """The session a user means."""
        if text in self._sessions:
            return self._sessions[text]
        known = [session.view(with_output=False) for session in self._sessions.values()]
        live = [view for view in known if view.state is not State.CLOSED and view.name == text]
        if not live:  # only then it may be one of those that are put away
            known += self.archive.views(text if selector.is_prefix(text) and text not in _names(known) else "")
        found = selector.find(text, live or known, own_manager=own_manager, ended_too=ended_too)
        return self._sessions.get(found.id) or self._take_out(found.id)

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
            raise NoSuchSession(f"the files of session {session_id} are gone or damaged", code="damaged-session")
        session = SupervisedSession(spec, self._house, over=True)
        session.pair.greeted.set()
        session.pair.gone.set()
        return session

    def below(self, name: str, *, exact: bool = False) -> list[SupervisedSession]:
        """The sessions of a manager and of everything below it."""
        manager.parse(name)
        own = [session for session in self.all() if session.spec.managed_by == name]
        return own if exact else [one for one in self.all() if manager.selects(name, one.spec.managed_by)]

    async def spawn(self, asked: SpawnSession) -> SupervisedSession:
        """Start a session, or find the one that was started when this was asked before."""
        for _ in range(SPAWN_TRIES):
            if asked.session_id in self.archive:
                return self._take_out(asked.session_id)
            session = self._sessions.get(asked.session_id)
            if session is not None:  # asked again after a lost answer
                await session.pair.greeted.wait()
            elif (session := self._already_there(asked)) is not None:
                return session
            elif not await carried_through(self._tasks, self._started(session := self._create(asked))):
                continue
            if self._sessions.get(asked.session_id) is session or session.over:
                return session
        raise Internal("no keeper could be started; see 'supervisor.log' in the state directory", code="spawn-failed")

    async def _started(self, session: SupervisedSession) -> bool:
        """Have the session's program started; False when the zygote died with the request in its hands.

        A keeper that was asked for cannot be called back: this is carried through, whoever still listens.
        """
        try:
            async with self._starting:
                await self._start(session)
        except Exception:  # not when the supervisor ends: its keeper may be on its way, and the next one will see
            self._drop(session)
            raise
        if session.run.started_at is None:
            self._drop(session)
        if session.run.failure is not None:
            raise _start_error(session.spec, *session.run.failure)
        return session.run.started_at is not None

    def _drop(self, session: SupervisedSession) -> None:
        del self._sessions[session.spec.id]
        self._house.teller.forget(session.spec.id)
        self._store.remove(session.spec.id)

    def _create(self, asked: SpawnSession) -> SupervisedSession:
        spec = self._limits.apply(replace(_checked(asked), ring_bytes=self._house.config.session_bytes))
        if asked.name is not None:
            self.check_free(asked.name)
        self._limits.check(spec.managed_by, self._sessions.values(), self.archive)
        try:
            env = environment.compose(
                asked.env, asked.given, spec.id, spec.managed_by, spec.cwd, terminal=spec.backend == "pty"
            )
            self._create_on_disk(spec, env)
        except OSError as error:
            self._store.remove(spec.id)
            raise OrchctlError(f"the session cannot be written down: {error.strerror}", code="no-space") from None
        session = SupervisedSession(spec, self._house)
        self._sessions[spec.id] = session
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

    async def _start(self, session: SupervisedSession) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._zygote.spawn(session.spec.id, theirs)
            except OSError:
                ours.close()
                await self._zygote.replacement()
                return
        self._tasks.create_task(guarded(f"session {session.spec.id}", self._tend(session, ours)))
        await session.pair.greeted.wait()
        session.look()


def _names(views: list[Session]) -> set[str | None]:
    return {view.name for view in views}


def _checked(asked: SpawnSession) -> Spec:
    selector.check_id(asked.session_id)  # a directory is called that
    if asked.name is not None:
        selector.check_name(asked.name)
    manager.parse(asked.managed_by)
    choosing.check_labels(asked.labels)
    if not asked.command or not asked.command[0]:
        raise BadInput("there is no command to run")
    given = (*asked.given, *asked.given.values())
    if any("\0" in word for word in (*asked.command, asked.cwd, *given)):
        raise BadInput("a NUL byte in the command, the directory or the environment")
    if asked.backend not in ("pty", "pipe"):
        raise BadInput(f"there is no backend {asked.backend!r}", code="bad-backend")
    for seconds in (asked.timeout_s, asked.idle_s):
        if seconds is not None and not 0 < seconds <= LONGEST_S:
            raise BadInput(f"{seconds} seconds", code="bad-duration")
    if not (0 < asked.cols < 1 << 16 and 0 < asked.rows < 1 << 16):
        raise BadInput(f"a terminal of {asked.cols}x{asked.rows}; 1x1 to 65535x65535", code="bad-size")
    return Spec(
        id=asked.session_id,
        name=asked.name,
        managed_by=asked.managed_by,
        command=asked.command,
        cwd=asked.cwd,
        cols=asked.cols,
        rows=asked.rows,
        umask=asked.umask & 0o777,
        limits=asked.limits,
        backend=asked.backend,
        restart=restarting.check(asked.restart),
        timeout_s=asked.timeout_s,
        idle_s=asked.idle_s,
        bind_pid=asked.bind_pid,
        bind_ticks=asked.bind_ticks,
        repo=repo_of(os.path.realpath(asked.cwd)),
        labels=asked.labels,
        remove=asked.remove,
        echo=asked.echo,
        shell=shell_start.kind(asked),
        nonce=secrets.token_hex(8),
        created_at=time.time(),
    )


def _start_error(spec: Spec, step: str, number: int) -> OrchctlError:
    reason = os.strerror(number)
    if step == "cwd":
        return BadInput(f"cannot start in {spec.cwd!r}: {reason}", code="bad-cwd")
    if number == errno.ENOENT:
        return CommandNotFound(f"command not found: {spec.command[0]!r}")
    return CannotExecute(f"cannot execute {spec.command[0]!r}: {reason}")
