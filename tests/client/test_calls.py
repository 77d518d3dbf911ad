"""Calls: written once, driven in two ways. Nothing is missing in either client, and nothing has another parameter."""

from __future__ import annotations

import asyncio
import inspect
import os
import pydoc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from orchctl import AsyncClient, AsyncSessionHandle, Client, SessionHandle
from orchctl.client.aio import drive
from orchctl.client.call import Call, Flow, Give, Pause, blocked, do, iterated
from orchctl.client.caller import Caller, Question
from orchctl.client.calls import sessions
from orchctl.client.connection import ConnectionLost
from orchctl.client.exec import ExecOptions
from orchctl.errors import NoSuchSession, PeerBroke, TimedOut
from orchctl.protocol.messages import Answer, Done, Killed, KillSessions
from orchctl.session.model import KillReport

PAIRS = [(Client, AsyncClient), (SessionHandle, AsyncSessionHandle)]
STREAMS = {"output", "events", "run", "wait_each", "wait_for_each", "export"}  # iterators: nothing to await
BLOCKING_ONLY = {"pexpect", "attach"}  # a pexpect object waits by itself; a person has one terminal
PLACES = {"ephemeral", "auto"}  # they make a client, and ask nothing yet


def _public(kind: type) -> dict[str, object]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
def test_every_public_name_has_its_twin(blocking: type, awaited: type) -> None:
    missing = sorted(set(_public(blocking)) - set(_public(awaited)) - BLOCKING_ONLY)
    extra = sorted(set(_public(awaited)) - set(_public(blocking)))
    assert (missing, extra) == ([], [])


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
def test_a_twin_has_the_same_parameters_and_answers_with_the_same(blocking: type, awaited: type) -> None:
    twin_of = _public(awaited)
    for name, method in _public(blocking).items():
        if callable(method) and name not in BLOCKING_ONLY:
            twin = twin_of[name]
            assert callable(twin)
            theirs, ours = inspect.signature(method), inspect.signature(twin)
            assert theirs.parameters == ours.parameters, name
            assert str(theirs.return_annotation) == str(ours.return_annotation).replace("Async", ""), name
            assert inspect.iscoroutinefunction(twin) is (name not in STREAMS | PLACES), name
            assert inspect.getdoc(method), name
            assert inspect.getdoc(method) == inspect.getdoc(twin) or name == "close", name


def test_what_a_handle_passes_on_to_exec_is_what_exec_takes() -> None:
    taken = inspect.signature(Client.exec).parameters.values()
    named = {one.name: one.annotation for one in taken if one.kind is one.KEYWORD_ONLY}
    assert {name: hint.__forward_arg__ for name, hint in ExecOptions.__annotations__.items()} == named


def test_the_blocking_client_never_imports_asyncio() -> None:
    code = "import sys, orchctl; orchctl.Client, orchctl.SessionHandle; sys.exit('asyncio' in sys.modules)"
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_help_shows_the_signature_and_the_words_of_a_call(client: type) -> None:
    shown = pydoc.plain(pydoc.render_doc(client.kill))  # type: ignore[attr-defined]
    assert "kill(self, *sessions: 'str', grace_s: 'float' = 5.0, signal: 'int' = 0) -> 'KillReport'" in shown
    assert "forcibly once the grace period is over" in shown
    assert inspect.getsource(client.kill) == inspect.getsource(sessions.kill)  # type: ignore[attr-defined]


# a call with a client that is a table


class Table(Caller):
    """Answers what it was given, one after another; an error is raised."""

    def __init__(self, answers: list[Answer | Exception], *, asynchronous: bool, found: bool = True) -> None:
        super().__init__(state_dir="/nowhere")
        self._answers = iter(answers)
        self._asynchronous = asynchronous
        self._found = found
        self.questions: list[Question] = []

    def _find(self) -> object:
        return self._now(lambda: self._found)

    def _exchange(self, question: Question) -> object:
        self.questions.append(question)
        return self._now(self._next)

    def _next(self) -> list[Answer]:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return [answer]

    def _now(self, work: Callable[[], object]) -> object:
        async def later() -> object:
            return work()

        return later() if self._asynchronous else work()


def _drive(call: Call[object], *, asynchronous: bool) -> object:
    return asyncio.run(drive.awaited(call)) if asynchronous else blocked(call)


BOTH = pytest.mark.parametrize("asynchronous", [False, True])


@BOTH
def test_a_lost_connection_is_asked_again_with_the_same_request(asynchronous: bool) -> None:
    report = KillReport(ended=("x",))
    table = Table([ConnectionLost("gone"), ConnectionLost("gone"), Killed(report=report)], asynchronous=asynchronous)
    assert _drive(sessions.kill(table, "x"), asynchronous=asynchronous) == report
    assert [one.request for one in table.questions] == [KillSessions(sessions=("x",), own_manager="user")] * 3


@BOTH
def test_where_there_is_neither_supervisor_nor_session_nothing_is_asked(asynchronous: bool) -> None:
    table = Table([], asynchronous=asynchronous, found=False)
    with pytest.raises(NoSuchSession):
        _drive(sessions.kill(table, "x"), asynchronous=asynchronous)
    assert _drive(sessions.list_sessions(table), asynchronous=asynchronous) == []
    assert table.questions == []


@BOTH
def test_an_answer_of_another_kind_is_the_supervisors_mistake(asynchronous: bool) -> None:
    with pytest.raises(PeerBroke):
        _drive(sessions.kill(Table([Done()], asynchronous=asynchronous), "x"), asynchronous=asynchronous)


def test_a_step_that_takes_too_long_is_cancelled_when_it_is_awaited() -> None:
    def late() -> Call[None]:
        yield from do(asyncio.Event().wait, expires_at=time.monotonic() + 0.01)

    with pytest.raises(TimedOut):
        asyncio.run(drive.awaited(late()))


def _counted(cleaned: list[str]) -> Flow[int]:
    try:
        for number in range(3):
            yield Pause(0)
            yield Give(number)
    finally:
        cleaned.append("up")


def test_a_flow_is_an_iterator_of_either_kind_and_cleans_up_when_it_is_left() -> None:
    cleaned: list[str] = []

    async def all_of_it() -> list[int]:
        return [piece async for piece in drive.iterated(_counted(cleaned))]

    async def first_of_it() -> int:
        pieces = drive.iterated(_counted(cleaned))
        first = await anext(pieces)
        await pieces.aclose()
        return first

    assert (list(iterated(_counted(cleaned))), asyncio.run(all_of_it())) == ([0, 1, 2], [0, 1, 2])
    left: Iterator[int] = iterated(_counted(cleaned))
    assert (next(left), asyncio.run(first_of_it())) == (0, 0)
    del left
    assert cleaned == ["up"] * 4


def test_a_cancelled_task_cleans_up_in_its_call() -> None:
    cleaned: list[str] = []

    def waits() -> Call[None]:
        try:
            yield from do(asyncio.Event().wait)
        finally:
            cleaned.append("up")

    async def main() -> None:
        task = asyncio.ensure_future(drive.awaited(waits()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())
    assert cleaned == ["up"]
