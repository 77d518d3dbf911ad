"""What recorded agents said, as happenings: nothing is left open, and nothing depends on who listens, or when."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.agents.acp.server import AcpServer
from orchctl.agents.acp.translate import QUIET, Translator
from orchctl.agents.interface import Opening
from orchctl.agents.jsonrpc import Answer, Name
from orchctl.session.events import (
    Answered,
    Delivered,
    NeedsInput,
    NotOpened,
    Opened,
    Phase,
    Reasoning,
    Text,
    Tool,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
    Usage,
)
from tests.agents.acp.playback import Playback, names, recording
from tests.agents.listening import Listening

KNOWN_ODDITIES = {
    "terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release", "fs/write_text_file",
    "fs/read_text_file", "craft/drainMidTurnQueue", "session/update brand_new_thing", "garbage",
    "qwen/notify/session/prompt-suggestion", "_auth/status_update",
}  # fmt: skip
PROMPT = Name(what="prompt", session="s", more="p1")


def answer(**fields: Any) -> Answer:
    """To a prompt."""
    return Answer(name=PROMPT, **fields)


def ended(talk: Translator, **fields: Any) -> TurnEnded:
    """How a turn with this answer ends."""
    talk.taken("p1")
    last = talk.ended("p1", answer(**fields))[-1]
    assert isinstance(last, TurnEnded)
    return last


@pytest.mark.parametrize("name", names())
def test_every_turn_begins_and_ends_once_and_leaves_nothing_open(name: str) -> None:
    played = Playback(name)
    told = played.host.told
    assert len(played.host.of(Delivered)) == len(played.host.of(TurnStarted)) == len(played.host.of(TurnEnded))
    assert len(played.host.of(TurnEnded)) == played.prompts
    phases = Counter((one.id, one.phase) for _, one in told if isinstance(one, Tool) and one.phase is not Phase.UPDATED)
    assert set(phases.values()) <= {1}
    assert {tool for tool, phase in phases if phase is Phase.STARTED} == {
        tool for tool, phase in phases if phase is Phase.FINISHED
    }
    asked = [one.request for _, one in told if isinstance(one, NeedsInput)]
    assert sorted(one.request for _, one in told if isinstance(one, Answered)) == sorted(asked)


@pytest.mark.parametrize("name", names())
def test_whatever_was_recorded_is_known_or_counted(name: str) -> None:
    unknown = {one.kind for one in Playback(name).host.of(Unknown) if isinstance(one, Unknown)}
    assert unknown <= KNOWN_ODDITIES


@pytest.mark.parametrize("name", names())
def test_a_supervisor_that_hears_it_again_tells_the_same(name: str) -> None:
    played = Playback(name)
    again = Listening()
    server = AcpServer(again)
    again.replaying = True
    for line in played.lines:
        server.hear(line)
    assert again.told == played.host.told
    assert [line for line in again.written if "method" in line] == []  # nothing is asked


@pytest.mark.parametrize("name", ["fake-agent", "gemini-cancel-etc", "opencode-main", "qwen-main", "vibe-main"])
def test_it_may_begin_to_listen_after_any_turn(name: str) -> None:
    played = Playback(name)
    opened = next(one for one in played.host.of(Opened) if isinstance(one, Opened))
    ends = [number for number, line in enumerate(played.lines) if b"orchctl:prompt:" in line]
    assert ends
    for end in ends:
        again = Listening()
        server = AcpServer(again)
        server.know(Opening(session="s1", cwd="/w", native=opened.native))
        again.replaying = True
        for line in played.lines[end + 1 :]:
            server.hear(line)
        rest = [(session, one) for session, one in again.told]
        assert rest == played.host.told[len(played.host.told) - len(rest) :]
        assert len(again.of(TurnEnded)) == len(ends) - 1 - ends.index(end)


@settings(max_examples=60)
@given(st.data())
def test_lines_that_are_no_messages_change_nothing_but_the_count(data: st.DataObject) -> None:
    lines = Playback("qwen-main").lines
    place = data.draw(st.integers(0, len(lines)))
    junk = data.draw(st.binary(max_size=40).filter(lambda line: b"\n" not in line))
    plain, mixed = Listening(), Listening()
    plain.replaying = mixed.replaying = True
    one, other = AcpServer(plain), AcpServer(mixed)
    for line in lines:
        one.hear(line)
    for line in [*lines[:place], junk, *lines[place:]]:
        other.hear(line)
    assert [told for told in mixed.told if told[1] != Unknown(kind="garbage")] == plain.told


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "odd"])
fields = ("content", "_meta", "toolCallId", "title", "status", "rawInput", "rawOutput", "messageId", "kind", "name")
updates = st.builds(
    lambda kind, rest: {"sessionUpdate": kind, **rest}, kinds, st.dictionaries(st.sampled_from(fields), values)
)
asks = st.dictionaries(st.sampled_from(("toolCall", "options", "message", "requestedSchema", "toolCallId")), values)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(["update", "ask", "form", "answer", "hello", "any"]), updates, asks, values)))
def test_no_shape_of_a_message_stops_it(messages: list[tuple[str, Any, Any, Any]]) -> None:
    host = Listening()
    server = AcpServer(host)
    server.know(Opening(session="s", cwd="/w", native={"id": "n"}))
    for kind, update, ask, value in messages:
        if kind == "update":
            message: Any = {"method": "session/update", "params": {"sessionId": "n", "update": value or update}}
        elif kind in ("ask", "form"):
            method = "session/request_permission" if kind == "ask" else "elicitation/create"
            message = {"id": 1, "method": method, "params": {**ask, "sessionId": "n"}}
        elif kind == "any":
            message = value
        else:
            what = {"answer": f"orchctl:prompt:s:{value}", "hello": "orchctl:hello::"}[kind]
            message = {"id": what, "result": value}
        server.hear(json.dumps(message).encode())
    server.interrupt("s")


@pytest.mark.parametrize("name", sorted(QUIET))
def test_what_is_nothing_to_tell_is_not_told(name: str) -> None:
    assert Translator().update({"sessionUpdate": name, "entries": [], "used": 1, "size": 2}) == []


def test_text_and_thoughts_are_told_piece_by_piece() -> None:
    talk = Translator()
    said = talk.update(
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "a"}}
    )
    thought = talk.update({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}})
    assert said == [Text(text="a", part="m")]
    assert thought == [Reasoning(text="hm")]
    assert talk.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "…"}}) == []


def test_a_tool_call_is_patched_until_it_is_over() -> None:
    talk = Translator()
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Shell", "kind": "execute", "rawInput": {}}
    content = [{"type": "content", "content": {"type": "text", "text": "half\n"}}]
    whole = [{"type": "content", "content": {"type": "text", "text": "half\nall\n"}}]
    patch: dict[str, Any] = {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
    assert [one.phase for one in talk.update(call) if isinstance(one, Tool)] == [Phase.STARTED]
    (named,) = talk.update({**patch, "title": "ls", "rawInput": '{"command": "ls"}'})
    assert named == Tool(id="t", phase=Phase.UPDATED, name="execute", title="ls", input={"command": "ls"})
    assert talk.update({**patch, "status": "in_progress"}) == []
    assert [one.output for one in talk.update({**patch, "content": content}) if isinstance(one, Tool)] == ["half\n"]
    assert [one.output for one in talk.update({**patch, "content": whole}) if isinstance(one, Tool)] == ["all\n"]
    (done,) = talk.update({**patch, "status": "completed"})
    assert isinstance(done, Tool)
    assert (done.phase, done.output, done.ok) == (Phase.FINISHED, "half\nall\n", True)
    assert talk.update({**patch, "status": "failed"}) == []


def test_a_call_that_is_left_open_ends_with_the_turn() -> None:
    talk = Translator()
    talk.taken("p1")
    talk.asked(0, "session/request_permission", {"toolCall": {"toolCallId": "t", "title": "rm"}, "options": []})
    tool, answered, over = talk.ended("p1", answer(result={"stopReason": "cancelled"}))
    assert tool == Tool(id="t", phase=Phase.FINISHED, title="rm", ok=False)
    assert answered == Answered(request="0:t", reply="withdrawn")
    assert over == TurnEnded(turn="p1", end=TurnEnd.INTERRUPTED)


@pytest.mark.parametrize(
    ("fields", "end", "error"),
    [
        ({"result": {"stopReason": "end_turn"}}, TurnEnd.COMPLETED, None),
        ({"result": {"stopReason": "cancelled"}}, TurnEnd.INTERRUPTED, None),
        ({"result": {"stopReason": "refusal"}}, TurnEnd.FAILED, "the agent refuses to go on"),
        (
            {"result": {"stopReason": "max_tokens"}},
            TurnEnd.FAILED,
            "the answer has reached the model's limit of tokens",
        ),
        ({"code": -32800, "message": "cancelled"}, TurnEnd.INTERRUPTED, None),
        ({"code": 400, "message": "no", "data": {"details": "so"}}, TurnEnd.FAILED, "no: so"),
        ({"code": -32603}, TurnEnd.FAILED, "error -32603"),
    ],
)
def test_how_a_turn_ends(fields: dict[str, Any], end: TurnEnd, error: str | None) -> None:
    over = ended(Translator(), **fields)
    assert (over.end, over.error) == (end, error)


def test_a_turn_that_ends_after_it_was_stopped_was_interrupted_whatever_the_agent_says() -> None:
    talk = Translator(stopping=True)
    assert ended(talk, result={"stopReason": "end_turn"}).end is TurnEnd.INTERRUPTED
    assert not talk.stopping


def test_an_unknown_reason_to_stop_is_counted() -> None:
    told = Translator().ended("p1", answer(result={"stopReason": "moon"}))
    assert told[-2:] == [Unknown(kind="stopReason moon"), TurnEnded(turn="p1")]


def test_that_a_prompt_was_taken_may_be_heard_late() -> None:
    talk = Translator()
    told = talk.ended("p1", answer(result={"stopReason": "end_turn"}))
    assert told[:2] == [Delivered(once="p1"), TurnStarted(turn="p1")]
    assert talk.taken("p1") == [Delivered(once="p1")]  # and does not begin another turn
    assert talk.taken("p2") == [Delivered(once="p2"), TurnStarted(turn="p2")]


@pytest.mark.parametrize(
    ("result", "usage"),
    [
        ({"usage": {"inputTokens": 11, "outputTokens": 7}}, Usage(input_tokens=11, output_tokens=7)),
        ({"_meta": {"quota": {"token_count": {"input_tokens": 2}}}}, Usage(input_tokens=2)),
        ({}, None),
    ],
)
def test_tokens_are_counted_where_the_agent_counts_them(result: dict[str, Any], usage: Usage | None) -> None:
    assert ended(Translator(), result={"stopReason": "end_turn", **result}).usage == usage


def test_tokens_that_are_told_with_each_message_are_added_up() -> None:
    talk = Translator()
    counted = {"usage": {"inputTokens": 11, "outputTokens": 7, "thoughtTokens": 2}}
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": counted}
    assert talk.update(chunk) == talk.update(chunk) == []
    usage = ended(talk, result={"stopReason": "end_turn"}).usage
    assert usage == Usage(input_tokens=22, output_tokens=14, reasoning_tokens=4)


def test_what_is_replayed_while_a_conversation_is_loaded_is_no_news() -> None:
    played = Playback("qwen-load")
    updates = [row for row in recording("qwen-load") if "session/update" in json.dumps(row)]
    assert len(updates) > 10
    assert [type(one) for _, one in played.host.told] == [Opened]


def test_a_conversation_of_ours_that_cannot_be_resumed_is_begun_anew_and_said_so() -> None:
    host = Listening()
    server = AcpServer(host)
    server.open(Opening(session="s", cwd="/w", native={"id": "gone", "can": "load"}))
    (load,) = host.take_written()
    server.hear(json.dumps({"id": load["id"], "error": {"code": -32603, "message": "Internal error"}}).encode())
    (new,) = host.take_written()
    assert (load["method"], new["method"]) == ("session/load", "session/new")
    server.hear(json.dumps({"id": new["id"], "result": {"sessionId": "n2"}}).encode())
    (_, opened), (_, trouble) = host.told
    assert isinstance(opened, Opened)
    assert opened.native == {"id": "n2", "can": "load"}
    assert "could not resume" in str(trouble)


def test_a_conversation_that_somebody_named_is_not_replaced_by_a_new_one() -> None:
    host = Listening()
    server = AcpServer(host)
    server.hear(
        json.dumps(
            {"id": "orchctl:hello::", "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
        ).encode()
    )
    server.open(Opening(session="s", cwd="/w", native={"id": "gone"}))
    (load,) = host.take_written()
    server.hear(json.dumps({"id": load["id"], "error": {"code": -32002, "message": "Resource not found"}}).encode())
    assert host.told == [("s", NotOpened(code="not-resumed", message="Resource not found"))]
