"""What a recorded Claude said, as happenings: nothing is told twice, and nothing depends on who listens, or when."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.agents.claude.server import ClaudeServer
from orchctl.agents.claude.translate import QUIET_SYSTEM, Translator
from orchctl.agents.interface import Opening, Prompt
from orchctl.session.events import (
    Answered,
    Checkpoint,
    Delivered,
    Need,
    NeedsInput,
    NotOpened,
    Opened,
    Phase,
    Reasoning,
    Text,
    Tool,
    Trouble,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
)
from tests.agents.claude.playback import OPENING, Playback, names
from tests.agents.listening import Listening

WHOLE = [name for name in names() if name not in ("retry500", "resume-missing")]  # no turn of those ended


def again(lines: list[bytes], *, known: bool) -> Listening:
    """What another supervisor tells of these lines."""
    host = Listening()
    server = ClaudeServer(host, "native")
    if known:
        server.know(OPENING)
    host.replaying = True
    for line in lines:
        server.hear(line)
    return host


def begun() -> Translator:
    """In a turn."""
    talk = Translator()
    talk.hear({"type": "command_lifecycle", "command_uuid": "p1", "state": "started"})
    return talk


@pytest.mark.parametrize("name", WHOLE)
def test_every_turn_begins_and_ends_once(name: str) -> None:
    played = Playback(name)
    turns = [one.turn for one in played.host.of(TurnStarted) if isinstance(one, TurnStarted)]
    assert turns
    assert len(set(turns)) == len(turns)
    assert [one.turn for one in played.host.of(TurnEnded) if isinstance(one, TurnEnded)] == turns
    assert {one.once for one in played.host.of(Delivered) if isinstance(one, Delivered)} >= set(turns)
    phases = Counter((one.id, one.phase) for one in played.host.of(Tool) if isinstance(one, Tool))
    assert set(phases.values()) <= {1}
    assert all((tool, Phase.STARTED) in phases for tool, _ in phases)


@pytest.mark.parametrize("name", names())
def test_whatever_was_recorded_is_known(name: str) -> None:
    assert Playback(name).host.of(Unknown) == []


@pytest.mark.parametrize("name", names())
def test_a_supervisor_that_hears_it_again_tells_the_same(name: str) -> None:
    played = Playback(name)
    heard = again(played.lines, known=False)
    assert heard.told == played.host.told
    assert heard.written == []


@pytest.mark.parametrize(
    "name", sorted({*WHOLE} - {"main"})
)  # there, a prompt was sent in the middle of another's turn
def test_it_may_begin_to_listen_after_any_turn(name: str) -> None:
    played = Playback(name)
    ends = [number for number, line in enumerate(played.lines) if json.loads(line)["type"] == "result"]
    for end in ends:
        rest = again(played.lines[end + 1 :], known=True).told
        assert rest == played.host.told[len(played.host.told) - len(rest) :]


def test_what_happened_in_a_conversation_of_ours() -> None:
    told = [one for _, one in Playback("prompted").host.told]
    text = "".join(one.text for one in told if isinstance(one, Text))
    assert text.startswith("hello there\n")
    assert "".join(one.text for one in told if isinstance(one, Reasoning)) == "let me see"
    ends = [one.end for one in told if isinstance(one, TurnEnded)]
    assert ends == [
        TurnEnd.COMPLETED, TurnEnd.COMPLETED, TurnEnd.COMPLETED, TurnEnd.COMPLETED, TurnEnd.INTERRUPTED, TurnEnd.FAILED,
        TurnEnd.COMPLETED, TurnEnd.COMPLETED,
    ]  # fmt: skip
    needs = [one for one in told if isinstance(one, NeedsInput)]
    assert [one.need for one in needs] == [Need.PERMISSION, Need.PERMISSION, Need.QUESTION, Need.PERMISSION]
    assert [one.reply for one in told if isinstance(one, Answered)][:3] == ["allow", "deny", "blue"]
    assert [bool(one.subagent) for one in needs] == [False, False, False, True]
    troubles = [(one.code, one.again) for one in told if isinstance(one, Trouble)]
    assert troubles == [("turn-failed", False), ("api-retry", True)]
    assert [one.native["begun"] for one in told if isinstance(one, Checkpoint)] == ["yes"] * 8


def test_an_interrupt_that_came_too_early_is_sent_again_when_the_turn_begins() -> None:
    host = Listening()
    server = ClaudeServer(host, "native")
    server.know(OPENING)
    server.send("s", Prompt(text="x", once="p1"))
    server.interrupt("s")
    assert [one["type"] for one in host.take_written()] == ["user", "control_request"]
    server.hear(b'{"type":"command_lifecycle","command_uuid":"p1","state":"queued"}')
    assert host.take_written() == []
    server.hear(b'{"type":"command_lifecycle","command_uuid":"p1","state":"started"}')
    assert [one["request"]["subtype"] for one in host.take_written()] == ["interrupt"]
    assert server.owes
    server.hear(b'{"type":"result","is_error":true,"terminal_reason":"aborted_streaming"}')
    assert host.told[-1] == ("s", TurnEnded(turn="p1", end=TurnEnd.INTERRUPTED))


def test_a_conversation_that_is_not_there_is_not_opened() -> None:
    host = Listening()
    server = ClaudeServer(host, "native")
    server.open(Opening(session="s", cwd="/w", native={"id": "gone"}))
    server.hear(
        b'{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}'
    )
    assert host.told == [("s", NotOpened(code="not-resumed", message="No conversation found"))]


def test_a_message_that_was_not_streamed_is_told_when_it_is_whole() -> None:
    talk = begun()
    said = {"id": "m", "content": [{"type": "text", "text": "whole"}]}
    assert talk.hear({"type": "assistant", "message": said}) == [Text(text="whole", part="m")]
    assert talk.hear({"type": "assistant", "error": "x", "message": said}) == []  # the end of the turn says it
    assert talk.hear({"type": "assistant", "parent_tool_use_id": "t", "message": said}) == []


def test_what_a_child_does_may_outlive_the_turn() -> None:
    talk = begun()
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    talk.hear({"type": "assistant", "parent_tool_use_id": "a", "message": {"id": "m", "content": [block]}})
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": "t", "agent_id": "child"}
    (needs,) = talk.hear({"type": "control_request", "request_id": "r", "request": asked})
    assert isinstance(needs, NeedsInput)
    assert needs.subagent == "child"
    assert [type(one) for one in talk.hear({"type": "result", "terminal_reason": "completed"})] == [TurnEnded]
    assert "r" in talk.open
    result = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
    (done,) = talk.hear({"type": "user", "message": {"content": [result]}})
    assert isinstance(done, Tool)
    assert (done.output, done.ok) == ("out", True)


def test_a_call_that_is_left_open_ends_with_the_turn() -> None:
    talk = begun()
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    talk.hear({"type": "assistant", "message": {"id": "m", "content": [block]}})
    done, over = talk.hear({"type": "result", "is_error": True, "terminal_reason": "aborted_tools"})
    assert done == Tool(id="t", phase=Phase.FINISHED, name="Bash", title="ls", input={"command": "ls"}, ok=False)
    assert over == TurnEnded(turn="p1", end=TurnEnd.INTERRUPTED)


@pytest.mark.parametrize("kind", sorted(QUIET_SYSTEM))
def test_what_is_nothing_to_tell_is_not_told(kind: str) -> None:
    assert Translator().hear({"type": "system", "subtype": kind}) == []


def test_what_nobody_knows_is_counted_and_a_request_of_it_refused() -> None:
    host = Listening()
    server = ClaudeServer(host, "native")
    server.know(OPENING)
    server.hear(b'{"type":"moonlight"}')
    server.hear(b'{"type":"system","subtype":"moonlight"}')
    server.hear(b'{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback"}}')
    server.hear(b"not json")
    kinds = [one.kind for one in host.of(Unknown) if isinstance(one, Unknown)]
    assert kinds == ["moonlight", "system moonlight", "control_request hook_callback", "garbage"]
    (refusal,) = host.written
    assert (refusal["response"]["subtype"], refusal["response"]["request_id"]) == ("error", "r")


def test_the_first_answer_opens_it() -> None:
    (_, opened), *_ = Playback("sigint").host.told
    assert opened == Opened(native={"id": "native", "begun": "no"})


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(
    [
        "command_lifecycle",
        "system",
        "stream_event",
        "assistant",
        "user",
        "control_request",
        "control_response",
        "result",
    ]
)
fields = ("subtype", "event", "message", "request", "response", "request_id", "uuid", "isReplay", "state", "errors")


@settings(max_examples=200)
@given(st.lists(st.tuples(kinds, st.dictionaries(st.sampled_from(fields), values))), values)
def test_no_shape_of_a_message_stops_it(messages: list[tuple[str, dict[str, Any]]], last: Any) -> None:
    host = Listening()
    server = ClaudeServer(host, "native")
    server.know(OPENING)
    for kind, rest in messages:
        server.hear(json.dumps({"type": kind, **rest}).encode())
    server.hear(json.dumps(last).encode())
    server.interrupt("s")
