"""A line-wise JSON-RPC conversation, without I/O."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.agents import jsonrpc
from orchctl.agents.jsonrpc import AT_ONCE, OVERLOADED, Answer, Asked, Garbage, Name, Told, name_of, read


@given(st.text("abc-", min_size=1), st.text("abc-"), st.text())
def test_an_id_tells_what_was_asked(what: str, session: str, more: str) -> None:
    name = Name(what=what, session=session, more=more)
    assert name_of(name.id) == name


@pytest.mark.parametrize("number", [0, 1, "1", None, "orchctl", "orchctl:a", {"a": 1}])
def test_an_id_that_is_not_ours_is_nobodys(number: object) -> None:
    assert name_of(number) is None


def test_messages_are_told_apart_by_their_keys() -> None:
    name = Name(what="x", session="s")
    assert read(b'{"method":"m","id":0,"params":{"a":1}}') == Asked(id=0, method="m", params={"a": 1})
    assert isinstance(read(b'{"method":"m"}'), Told)
    assert read(json.dumps({"id": name.id, "result": None}).encode()) == Answer(name=name, result=None)
    failed = read(json.dumps({"id": name.id, "error": {"code": -1, "message": "no"}}).encode())
    assert failed == Answer(name=name, code=-1, message="no")


@given(st.binary(max_size=60))
def test_any_line_is_something(line: bytes) -> None:
    assert isinstance(read(line), Asked | Told | Answer | Garbage)


def _answered(message: dict[str, object], code: int | None = None) -> Answer:
    name = name_of(message["id"])
    assert name is not None
    return Answer(name=name, code=code)


def test_no_more_requests_are_under_way_than_a_server_can_take() -> None:
    written: list[dict[str, object]] = []
    peer = jsonrpc.Peer(lambda line: written.append(json.loads(line)))
    for number in range(AT_ONCE * 2):
        peer.ask(Name(what="x", more=str(number)), "m")
    assert len(written) == AT_ONCE
    for number in range(AT_ONCE * 2):
        assert peer.take(_answered(written[number]))
    assert len(written) == AT_ONCE * 2
    assert not peer.owed


def test_an_overloaded_server_is_asked_again_when_it_has_answered_others() -> None:
    written: list[dict[str, object]] = []
    peer = jsonrpc.Peer(lambda line: written.append(json.loads(line)))
    peer.ask(Name(what="a"), "m")
    peer.ask(Name(what="b"), "m")
    assert not peer.take(_answered(written[0], OVERLOADED))
    assert len(written) == 2
    assert peer.take(_answered(written[1]))
    assert written[2] == written[0]
    assert peer.take(_answered(written[2]))
    assert not peer.owed


def test_what_every_message_has_is_in_every_message() -> None:
    written: list[dict[str, object]] = []
    peer = jsonrpc.Peer(lambda line: written.append(json.loads(line)), {"jsonrpc": "2.0"})
    peer.ask(Name(what="a"), "m")
    peer.tell("n")
    peer.result(0, {})
    peer.refuse("x", "no")
    assert [one["jsonrpc"] for one in written] == ["2.0"] * 4
    assert written[2]["id"] == 0
