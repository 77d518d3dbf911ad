"""The client: everything the command line can do, blocking and typed.

Every operation is a call, written in `calls/`; here are the connection it has and the steps it can take. A supervisor
that dies under a request is waited for, and the request said again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from orchctl.client import caller
from orchctl.client.call import Blocking, blocking, blocking_with, opening
from orchctl.client.caller import Question
from orchctl.client.calls import output as logs
from orchctl.client.calls import sessions
from orchctl.client.calls import wait as waits
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.operations import Operations, auto, constructor, ephemeral
from orchctl.client.start import NotRunning, connect, reach, wait_until_gone
from orchctl.errors import OrchctlError, TimedOut
from orchctl.protocol import codec
from orchctl.protocol.messages import Done

if TYPE_CHECKING:
    import socket

    from orchctl.client.attach.loop import Left
    from orchctl.client.exec import CommandStream
    from orchctl.client.handle import SessionHandle
    from orchctl.client.pexpect import SessionSpawn
    from orchctl.client.several import SeveralOutputs
    from orchctl.client.streams import EventStream, OutputStream
    from orchctl.client.workers import SearchStream
    from orchctl.protocol.messages import Answer, ReadEvents, StopSupervisor

T = TypeVar("T")


def _handle(client: Client, held: sessions.Held) -> SessionHandle:
    from orchctl.client.handle import SessionHandle

    return SessionHandle._of(client, held)


def _command(client: Client, run: waits.Run) -> CommandStream:
    from orchctl.client.exec import CommandStream

    return CommandStream._of(client, run)


def _output(client: Client, log: logs.Log) -> OutputStream:
    from orchctl.client.streams import OutputStream

    return OutputStream._of(client, log)


def _outputs(client: Client, several: logs.Logs) -> SeveralOutputs:
    from orchctl.client.several import SeveralOutputs

    return SeveralOutputs._of(client, several)


def _events(client: Client, request: ReadEvents) -> EventStream:
    from orchctl.client.streams import EventStream

    return EventStream._of(client, request)


def _search(client: Client, searched: logs.Searched) -> SearchStream:
    from orchctl.client.workers import SearchStream

    return SearchStream._of(client, searched)


def _own() -> Client:
    return EphemeralClient()


def _usual() -> Client:
    return Client()


class Client(Operations, Blocking):
    """A connection that comes back by itself. Use it as a context manager, or close it."""

    _connection: Connection | None = None

    ephemeral = constructor(ephemeral, _own, _usual)
    auto = constructor(auto, _own, _usual)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. Sessions go on."""
        self._hang_up()

    session = blocking_with(_handle, sessions.session)
    spawn = blocking_with(_handle, sessions.spawn)
    run = opening(_command, waits.run)
    output = opening(_output, logs.output)
    outputs = blocking_with(_outputs, logs.outputs)
    events = opening(_events, logs.events)
    search = blocking_with(_search, logs.search)

    # a person's terminal, and programs that expect one: blocking only

    def pexpect(self, session: str, **options: Any) -> SessionSpawn:
        """A pexpect object on a session: `expect`, `sendline`, `before`, `after` and the rest of that interface.

        It reads from the last input on, else from the run's start, or from `offset`. The other options are those of
        `pexpect.spawn`: `timeout`, `maxread`, `searchwindowsize`, `logfile`, `encoding` and `codec_errors`.
        """
        from orchctl.client.pexpect import SessionSpawn

        return SessionSpawn(self, session, **options)

    def attach(
        self, session: str, *, read_only: bool = False, take: bool = False, detach_keys: str | None = None
    ) -> Left:
        """Give this process's terminal to a session, until it is left or has ended. Only in the main thread.

        The first key takes the lease if it is free; `take` takes it at once, by force. `read_only` only looks on.
        `detach_keys` are such as `ctrl-p,ctrl-q`; without them, those of the settings.
        """
        from orchctl.client.attach.enter import attach

        return attach(self, self._connect, session, read_only=read_only, take=take, detach_keys=detach_keys)

    # the steps of calls

    def _find(self) -> bool:
        if self._connection is None:
            try:
                self._connection = self._greeted(connect(self.root))
            except NotRunning:
                return False
            except ConnectionLost:
                pass  # it is just being replaced
        return True

    def _exchange(self, question: Question) -> Sequence[Answer]:
        try:
            connection = self._connection = self._connection or self._connect()
            connection.expires_at = question.expires_at
            codec.require(connection.hello, question.needs)
            number = connection.begin(question.request, question.descriptor)
            answers = [connection.answer_to(number)]
            while question.pages and getattr(answers[-1], "more", False):
                answers.append(connection.answer_to(number))
        except (TimedOut, ConnectionLost):
            self._hang_up()  # the answer may still come, and nobody would know what it answers
            raise
        return answers

    def _end(self, request: StopSupervisor, start: bool) -> None:
        try:
            connection = self._connection = self._connection or self._reached(start=start)
            caller.expect(connection.ask(request), Done)
            connection.wait_for_end()
        except ConnectionLost:
            self._hang_up()
            raise
        self._hang_up()
        wait_until_gone(self.root)

    def _aside(self, job: Callable[[], T]) -> T:
        return job()

    def _work(self, action: str, asked: Mapping[str, Any]) -> Any:
        from orchctl.client.workers import answer

        return answer(action, asked)

    def _connect(self) -> Connection:
        connection = self._reached(start=self._autostart)
        try:
            codec.check(connection.hello)
        except OrchctlError:
            connection.close()
            raise
        return connection

    def _reached(self, *, start: bool) -> Connection:
        return self._greeted(reach(self.root) if start else connect(self.root))

    def _greeted(self, connected: socket.socket) -> Connection:
        connection = Connection(connected)
        self._say(f"supervisor {connection.hello.pid}, version {connection.hello.version}, at {self.root.socket}")
        return connection

    def _lend(self) -> Connection:
        connection, self._connection = self._connection or self._connect(), None
        connection.expires_at = None
        return connection

    _lend_where_some = blocking(caller.lend_where_some)

    def _take_back(self, link: Connection) -> None:
        if self._connection is None:
            self._connection = link
        else:
            link.close()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class EphemeralClient(Client):
    """A client that owns its supervisor. What is forked from its process may use it, but does not end it."""

    def __init__(self) -> None:
        from orchctl.client import ephemeral

        self._owner = os.getpid()
        self._over = False
        self._connecting = False  # begun and not ended: somebody was interrupted, and it may be about to start
        super().__init__(state_dir=ephemeral.make_home())

    def close(self) -> None:
        """End every session and the supervisor, and leave nothing behind."""
        from orchctl.client import ephemeral

        if self._owner == os.getpid() and not self._over:
            if self._connecting:
                self._connection = self._connect()
            self.stop_supervisor(kill=True)
            self._over = True
            ephemeral.remove_home(self.root.path)
        self._hang_up()

    def _connect(self) -> Connection:
        from orchctl.client import ephemeral

        if self._over:
            raise ephemeral.closed()
        self._connecting = True
        try:
            connection = super()._connect()
        except OrchctlError:
            self._connecting = False
            raise
        self._connecting = False
        return connection

    def _environment(self) -> dict[str, str]:
        from orchctl.client import ephemeral

        return ephemeral.session_environment(self.root.path)

    def _bound(self, pid: int | None) -> int | None:
        return self._owner if pid is None else pid  # holds even when nobody is left to end the session
