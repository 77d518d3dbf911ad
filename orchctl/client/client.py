"""The client: everything the command line can do, blocking and typed.

A supervisor that dies under a request is waited for, and the request said again: every request is
made so that saying it twice does it once.
"""

from __future__ import annotations

import base64
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from orchctl.client import start
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.handle import SessionHandle
from orchctl.client.keeping import Keeping
from orchctl.client.patience import Patience
from orchctl.client.surroundings import environment, soft_limits, start_ticks, umask
from orchctl.core import manager
from orchctl.errors import BadInput, OrchctlError, PeerBroke, TimedOut
from orchctl.model.command import Command, Result
from orchctl.model.session import Session
from orchctl.model.supervisor import KillReport, RestartReport, SupervisorStatus
from orchctl.protocol import hello, messages
from orchctl.settings import Root, find_root

PART_BYTES = 1 << 18  # of input in one message
if TYPE_CHECKING:
    from orchctl.client.exec import CommandStream, Options

T = TypeVar("T", bound=messages.Answer)
P = TypeVar("P", messages.SomeSessions, messages.SomeCommands)
R = TypeVar("R")


class Client(Keeping):
    """A connection that comes back by itself. Use it as a context manager, or close it."""

    def __init__(self, *, state_dir: str | None = None, autostart: bool = True) -> None:
        self.root = Root(os.path.abspath(state_dir)) if state_dir else find_root(os.environ)
        self._autostart = autostart
        self._connection: Connection | None = None
        self._own_manager = manager.resolve(None, os.environ.get("ORCHCTL_MANAGER"))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. Sessions go on."""
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
    ) -> SessionHandle:
        """Start `command`, or the user's shell, in a terminal of its own, or on pipes.

        It is ended after `timeout_s`, after `idle_s` without output or input, or when the process `bind_pid` ends.
        """
        import uuid

        asked = messages.SpawnSession(
            session_id=str(uuid.uuid4()),
            command=tuple(command) or (_login_shell(),),
            cwd=os.path.abspath(cwd) if cwd else _current_directory(),
            env=environment(),
            given=dict(env or {}),
            name=name,
            managed_by=manager.resolve(managed_by, self._own_manager),
            cols=size[0],
            rows=size[1],
            backend="pty" if pty else "pipe",
            restart=restart,
            timeout_s=timeout_s,
            idle_s=idle_s,
            bind_pid=bind_pid,
            bind_ticks=start_ticks(bind_pid) if bind_pid is not None else 0,
            umask=umask(),
            limits=soft_limits(),
        )
        return SessionHandle(self, self._ask(asked, messages.OneSession).session)

    def session(self, text: str) -> SessionHandle:
        """A session that is there, by id, name, prefix or `@last`."""
        return SessionHandle(self, self.info(text))

    def list(self, *, managed_by: str | None = None, ended_too: bool = False) -> list[Session]:
        """The live sessions, oldest first; those under `managed_by` only; ended ones too if asked."""
        if self._nothing_there():
            return []
        asked = messages.ListSessions(managed_by=managed_by, ended_too=ended_too)
        return [one for page in self._pages(asked, messages.SomeSessions) for one in page.sessions]

    def info(self, session: str) -> Session:
        """One session in full, live or ended."""
        asked = messages.GetSession(session=session, own_manager=self._own_manager)
        return self._ask(asked, messages.OneSession).session

    def wait(self, session: str, *, timeout_s: float | None = None) -> Session:
        """The session once it is closed."""
        asked = messages.WaitSession(session=session, own_manager=self._own_manager)
        return self._ask(asked, messages.OneSession, timeout_s=timeout_s).session

    def send(self, session: str, data: bytes, *, enter: bool = False, once: str | None = None) -> None:
        """Type `data`, and Enter if asked; returns when the terminal has taken it. The same `once` is typed once."""
        import secrets

        once = once or secrets.token_hex(16)
        for part in range(0, max(1, len(data)), PART_BYTES):
            asked = messages.SendInput(
                session=session,
                own_manager=self._own_manager,
                data_b64=base64.b64encode(data[part : part + PART_BYTES]).decode("ascii"),
                once=f"{once}/{part}",
                enter=enter and part + PART_BYTES >= len(data),
            )
            self._ask(asked, messages.Done)

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
        max_output: int | None = None,
    ) -> Result:
        """Run shell text, or words that arrive unchanged, in a session's live shell; back when it ended."""
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
        )
        return collect(self.run(session, command, options), limit_bytes=max_output)

    def run(self, session: str, command: str | Sequence[str], options: Options) -> CommandStream:
        """The same as a stream: iterate for the output as it comes."""
        from orchctl.client.exec import CommandStream

        return CommandStream(session, command, options, self._own_manager, self._lend, self._take_back)

    def detach(self, session: str, exec_id: str) -> None:
        """Let a command go on without anybody waiting for it."""
        asked = messages.DetachCommand(session=session, exec_id=exec_id, own_manager=self._own_manager)
        self._ask(asked, messages.Done)

    def history(self, session: str) -> Sequence[Command]:
        """The commands run in a session's shell, oldest first."""
        asked = messages.GetHistory(session=session, own_manager=self._own_manager)
        return [one for page in self._pages(asked, messages.SomeCommands) for one in page.commands]

    def wait_for(
        self, session: str, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None
    ) -> tuple[str, Session]:
        """The first of `exit`, `command`, `prompt` and `quiet` that holds, and the session then."""
        asked = messages.WaitFor(session=session, conditions=conditions, own_manager=self._own_manager, quiet_s=quiet_s)
        fired = self._ask(asked, messages.Fired, timeout_s=timeout_s)
        return fired.condition, fired.session

    def interrupt(self, session: str) -> None:
        """What Ctrl-C does in that terminal."""
        self._ask(messages.InterruptSession(session=session, own_manager=self._own_manager), messages.Done)

    def control(self, session: str, action: str, *, signal: int = 0, size: tuple[int, int] = (0, 0)) -> Session:
        """`signal`, `resize`, `pause` or `unpause` it."""
        asked = messages.ControlSession(
            session=session,
            own_manager=self._own_manager,
            action=action,
            signal=signal,
            cols=size[0],
            rows=size[1],
        )
        return self._ask(asked, messages.OneSession).session

    def restart(self, session: str, *, grace_s: float = 5.0) -> Session:
        """Another run of it, after its present one was ended."""
        found = self.info(session)
        asked = messages.RestartSession(
            session=found.id, run=found.run, env=environment(), own_manager=self._own_manager, grace_s=grace_s
        )
        return self._ask(asked, messages.OneSession).session

    def kill(self, *sessions: str, grace_s: float = 5.0) -> KillReport:
        """End sessions, forcibly once the grace period is over."""
        asked = messages.KillSessions(sessions=sessions, own_manager=self._own_manager, grace_s=grace_s)
        return self._ask(asked, messages.Killed).report

    def kill_by_manager(self, name: str, *, exact: bool = False, grace_s: float = 5.0) -> KillReport:
        """End every session of a manager and below it."""
        manager.parse(name)
        if self._nothing_there():
            return KillReport()
        asked = messages.KillByManager(manager=name, exact=exact, grace_s=grace_s)
        return self._ask(asked, messages.Killed).report

    # the supervisor

    def status(self) -> SupervisorStatus:
        """Of the running supervisor; never starts one."""
        if self._connection is None:
            try:
                self._connection = Connection(start.connect(self.root))
            except start.NotRunning:
                return SupervisorStatus(running=False, socket=self.root.socket, state_dir=self.root.path)
            except ConnectionLost:
                pass  # it is just being replaced
        return self._ask(messages.GetStatus(), messages.Status).status

    def start_supervisor(self) -> SupervisorStatus:
        """Start it if there is none."""
        self._connection = self._connection or self._connect()
        return self.status()

    def stop_supervisor(self, *, kill: bool = False, leave: bool = False) -> bool:
        """Stop it; False if there was none. Refused while sessions live, unless they are killed or left."""
        patience = Patience()
        while True:
            try:
                return self._stop(messages.StopSupervisor(kill=kill, leave=leave))
            except ConnectionLost as error:  # it was replaced, or has died
                self.close()
                patience.spend(error)

    def _stop(self, asked: messages.StopSupervisor) -> bool:
        try:
            self._connection = self._connection or Connection(start.connect(self.root))
        except start.NotRunning:
            if not asked.kill or self._nothing_there():
                return False
            self._connection = self._connect()  # there are sessions to end, left by an earlier one
        _expect(self._connection.ask(asked), messages.Done)
        self._connection.wait_for_end()
        self.close()
        start.wait_until_gone(self.root)
        return True

    def restart_supervisor(self) -> RestartReport:
        """Have a new one, of the version that is installed now, take over; every session goes on."""
        old = self.status()
        if old.running:
            asked = messages.RestartSupervisor(pid=old.pid or 0, zygote=old.zygote or 0, executable=sys.executable)
            self._ask(asked, messages.Done)
        new = self.start_supervisor()
        return RestartReport(
            old_pid=old.pid, pid=new.pid, zygote=new.zygote, version=new.version, sessions=new.sessions
        )

    # how it is done

    def _nothing_there(self) -> bool:
        """Whether no supervisor runs and none is needed: commands that only read or end things start none."""
        if self._connection is not None:
            return False
        try:
            self._connection = Connection(start.connect(self.root))
        except start.NotRunning:
            try:
                return not os.listdir(self.root.sessions)
            except FileNotFoundError:
                return True
        except ConnectionLost:
            return False
        return False

    def _connect(self) -> Connection:
        connection = Connection(start.reach(self.root) if self._autostart else start.connect(self.root))
        try:
            hello.check(connection.hello)
        except OrchctlError:
            connection.close()
            raise
        return connection

    def _pruned(self, asked: messages.Prune) -> messages.Pruned:
        return self._ask(asked, messages.Pruned)

    def _lend(self) -> Connection:
        """Our connection, for somebody who needs one alone; the next to ask makes another."""
        connection, self._connection = self._connection or self._connect(), None
        connection.expires_at = None
        return connection

    def _take_back(self, connection: Connection) -> None:
        if self._connection is None:
            self._connection = connection
        else:
            connection.close()

    def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T:
        return self._persist(lambda connection: _expect(connection.ask(request), kind), timeout_s=timeout_s)

    def _pages(self, request: messages.Request, kind: type[P]) -> Sequence[P]:
        """An answer that comes in parts."""

        def job(connection: Connection) -> Sequence[P]:
            number, found = connection.begin(request), list[P]()
            while not found or found[-1].more:
                found.append(_expect(connection.answer_to(number), kind))
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
                self.close()  # its answer may still come, and nobody would know what it answers
                raise
            except ConnectionLost as error:
                self.close()
                patience.spend(error)


def _expect(answer: messages.Answer, kind: type[T]) -> T:
    if not isinstance(answer, kind):
        raise PeerBroke(f"the supervisor answered {answer.kind!r} where {kind.kind!r} was due")
    return answer


def _login_shell() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"


def _current_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BadInput("the current directory no longer exists; say where with -w", code="bad-cwd") from None
