"""What codex was heard to say, and what it means."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from orchctl.agents.codex import requests
from orchctl.agents.codex.server import CodexServer
from orchctl.agents.codex.translate import SILENT, Thread
from orchctl.agents.interface import Opening, Reply
from orchctl.agents.transcript import Uptake
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Checkpoint,
    Choice,
    Need,
    NeedsInput,
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

RECORDED = os.path.join(os.path.dirname(__file__), "recorded")
NAMES = sorted(name.removesuffix(".ndjson") for name in os.listdir(RECORDED))


class Listener:
    """A host that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, AgentEvent]] = []
        self.written: list[dict[str, Any]] = []
        self.replaying = False

    def ready(self, version: str | None) -> None:
        """It said hello."""

    def emit(self, session: str, *happenings: AgentEvent) -> None:
        """Remember."""
        self.heard += [(session, one) for one in happenings]

    def write(self, line: bytes, session: str | None = None) -> None:
        """Remember."""
        self.written.append(json.loads(line))

    def keep_raw(self, payload: bytes) -> None:
        """It fetches nothing."""

    def stdout(self) -> bytes:
        """Nothing."""
        return b""

    def broken(self, why: str) -> None:
        """Never."""
        raise AssertionError(why)


def _lines(name: str) -> list[bytes]:
    with open(f"{RECORDED}/{name}.ndjson", "rb") as file:
        return file.read().splitlines()


def _heard(name: str, skip: int = 0) -> tuple[list[AgentEvent], Listener, CodexServer]:
    lines = _lines(name)
    listener = Listener()
    server = CodexServer(listener)
    threads = {json.loads(line)["params"].get("threadId") for line in lines} - {None}
    for thread in threads:
        server.know(Opening(session=f"session-{thread}", cwd="/", native={"id": thread}))
    for line in lines[skip:]:
        server.hear(line)
    return [one for _, one in listener.heard], listener, server


def _of(kind: type[Any], heard: list[AgentEvent]) -> Iterator[Any]:
    return (one for one in heard if isinstance(one, kind))


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_message_is_known_and_the_same_each_time(name: str) -> None:
    heard, _, _ = _heard(name)
    assert [one for one in _of(Unknown, heard) if one.kind != "item/tool/call"] == []
    assert _heard(name)[0] == heard


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_may_begin_anywhere(name: str) -> None:
    for skip in range(len(_lines(name))):
        _heard(name, skip)


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_that_ends_has_begun_and_each_turn_ends_once(name: str) -> None:
    if name == "misc":  # one message of each kind, and no story
        return
    heard, _, _ = _heard(name)
    begun: set[str] = set()
    for one in _of(Tool, heard):
        if one.phase is Phase.STARTED:
            begun.add(one.id)
        assert one.id in begun
    turns = [one.turn for one in _of(TurnStarted, heard)]
    assert [one.turn for one in _of(TurnEnded, heard)] == turns
    assert [one.native["turn"] for one in _of(Checkpoint, heard)] == turns


def _said(name: str) -> str:
    return Uptake().take(_heard(name)[0]).text


def test_reasoning_comes_in_pieces() -> None:
    heard, _, _ = _heard("reasoning")
    assert "".join(one.text for one in _of(Reasoning, heard)).split()


def test_a_command_has_its_output_and_its_end() -> None:
    tools = list(_of(Tool, _heard("command")[0]))
    assert tools[0].name == "command"
    assert "bash" not in tools[0].title
    assert (tools[-1].phase, tools[-1].ok) == (Phase.FINISHED, True)
    assert tools[-1].output
    assert list(_of(Tool, _heard("command-fails")[0]))[-1].ok is False


def test_a_permission_is_asked_with_its_choices_and_answered() -> None:
    heard, listener, server = _heard("approval")
    (asked,) = _of(NeedsInput, heard)
    assert (asked.request, asked.need, asked.title) == ("0", Need.PERMISSION, "run touch approved.txt && echo made")
    assert [choice.kind for choice in asked.choices] == ["allow", "always", "deny", "answer"]
    assert [one.request for one in _of(Answered, heard)] == ["0"]
    server.reply("session-id-0", "0", Reply(choice="accept"))
    assert listener.written == []  # it is no longer asked


def test_a_reply_echoes_the_id_as_it_was() -> None:
    lines = _lines("approval")
    listener = Listener()
    server = CodexServer(listener)
    server.know(Opening(session="s", cwd="/", native={"id": json.loads(lines[0])["params"]["threadId"]}))
    for line in lines:
        if b"serverRequest/resolved" in line:
            break
        server.hear(line)
    server.reply("s", "0", Reply(choice="decline"))
    assert listener.written == [{"id": 0, "result": {"decision": "decline"}}]


def test_a_change_of_files_names_them() -> None:
    heard, _, _ = _heard("file-change")
    (asked,) = _of(NeedsInput, heard)
    assert asked.title == "add /w/work/a/new2.txt"
    assert [one.name for one in _of(Tool, heard)] == ["edit", "edit"]


def test_a_stream_that_is_tried_again_is_another_message() -> None:
    heard, _, _ = _heard("retry")
    assert next(_of(Trouble, heard)).again
    assert len({one.part for one in _of(Text, heard)}) > 1


def test_a_failed_turn_is_told_once_with_its_reason() -> None:
    heard, _, _ = _heard("model-error")
    (trouble,) = _of(Trouble, heard)
    ended = next(_of(TurnEnded, heard))
    assert (ended.end, ended.error) == (TurnEnd.FAILED, trouble.message)


def test_an_interrupted_turn_closes_its_tools() -> None:
    heard, _, _ = _heard("interrupt")
    assert [one.phase for one in _of(Tool, heard)] == [Phase.STARTED, Phase.FINISHED]
    assert next(_of(TurnEnded, heard)).end is TurnEnd.INTERRUPTED


def test_a_question_has_its_options_and_its_answer() -> None:
    heard, _, _ = _heard("question")
    (asked,) = _of(NeedsInput, heard)
    assert (asked.need, asked.title, asked.free_text) == (Need.QUESTION, "Which one?", True)
    assert [choice.label for choice in asked.choices] == ["Red (Recommended)", "Blue"]
    params = next(json.loads(line)["params"] for line in _lines("question") if b"requestUserInput" in line)
    assert requests.result(requests.INPUT, params, Reply(text="Green")) == {"answers": {"pick": {"answers": ["Green"]}}}


def test_a_tool_of_another_server_is_a_permission_to_accept_or_decline() -> None:
    heard, _, _ = _heard("mcp-approval")
    (asked,) = _of(NeedsInput, heard)
    assert asked.need is Need.PERMISSION
    params = next(json.loads(line)["params"] for line in _lines("mcp-approval") if b"elicitation" in line)
    assert requests.result(requests.FORM, params, Reply(choice="accept")) == {"action": "accept", "content": None}
    assert requests.result(requests.FORM, params, Reply(choice="decline"))["action"] == "decline"


def test_requests_that_are_open_at_once_are_told_apart() -> None:
    heard, _, _ = _heard("parallel-approvals")
    asked = [one.request for one in _of(NeedsInput, heard)]
    assert len(asked) == len(set(asked)) > 1
    assert sorted(one.request for one in _of(Answered, heard)) == sorted(asked)


def test_a_request_that_nobody_knows_is_refused_and_counted() -> None:
    heard, listener, _ = _heard("dynamic-tool")
    assert [one.kind for one in _of(Unknown, heard)] == ["item/tool/call"]
    assert [one["error"]["code"] for one in listener.written] == [-32601]


def test_what_runs_on_in_the_background_ends_after_its_turn() -> None:
    heard, _, _ = _heard("background-command")
    kinds = [type(one) for one in heard if isinstance(one, TurnEnded | Tool)]
    assert kinds.index(TurnEnded) < len(kinds) - 1
    assert list(_of(Tool, heard))[-1].phase is Phase.FINISHED


def test_the_transcript_reads_like_a_conversation() -> None:
    assert _said("approval").splitlines() == [
        "[command: touch approved.txt && echo made]",
        "[asks: run touch approved.txt && echo made / Allow / Allow for this session / Deny / Deny and end the turn]",
        "[answered]",
        "After approval",
    ]


CALL = {"type": "collabAgentToolCall", "id": "c", "tool": "spawnAgent", "receiverThreadIds": ["child"]}


@pytest.mark.parametrize(
    "told",
    [
        ("thread/started", {"thread": {"id": "child", "parentThreadId": "parent"}}),
        ("item/completed", {"threadId": "parent", "item": CALL}),
        ("turn/started", {"threadId": "child", "turn": {"id": "t2", "rootTurnId": "t1"}}),
    ],
)
def test_a_child_thread_asks_in_the_name_of_its_parent(told: tuple[str, dict[str, Any]]) -> None:
    listener = Listener()
    server = CodexServer(listener)
    server.know(Opening(session="other", cwd="/", native={"id": "stranger"}))
    server.know(Opening(session="s", cwd="/", native={"id": "parent"}))
    for thread, turn in (("parent", "t1"), ("stranger", "t0")):
        begun = {"threadId": thread, "turn": {"id": turn, "rootTurnId": turn}}
        server.hear(json.dumps({"method": "turn/started", "params": begun}).encode())
    server.hear(json.dumps({"method": told[0], "params": told[1]}).encode())
    listener.heard.clear()
    asked = {"threadId": "child", "turnId": "u", "itemId": "i", "command": "ls", "kind": "command"}
    server.hear(json.dumps({"method": requests.COMMAND, "id": 7, "params": asked}).encode())
    ((session, need),) = listener.heard
    assert session == "s"
    assert isinstance(need, NeedsInput)
    assert (need.subagent, need.request) == ("child", "7")


@pytest.mark.parametrize(
    "line",
    [b"", b"null", b"[]", b"{}", b"\xff\xfe", b'{"method":5}', b'{"id":1,"result":{}}', b'{"method":"turn/started"}'],
)
def test_nonsense_is_never_raised(line: bytes) -> None:
    listener = Listener()
    server = CodexServer(listener)
    server.know(Opening(session="s", cwd="/", native={"id": "t"}))
    server.hear(line)


def test_messages_with_anything_in_them_are_never_raised() -> None:
    thread = Thread("t")
    for method in [*SILENT, "turn/started", "turn/completed", "item/started", "item/completed", "error", "new/thing"]:
        for params in ({}, {"turn": 5, "item": [], "error": None}, {"item": {"type": None}, "turn": {"status": 1}}):
            thread.hear(method, dict(params))


def test_a_choice_knows_what_it_means_to_us() -> None:
    assert {choice.kind for choice in requests._CHOICES} <= {"allow", "always", "deny", "answer"}
    assert isinstance(requests._CHOICES[0], Choice)
