"""The client: everything the command line can do, blocking and typed.

A supervisor that dies under a request is waited for, and the request said again: every request is
made so that saying it twice does it once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from orchctl import procfs
from orchctl.client import start
from orchctl.client.agents import Agents
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.gathering import Gathering
from orchctl.client.handle import SessionHandle
from orchctl.client.inherited import current_directory, default_shell, soft_limits, start_ticks, umask
from orchctl.client.inputs import Inputs
from orchctl.client.leasing import Leasing
from orchctl.client.looking import Looking
from orchctl.client.patience import Patience
from orchctl.client.places import Places
from orchctl.client.supervising import Supervising, expect
from orchctl.errors import NoSuchSession, OrchctlError, TimedOut
from orchctl.paths import Root, find_root
from orchctl.protocol import codec, messages
from orchctl.session import manager
from orchctl.session.command import Command, Result
from orchctl.session.model import KillReport, Session

if TYPE_CHECKING:
    import socket

    from orchctl.client.exec import CommandStream, Options
    from orchctl.client.inherited import Stdin

T = TypeVar("T", bound=messages.Answer)
P = TypeVar("P", messages.SomeSessions, messages.SomeCommands)
R = TypeVar("R")


class Client(Places, Supervising, Gathering, Looking, Inputs, Leasing, Agents):
    """A connection that comes back by itself. Use it as a context manager, or close it."""

    def __init__(
        self, *, state_dir: str | None = None, autostart: bool = True, say: Callable[[str], None] | None = None
    ) -> None:
        self.root = Root(os.path.abspath(state_dir)) if state_dir else find_root(os.environ)
        self._autostart = autostart
        self._say = say or (lambda _: None)  # told what is being done, for whoever wants to see it
        self._connection: Connection | None = None
        self._own_manager = manager.resolve(None, os.environ.get("ORCHCTL_MANAGER"))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. Sessions go on."""
        self._hang_up()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # sessions

    def spawn(
        self,
        command: Sequence[str] = (),
        *,
        name: str | None = None,
        managed_by: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
        pty: bool = True,
        restart: str = "no",
        timeout_s: float | None = None,
        idle_s: float | None = None,
        bind_pid: int | None = None,
        labels: Mapping[str, str] | None = None,
        if_exists: str = "error",
        remove: bool = False,
        echo: bool = True,
        backend: str | None = None,
        profile: str | None = None,
        model: str | None = None,
        permission: str | None = None,
        resume: str | None = None,
        prompt: str | None = None,
        stdin: Stdin | None = None,
    ) -> SessionHandle:
        """Start `command`, or the user's shell, in a terminal of its own, or on pipes.

        It is ended after `timeout_s`, after `idle_s` without output or input, or when the process `bind_pid` ends.
        `if_exists` says what to do when a live session has the name: `error`, `reuse` it if it runs the same
        command in the same directory, or `skip`, which gives that one whatever it runs. With `echo` false its
        terminal does not show what is typed, from the start.

        `stdin` hands bytes, a file or a descriptor over, with its end; a shell takes it for a script, another run
        reads /dev/null. `open` leaves the input to `send`, as on a terminal; `null` is /dev/null, the default on pipes.

        With the `backend` of a harness, or a `profile`, it is a conversation with an agent, begun or to `resume`;
        `permission` says what is done when the agent asks for one: `ask`, `allow` or `deny`.
        """
        import uuid

        from orchctl.client.inherited import stdin_of

        agent = backend not in (None, "pty", "pipe") or profile is not None
        chosen = backend or ("" if agent else "pty" if pty else "pipe")
        bind_pid = self._bound(bind_pid)
        asked = messages.SpawnSession(
            session_id=str(uuid.uuid4()),
            command=tuple(command) or (("agent",) if agent else (default_shell(self.root),)),
            cwd=os.path.abspath(cwd) if cwd else current_directory(),
            env=self._environment(),
            given=dict(env or {}),
            name=name,
            managed_by=manager.resolve(managed_by, self._own_manager),
            cols=size[0],
            rows=size[1],
            backend=chosen,
            restart=restart,
            timeout_s=timeout_s,
            idle_s=idle_s,
            bind_pid=bind_pid,
            bind_ticks=start_ticks(bind_pid) if bind_pid is not None else 0,
            umask=umask(),
            limits=soft_limits(),
            labels=dict(labels or {}),
            if_exists=if_exists,
            remove=remove,
            standing=procfs.security_context(),
            echo=echo,
            profile=profile,
            model=model,
            permission=permission,
            resume=resume,
            prompt=prompt,
        )
        with stdin_of(stdin, pipes=chosen == "pipe") as (word, descriptor):
            asked = replace(asked, stdin=word)
            needs = "" if descriptor is None else "stdin"
            told = self._ask(asked, messages.OneSession, needs=needs, descriptor=descriptor)
        return SessionHandle(self, told.session, is_new=told.session.id == asked.session_id, warnings=told.warnings)

    def session(self, text: str) -> SessionHandle:
        """A session that is there, by id, name, prefix or `@last`."""
        return SessionHandle(self, self.info(text))

    def exec(
        self,
        session: str,
        command: str | Sequence[str],
        *,
        stdin: bytes | None = None,
        tty_stdin: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        pipe: bool = False,
        raw: bool = False,
        record: bool = True,
        detach: bool = False,
        timeout_s: float | None = None,
        kill_after_s: float = 2.0,
        wait_prompt_s: float | None = None,
        viewer: str = "",
        lease_wait_s: float = 0.0,
        max_output: int | None = None,
        once: str | None = None,
        wait_input: bool = True,
    ) -> Result:
        """Run shell text, or words that arrive unchanged, in a session's live shell; back when it ended.

        To an agent it is a prompt, said once for each `once`; back when its turn ended, or, unless `wait_input`, when
        it waits for a human.
        """
        from orchctl.client.exec import Options, collect

        options = Options(
            stdin=stdin,
            tty_stdin=tty_stdin,
            env=env or {},
            cwd=cwd,
            pipe=pipe,
            raw=raw,
            record=record,
            detach=detach,
            timeout_s=timeout_s,
            kill_after_s=kill_after_s,
            wait_prompt_s=wait_prompt_s,
            viewer=viewer,
            lease_wait_s=lease_wait_s,
            once=once,
            wait_input=wait_input,
        )
        return collect(self.run(session, command, options), limit_bytes=max_output)

    def run(self, session: str, command: str | Sequence[str], options: Options) -> CommandStream:
        """The same as a stream: iterate for the output as it comes."""
        from orchctl.client.exec import CommandStream

        return CommandStream(session, command, options, self._own_manager, self._lend_where_some, self._take_back)

    def detach(self, session: str, exec_id: str) -> None:
        """Let a command go on without anybody waiting for it."""
        asked = messages.DetachCommand(session=session, exec_id=exec_id, own_manager=self._own_manager)
        self._ask(asked, messages.Done)

    def interrupt_command(self, session: str, exec_id: str, *, detach: bool = False) -> str:
        """Take a command out of the queue (`withdrawn`), or, once it has begun, interrupt it (`interrupted`).

        With `detach` a command that has begun goes on without anybody waiting for it (`detached`). One that has ended
        is `over`. The interrupt reaches no other command.
        """
        asked = messages.InterruptCommand(
            session=session, exec_id=exec_id, own_manager=self._own_manager, detach=detach
        )
        return self._ask(asked, messages.CommandInterrupted).outcome

    def history(self, session: str) -> Sequence[Command]:
        """The commands run in a session's shell, oldest first."""
        self._expect_some(session)
        asked = messages.GetHistory(session=session, own_manager=self._own_manager)
        return [one for page in self._pages(asked, messages.SomeCommands) for one in page.commands]

    def control(
        self, session: str, action: str, *, signal: int = 0, size: tuple[int, int] = (0, 0), viewer: str = ""
    ) -> Session:
        """`signal`, `resize`, `pause` or `unpause` it; where somebody holds the lease, only its holder resizes."""
        asked = messages.ControlSession(
            session=session,
            own_manager=self._own_manager,
            action=action,
            signal=signal,
            cols=size[0],
            rows=size[1],
            viewer=viewer,
        )
        return self._ask(asked, messages.OneSession).session

    def restart(self, session: str, *, grace_s: float = 5.0) -> Session:
        """Another run of it, after its present one was ended."""
        found = self.info(session)
        asked = messages.RestartSession(
            session=found.id, run=found.run, env=self._environment(), own_manager=self._own_manager, grace_s=grace_s
        )
        return self._ask(asked, messages.OneSession).session

    def kill(self, *sessions: str, grace_s: float = 5.0, signal: int = 0) -> KillReport:
        """End sessions, forcibly once the grace period is over; asked for with `signal` first if there is one."""
        asked = messages.KillSessions(sessions=sessions, own_manager=self._own_manager, grace_s=grace_s, signal=signal)
        return self._ask(asked, messages.Killed).report

    def kill_by_manager(self, name: str, *, exact: bool = False, grace_s: float = 5.0) -> KillReport:
        """End every session of a manager and below it."""
        manager.parse(name)
        if self._nothing_there():
            return KillReport()
        asked = messages.KillByManager(manager=name, exact=exact, grace_s=grace_s, own_manager=self._own_manager)
        return self._ask(asked, messages.Killed).report

    # how it is done

    def _itself(self) -> Client:
        return self

    def _nothing_there(self) -> bool:
        """Whether no supervisor runs and none is needed: commands that only read or end things start none."""
        if self._connection is not None:
            return False
        try:
            self._connection = self._greeted(start.connect(self.root))
        except start.NotRunning:
            try:
                return not os.listdir(self.root.sessions)
            except FileNotFoundError:
                return True
        except ConnectionLost:
            return False
        return False

    def _connect(self) -> Connection:
        connection = self._greeted(start.reach(self.root) if self._autostart else start.connect(self.root))
        try:
            codec.check(connection.hello)
        except OrchctlError:
            connection.close()
            raise
        return connection

    def _greeted(self, connected: socket.socket) -> Connection:
        connection = Connection(connected)
        self._say(f"supervisor {connection.hello.pid}, version {connection.hello.version}, at {self.root.socket}")
        return connection

    def _pruned(self, asked: messages.Prune) -> messages.Pruned:
        return self._ask(asked, messages.Pruned)

    def _lend(self) -> Connection:
        """Our connection, for somebody who needs one alone; the next to ask makes another."""
        connection, self._connection = self._connection or self._connect(), None
        connection.expires_at = None
        return connection

    def _lend_where_some(self) -> Connection:
        """The same for whoever wants a session: where there is none, no supervisor is started to say so."""
        if self._nothing_there():
            raise NoSuchSession("there is no session at all")
        return self._lend()

    def _take_back(self, connection: Connection) -> None:
        if self._connection is None:
            self._connection = connection
        else:
            connection.close()

    def _expect_some(self, *sessions: str) -> None:
        """Where there is no session none is found, and no supervisor is started to say so."""
        if sessions and self._nothing_there():
            raise NoSuchSession(f"no session {sessions[0]!r}; there is none at all")

    def _ask(
        self,
        request: messages.Request,
        kind: type[T],
        *,
        timeout_s: float | None = None,
        needs: str = "",
        descriptor: int | None = None,
    ) -> T:
        named = getattr(request, "session", None)
        self._expect_some(*((named,) if named else getattr(request, "sessions", ())))

        def job(connection: Connection) -> T:
            codec.require(connection.hello, needs)
            return expect(connection.answer_to(connection.begin(request, descriptor)), kind)

        return self._persist(job, timeout_s=timeout_s)

    def _pages(self, request: messages.Request, kind: type[P]) -> Sequence[P]:
        """An answer that comes in parts."""

        def job(connection: Connection) -> Sequence[P]:
            number, found = connection.begin(request), list[P]()
            while not found or found[-1].more:
                found.append(expect(connection.answer_to(number), kind))
            return found

        return self._persist(job)

    def _persist(self, job: Callable[[Connection], R], *, timeout_s: float | None = None) -> R:
        """Do `job`, again after a lost connection, for up to half a minute."""
        patience = Patience()
        expires_at = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            try:
                self._connection = self._connection or self._connect()
                self._connection.expires_at = expires_at
                return job(self._connection)
            except TimedOut:
                self._hang_up()  # its answer may still come, and nobody would know what it answers
                raise
            except ConnectionLost as error:
                self._say(f"{error.message}; asking again")
                self._hang_up()
                patience.spend(error)
