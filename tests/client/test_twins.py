"""The asynchronous client is the blocking one, awaited: nothing is missing, and nothing has another parameter."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from types import ModuleType

import pytest

from orchctl import AsyncClient, AsyncSessionHandle, Client, SessionHandle
from orchctl.client.exec import ExecOptions
from tests import twins

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
    assert (missing, extra) == ([], []), "'python -m tests.twins' makes what is missing"


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


@pytest.mark.parametrize("source", twins.sources(), ids=lambda source: str(source.__name__))
def test_the_made_modules_are_as_they_would_be_made_now(source: ModuleType) -> None:
    path = twins.path_of(source)
    assert path.exists(), "'python -m tests.twins' makes it"
    assert path.read_text() == twins.made(source), "'python -m tests.twins' makes it anew"


def test_no_made_module_is_left_over() -> None:
    by_hand = {
        "__init__",
        "asking",
        "connection",
        "ephemeral",
        "gathering",
        "line",
        "looking",
        "waiting",
        "patience",
        "start",
        "streams",
    }
    made = {twins.path_of(source).stem for source in twins.sources()}
    found = {path.stem for path in twins.path_of(twins.sources()[0]).parent.glob("*.py")}
    assert found == by_hand | made


def test_what_a_handle_passes_on_to_exec_is_what_exec_takes() -> None:
    taken = inspect.signature(Client.exec).parameters.values()
    named = {one.name: one.annotation for one in taken if one.kind is one.KEYWORD_ONLY}
    assert {name: hint.__forward_arg__ for name, hint in ExecOptions.__annotations__.items()} == named


def test_the_blocking_client_never_imports_asyncio() -> None:
    code = "import sys, orchctl; orchctl.Client, orchctl.SessionHandle; sys.exit('asyncio' in sys.modules)"
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
