"""Every number of every request has a range, and a supervisor refuses what is outside of it by a stable code."""

from __future__ import annotations

import dataclasses
import os
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from orchctl.protocol import messages
from orchctl.protocol.messages import Failed
from orchctl.protocol.ranges import RANGES, Range
from tests.rawclient import HELLO, RawClient, control, decoded
from tests.world import World, fresh_world

REQUESTS: tuple[type[Any], ...] = typing.get_args(messages.Request)
SESSION = "0badcafe-0000-4000-8000-000000000000"
TEXTS = {"session": "shell", "session_id": SESSION, "cwd": "/", "exec_id": "0123456789", "what": "stdin"}
OFFSET = 1 << 40  # of a spool: a file of a terabyte


def _numbers(hint: Any) -> bool:
    """Whether a field holds an integer or a fraction: always, perhaps, or by name."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union, dict):
        return any(map(_numbers, typing.get_args(hint)))
    return hint in (int, float)


def _fields() -> list[tuple[type[Any], str, Any]]:
    hints = [(request, typing.get_type_hints(request)) for request in REQUESTS]
    return [
        (request, field.name, found[field.name])
        for request, found in hints
        for field in dataclasses.fields(request)
        if _numbers(found[field.name])
    ]


def _required(request: type[Any]) -> dict[str, Any]:
    """The least that can be said."""
    hints = typing.get_type_hints(request)
    made: dict[str, Any] = {}
    for field in dataclasses.fields(request):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            hint = hints[field.name]
            texts: dict[Any, Any] = {str: TEXTS.get(field.name, "x"), int: 1, tuple[str, ...]: ["true"]}
            made[field.name] = texts.get(hint, {})
    return made


def _outside(allowed: Range) -> list[int]:
    low, high = int(allowed.low), int(allowed.high)
    return [low - 1, max(low - (1 << 40), -(1 << 63)), high + 1, min(high + (1 << 40), (1 << 64) - 1)]


def test_every_number_in_a_request_has_a_range() -> None:
    assert {(request.kind, name) for request, name, _ in _fields()} == {
        (kind, name) for kind, fields in RANGES.items() for name in fields
    }


@pytest.fixture(scope="module")
def served() -> Iterator[World]:
    """One supervisor for all of them; it must never be surprised."""
    with fresh_world() as made:
        made.ok("spawn", "--name", "shell", "bash")
        yield made
        assert made.json("info", "shell")["is_alive"] is True
        with open(f"{made.state}/supervisor.log", encoding="utf-8") as file:
            assert "Traceback" not in file.read()


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, fields in RANGES.items() for name in fields])
def test_a_number_out_of_its_range_is_refused(served: World, kind: str, name: str) -> None:
    (request,) = (one for one in REQUESTS if one.kind == kind)
    by_name = typing.get_origin(typing.get_type_hints(request)[name]) is dict
    allowed = RANGES[kind][name]
    with RawClient(served) as client:
        client.say(HELLO)
        for count, number in enumerate(_outside(allowed), 2):
            value = {"x": number} if by_name else number
            client.say(control({"id": count, "kind": kind, **_required(request), name: value}))
            _, said = decoded(client.hear(count)[-1])
            assert isinstance(said, Failed), (number, said)
            assert (said.error, said.code) == ("BadInput", allowed.code), (number, said)
    assert not os.path.exists(f"{served.state}/sessions/{SESSION}")


def test_a_part_of_a_spool_beyond_its_end_makes_no_sparse_file(served: World) -> None:
    part = {"session": "shell", "exec_id": "0123456789", "what": "stdin", "data_b64": "eHl6"}
    with RawClient(served) as client:
        client.say(HELLO)
        for number, offset in enumerate((0, OFFSET, 3, 0), 1):  # the last is asked again after a lost answer
            client.say(control({"id": number, "kind": "command.spool", **part, "offset": offset}))
            client.hear(number + 1)
        said = [decoded(frame)[1] for frame in client.frames[1:]]
    assert [getattr(one, "code", one.kind) for one in said] == ["done", "bad-offset", "done", "done"]
    (session,) = os.listdir(f"{served.state}/sessions")
    assert os.path.getsize(f"{served.state}/sessions/{session}/shell/i0123456789") == 6
