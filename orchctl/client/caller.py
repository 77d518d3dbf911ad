"""Who makes calls: the client as its calls see it, and how they ask the supervisor.

Asking is persistent: a supervisor that dies under a request is waited for, and the request said again. Where there is
no supervisor and no session, nothing is found, and nothing is started to say so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from orchctl.client.call import Call, Pause, do
from orchctl.client.connection import ConnectionLost
from orchctl.errors import NoSuchSession, PeerBroke, SupervisorUnreachable
from orchctl.paths import Root, find_root
from orchctl.session import manager

if TYPE_CHECKING:
    from orchctl.protocol import codec, messages
    from orchctl.protocol.messages import Answer, Request

Kind = TypeVar("Kind", bound="Answer")
Page = TypeVar("Page", "messages.SomeSessions", "messages.SomeCommands")
RECONNECT_S = 30.0


class Question(NamedTuple):
    """A request, and what it needs: an answer in pages, a feature of the supervisor, a descriptor that goes along."""

    request: Request
    pages: bool = False
    needs: str = ""
    descriptor: int | None = None
    expires_at: float | None = None


class Link(Protocol):
    """A connection of either kind; what it waits for is returned, or to be awaited."""

    hello: codec.Hello
    expires_at: float | None

    def fileno(self) -> int: ...

    def close(self) -> None: ...

    def hang_up(self) -> None: ...

    def ask(self, request: Request) -> Any: ...

    def begin(self, request: Request, descriptor: int | None = None) -> Any: ...

    def next(self, number: int) -> Any: ...

    def receive(self) -> Any: ...

    @staticmethod
    def ready(links: Sequence[Any], timeout_s: float | None) -> Any: ...


Connect = Callable[[], Any]  # gives a Link, or one to await


class Caller:
    """A client, as its calls see it: where its supervisor is, who asks, and the steps that can be taken."""

    def __init__(
        self, *, state_dir: str | None = None, autostart: bool = True, say: Callable[[str], None] | None = None
    ) -> None:
        self.root = Root(os.path.abspath(state_dir)) if state_dir else find_root(os.environ)
        self._autostart = autostart
        self._say = say or (lambda _: None)  # told what is being done, for whoever wants to see it
        self._own_manager = manager.resolve(None, os.environ.get("ORCHCTL_MANAGER"))

    def _environment(self) -> dict[str, str]:
        """What a session inherits."""
        from orchctl.client.inherited import environment

        return environment()

    def _bound(self, pid: int | None) -> int | None:
        """The process that a session ends with."""
        return pid

    def _no_sessions(self) -> bool:
        try:
            return not os.listdir(self.root.sessions)
        except FileNotFoundError:
            return True

    def _find(self) -> Any:
        """Whether a supervisor runs; the connection that shows it is kept. Starts none."""
        raise NotImplementedError

    def _exchange(self, question: Question) -> Any:
        """The answers to a request, one if not in pages; a lost connection is an error, and let go of."""
        raise NotImplementedError

    def _end(self, request: messages.StopSupervisor, start: bool) -> Any:
        """Ask the supervisor to stop, on a connection of its own, and wait until it is gone."""
        raise NotImplementedError

    def _aside(self, job: Callable[[], Any]) -> Any:
        """The result of something that blocks."""
        raise NotImplementedError

    def _work(self, action: str, asked: Mapping[str, Any]) -> Any:
        """The one JSON document that a worker process gives."""
        raise NotImplementedError

    def _connect(self) -> Any:
        """A new connection; starts a supervisor if need be."""
        raise NotImplementedError

    def _lend(self) -> Any:
        """A connection for one alone."""
        raise NotImplementedError

    def _lend_where_some(self) -> Any:
        """The same, as a method made of `lend_where_some`."""
        raise NotImplementedError

    def _take_back(self, link: Any) -> None:
        """One on which nothing more comes."""
        raise NotImplementedError


# asking, again after a lost connection


class Patience:
    """Runs out half a minute after the supervisor was lost, however long it was there before."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = self._tried_at = 0.0
        self._pause_s = 0.0

    def spend(self, error: SupervisorUnreachable, expires_at: float | None = None) -> Call[None]:
        """Wait a little longer each time, but not past `expires_at`; in the end, give up with `error`."""
        pause_s = self.next_pause_s(error)
        yield Pause(pause_s if expires_at is None else max(0.0, min(pause_s, expires_at - self._clock())))

    def next_pause_s(self, error: SupervisorUnreachable) -> float:
        """How long to wait now; in the end, `error`."""
        now = self._clock()
        if self._pause_s == 0 or now > self._tried_at + RECONNECT_S:  # lost for the first time, or since it was there
            self._until, self._pause_s = now + RECONNECT_S, 0.01
        pause_s = self._pause_s
        if now + pause_s > self._until:
            raise SupervisorUnreachable(f"no supervisor for {RECONNECT_S:.0f} s: {error.message}") from None
        self._pause_s, self._tried_at = min(0.5, pause_s * 2), now + pause_s
        return pause_s


def ask(
    caller: Caller,
    request: Request,
    kind: type[Kind],
    *,
    timeout_s: float | None = None,
    needs: str = "",
    descriptor: int | None = None,
) -> Call[Kind]:
    """The one answer to a request; where there is no session none is found, and no supervisor is started to say so."""
    named = getattr(request, "session", None)
    yield from expect_some(caller, *((named,) if named else getattr(request, "sessions", ())))
    expires_at = None if timeout_s is None else time.monotonic() + timeout_s
    question = Question(request, needs=needs, descriptor=descriptor, expires_at=expires_at)
    return expect((yield from _persist(caller, question))[0], kind)


def ask_pages(caller: Caller, request: Request, kind: type[Page]) -> Call[list[Page]]:
    """An answer that comes in parts."""
    return [expect(page, kind) for page in (yield from _persist(caller, Question(request, pages=True)))]


def _persist(caller: Caller, question: Question) -> Call[Sequence[Answer]]:
    """Ask, again after a lost connection, for up to half a minute: a request that is said twice is done once."""
    patience = Patience()
    while True:
        try:
            answers: Sequence[Answer] = yield from do(caller._exchange, question, expires_at=question.expires_at)
            return answers
        except ConnectionLost as error:
            caller._say(f"{error.message}; asking again")
            yield from patience.spend(error, question.expires_at)


def expect(answer: Answer, kind: type[Kind]) -> Kind:
    """The answer that is due; another one is the supervisor's mistake."""
    if not isinstance(answer, kind):
        raise PeerBroke(f"the supervisor answered {answer.kind!r} where {kind.kind!r} was due")
    return answer


def nothing_there(caller: Caller) -> Call[bool]:
    """Whether no supervisor runs and none is needed: commands that only read or end things start none."""
    return not (yield from do(caller._find)) and caller._no_sessions()


def expect_some(caller: Caller, *sessions: str) -> Call[None]:
    """An error where sessions are named and there is none at all."""
    if sessions and (yield from nothing_there(caller)):
        raise NoSuchSession(f"no session {sessions[0]!r}; there is none at all")


def lend_where_some(caller: Caller) -> Call[Any]:
    """A connection for one alone, who wants a session."""
    if (yield from nothing_there(caller)):
        raise NoSuchSession("there is no session at all")
    return (yield from do(caller._lend))
