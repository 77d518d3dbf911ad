"""Recorded traffic, and what no recording has, as happenings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.agents.opencode import records
from orchctl.agents.opencode.translate import Translator
from orchctl.session.events import (
    Answered,
    Checkpoint,
    Closed,
    Delivered,
    Need,
    NeedsInput,
    NotOpened,
    Opened,
    Phase,
    Refused,
    Tool,
    Trouble,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
    Usage,
)
from tests.agents.opencode import recorded
from tests.agents.opencode.recorded import (
    DIRECTORY,
    ONE_TURN,
    SESSION,
    a_turn,
    children_at,
    conversation,
    event,
    heard,
    of,
    recording,
    said,
    told,
)


@pytest.mark.parametrize("name", ONE_TURN)
def test_a_prompt_is_delivered_begun_and_ended_once_and_in_this_order(name: str) -> None:
    happenings = [one for one in told(name) if isinstance(one, Delivered | TurnStarted | TurnEnded)]
    assert [type(one) for one in happenings] == [Delivered, TurnStarted, TurnEnded]


@pytest.mark.parametrize("name", recorded.NAMES)
def test_every_recorded_event_is_understood(name: str) -> None:
    for native in recorded.conversations(name):
        found = recording(name, native)
        assert of(Unknown, heard(found.translator(), found.lines)) == []


def test_every_other_recorded_type_is_known_to_mean_nothing() -> None:
    translator = a_turn()
    lines = [json.dumps(row["event"]).encode() for row in recorded.rows("other_types")]
    assert len(lines) > 20
    assert heard(translator, lines) == []


@pytest.mark.parametrize("name", ONE_TURN)
def test_the_text_is_what_the_server_has_in_the_end(name: str) -> None:
    found = recording(name)
    texts = said(heard(found.translator(), found.lines))
    complete = {
        part["id"]: part["text"]
        for message in found.messages
        for part in message["parts"]
        if part["type"] in ("text", "reasoning")
        and part.get("time", {}).get("end")
        and part["sessionID"] == found.native
    }
    shown = {key: text for key, text in complete.items() if text and key in texts}
    assert {key: texts[key] for key in shown} == shown
    hidden = set(complete) - set(texts)
    assert name in ("24_second_prompt_while_busy", "39_summarize_compaction") or not hidden


# -- turns


def test_an_interrupted_turn_ends_when_its_text_is_complete() -> None:
    happenings = told("20_abort_streaming_text")
    assert isinstance(happenings[-1], TurnEnded)
    assert happenings[-1].end is TurnEnd.INTERRUPTED
    assert happenings[-1].error is None


def test_an_interrupt_while_it_waits_to_try_again_is_known_because_we_asked() -> None:
    found = recording("16_model_error_500_retry_then_abort")
    translator = found.translator()
    third = max(n for n, line in enumerate(found.lines) if b'"retry"' in line) + 1
    happenings = heard(translator, found.lines[:third])
    assert [(one.again, one.message) for one in of(Trouble, happenings)] == [(True, "boom")] * 3
    happenings += heard(translator, [records.line(records.STOPPING, session=SESSION), *found.lines[third:]])
    assert of(TurnEnded, happenings)[0].end is TurnEnd.INTERRUPTED


def test_a_model_error_fails_the_turn_and_is_told_once_without_the_body() -> None:
    happenings = told("14_model_error_400")
    trouble = of(Trouble, happenings)
    assert [(one.code, one.message) for one in trouble] == [("turn-failed", "APIError 400: bad request from fake")]
    ended = of(TurnEnded, happenings)[0]
    assert (ended.end, ended.error) == (TurnEnd.FAILED, trouble[0].message)


def test_tokens_are_those_of_all_steps() -> None:
    assert of(TurnEnded, told("04_tool_bash"))[0].usage == Usage(input_tokens=200, output_tokens=20)


def test_the_end_of_a_turn_can_be_resumed_from() -> None:
    found = recording("03_reasoning")
    points = of(Checkpoint, heard(found.translator(), found.lines))
    assert points[-1].native["id"] == found.native
    assert points[-1].native["message"].startswith("msg_")


def test_a_summary_is_no_answer() -> None:
    assert said(told("39_summarize_compaction")) == {}


def test_idle_of_the_turn_before_does_not_end_the_next() -> None:
    translator = a_turn()
    idle = event("session.idle", sessionID="ses_root")
    assert of(TurnEnded, heard(translator, [idle]))
    posting = records.line(records.POSTING, session=SESSION, once="p2", message="msg_2")
    assert heard(translator, [posting, idle]) == []
    assert not conversation(translator).uneasy
    user = event("message.updated", sessionID="ses_root", info={"id": "msg_2", "role": "user"})
    assert heard(translator, [user, idle]) == [Delivered(once="p2"), TurnStarted(turn="msg_2")]
    assert conversation(translator).turn is not None


def test_the_late_tail_of_an_old_answer_is_not_told_in_the_next_turn() -> None:
    old, prompt = "msg_1e18295ac001t3zW5gA2j6uKHm", "msg_1e18295af000t3zW5gA2j6uKHm"
    translator = Translator()
    translator.know(SESSION, "ses_root", DIRECTORY)
    heard(translator, [records.line(records.POSTING, session=SESSION, once="p1", message=prompt)])
    part = {"id": "prt_1", "messageID": old, "type": "text", "text": "old", "time": {"start": 1, "end": 2}}
    piece = {"messageID": old, "partID": "prt_2", "field": "text", "delta": "old"}
    lines = [
        event("message.part.updated", sessionID="ses_root", part=part),
        event("message.part.delta", sessionID="ses_root", **piece),
        event("message.updated", sessionID="ses_root", info={"id": old, "role": "assistant"}),
    ]
    assert heard(translator, lines) == []
    turn = conversation(translator).turn
    assert turn is not None
    assert not turn.open


def test_an_error_before_the_prompt_came_back_makes_uneasy_and_is_forgotten_when_it_does() -> None:
    translator = Translator()
    translator.know(SESSION, "ses_root", DIRECTORY)
    error = {"name": "UnknownError", "data": {"message": "stack\n  at x"}}
    heard(translator, [records.line(records.POSTING, session=SESSION, once="p1", message="msg_1")])
    heard(translator, [event("session.error", sessionID="ses_root", error=error)])
    assert conversation(translator).uneasy
    heard(translator, [event("message.updated", sessionID="ses_root", info={"id": "msg_1", "role": "user"})])
    assert not conversation(translator).uneasy
    busy = event("session.status", sessionID="ses_root", status={"type": "busy"})
    ended = heard(translator, [busy, event("session.idle", sessionID="ses_root")])[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.end is TurnEnd.COMPLETED


def test_a_prompt_that_only_led_to_an_error_ends_when_it_was_looked_after() -> None:
    translator = Translator()
    translator.know(SESSION, "ses_root", DIRECTORY)
    error = {"name": "UnknownError", "data": {"message": "Agent not found"}}
    happenings = heard(
        translator,
        [
            records.line(records.POSTING, session=SESSION, once="p1", message="msg_1"),
            records.line(records.POSTED, session=SESSION, once="p1"),
            event("session.error", sessionID="ses_root", error=error),
            records.line(records.READ, session=SESSION, status=None, messages=[]),
            records.line(records.READ, session=SESSION, status=None, messages=[], last=True),
        ],
    )
    assert [type(one) for one in happenings] == [Delivered, TurnStarted, Trouble, TurnEnded]
    assert happenings[-1] == TurnEnded(turn="msg_1", end=TurnEnd.FAILED, error="UnknownError: Agent not found")


def test_a_prompt_of_which_the_server_has_nothing_is_given_up_only_at_the_last_look() -> None:
    translator = Translator()
    translator.know(SESSION, "ses_root", DIRECTORY)
    posting = records.line(records.POSTING, session=SESSION, once="p1", message="msg_1")
    nothing: dict[str, Any] = {"session": SESSION, "status": None, "messages": []}
    assert heard(translator, [posting, records.line(records.READ, **nothing)]) == []
    ended = heard(translator, [records.line(records.READ, **nothing, last=True)])[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.end is TurnEnd.FAILED


def test_a_turn_that_the_server_forgot_in_the_middle_was_interrupted() -> None:
    found = recording("50_kill9_during_text")
    translator = found.translator()
    happenings = heard(translator, found.lines)
    some = said(happenings)
    look: dict[str, Any] = {"session": SESSION, "status": None, "messages": found.messages, "permissions": []}
    happenings += heard(translator, [records.line(records.READ, **look)])
    assert conversation(translator).uneasy
    happenings += heard(translator, [records.line(records.READ, **look, last=True)])
    assert said(happenings) == some
    assert [one.code for one in of(Trouble, happenings)] == ["turn-lost"]
    assert of(TurnEnded, happenings)[-1].end is TurnEnd.INTERRUPTED


def test_a_deleted_conversation_ends_its_turn_and_says_so() -> None:
    found = recording("23_delete_idle_then_busy", recorded.conversations("23_delete_idle_then_busy")[1])
    happenings = heard(found.translator(), found.lines)
    assert [one.code for one in of(Trouble, happenings)] == ["conversation-gone"]
    assert of(TurnEnded, happenings)[-1].end is TurnEnd.FAILED


# -- tools and requests


def test_a_command_that_failed_is_a_tool_that_did_not_go_well() -> None:
    tools = [tool for tool in of(Tool, told("05_tool_bash_exit3_and_badtool")) if tool.phase is Phase.FINISHED]
    assert [(tool.name, tool.ok) for tool in tools] == [("bash", False), ("invalid", True), ("read", False)]


def test_a_tool_tells_what_it_is_about_as_soon_as_that_is_known() -> None:
    phases = [(tool.phase, tool.title) for tool in of(Tool, told("08_permission_once"))]
    assert phases == [(phase, "echo hi") for phase in (Phase.STARTED, Phase.UPDATED, Phase.FINISHED)]


def test_what_a_tool_prints_is_told_piece_by_piece_until_its_beginning_is_cut_off() -> None:
    translator = a_turn()

    def running(output: str) -> bytes:
        state = {"status": "running", "input": {"command": "x"}, "metadata": {"output": output}}
        part = {"id": "prt_1", "type": "tool", "tool": "bash", "callID": "c", "state": state}
        return event("message.part.updated", sessionID="ses_root", part=part)

    tools = of(Tool, heard(translator, [running(text) for text in ("", "a", "a", "abc", "bcd")]))
    assert [(tool.phase, tool.output) for tool in tools] == [
        (Phase.STARTED, ""),
        (Phase.UPDATED, "a"),
        (Phase.UPDATED, "bc"),
    ]


def test_a_permission_says_what_for_and_how_to_reply() -> None:
    need = of(NeedsInput, told("37_permission_edit_diff"))[0]
    assert need.need is Need.PERMISSION
    assert need.title.startswith("edit: ")
    assert "diff" in need.details
    assert [(choice.id, choice.kind) for choice in need.choices] == [
        ("once", "allow"),
        ("always", "always"),
        ("reject", "deny"),
    ]
    assert need.subagent is None


def test_a_reply_to_one_of_several_permissions_answers_the_others_too() -> None:
    for name, reply in (("11b_parallel_permissions_reject", "reject"), ("11c_parallel_permissions_always", "always")):
        happenings = told(name)
        assert len(of(NeedsInput, happenings)) == 2
        assert [one.reply for one in of(Answered, happenings)] == [reply, reply]


def test_a_permission_is_withdrawn_when_its_turn_is_interrupted_and_never_asked_again() -> None:
    found = recording("22_abort_pending_permission")
    translator = found.translator()
    happenings = heard(translator, found.lines)
    assert [one.reply for one in of(Answered, happenings)] == ["withdrawn"]
    stale = next(
        row["answer"] for row in recorded.rows("22_abort_pending_permission") if row.get("get") == "permission"
    )
    posting = records.line(records.POSTING, session=SESSION, once="p2", message="msg_1e1929ffffff00000000000000")
    read = records.line(
        records.READ, session=SESSION, status={"type": "busy"}, messages=[], permissions=stale, questions=[]
    )
    assert of(NeedsInput, heard(translator, [posting, read])) == []
    assert of(NeedsInput, heard(found.translator(), [posting, read])) == []  # nor by one that has heard nothing


def test_a_permission_of_a_sub_agent_reaches_its_parent_with_the_name_of_the_child() -> None:
    found = recording("36_config_permission_subagent")
    happenings = heard(found.translator(), found.lines)
    need = of(NeedsInput, happenings)[0]
    child = next(iter(children_at(found, len(found.lines))))
    assert need.subagent == child
    tools = {tool.id: tool.name for tool in of(Tool, happenings)}
    assert need.tool is not None
    assert tools[need.tool] == "bash"
    assert sorted(tools.values()) == ["bash", "task"]
    assert "".join(said(happenings).values()) == "parent done"


def test_a_question_has_its_options_and_takes_any_text() -> None:
    need = of(NeedsInput, told("12_question_reply"))[0]
    assert (need.need, need.title, need.free_text) == (Need.QUESTION, "Which colour?", True)
    assert [choice.label for choice in need.choices] == ["Red", "Blue"]
    assert of(Answered, told("13_question_reject"))[0].reply == "dismissed"


def test_a_request_that_the_server_no_longer_knows_is_withdrawn() -> None:
    translator = a_turn()
    heard(translator, [event("permission.asked", id="per_1", sessionID="ses_root", permission="bash")])
    gone = records.line(records.ANSWERED, session=SESSION, request="per_1")
    assert heard(translator, [gone, gone]) == [Answered(request="per_1", reply="withdrawn")]


# -- the rest


def test_what_nobody_knows_is_counted_where_somebody_waits() -> None:
    translator = a_turn()
    lines = [b"not json", b"[]", event("brand.new", sessionID="ses_root"), event("brand.newer")]
    assert [one.kind for one in of(Unknown, heard(translator, lines))] == [
        "not-understood",
        "not-understood",
        "brand.new",
        "brand.newer",
    ]
    assert heard(translator, [event("brand.new", sessionID="ses_other")]) == []


@given(
    kind=st.sampled_from(["message.updated", "message.part.updated", "message.part.delta", "session.status"])
    | st.sampled_from(["session.error", "permission.asked", "question.asked", "permission.replied", "session.idle"]),
    fields=st.dictionaries(
        st.sampled_from(["info", "part", "status", "error", "id", "delta", "field", "questions", "metadata", "tool"]),
        st.recursive(
            st.none() | st.integers() | st.text() | st.booleans(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["id", "type", "time", "state"]), inner),
            max_leaves=8,
        ),
    ),
)
@settings(max_examples=300, deadline=None)
def test_an_event_of_any_form_is_counted_and_never_raises(kind: str, fields: dict[str, Any]) -> None:
    heard(a_turn(), [event(kind, **{**fields, "sessionID": "ses_root"})])


def test_a_character_in_two_halves_is_told_whole() -> None:
    translator = a_turn()
    part = {"id": "prt_1", "messageID": "msg_2", "type": "text", "text": "", "time": {"start": 1}}
    piece = {"sessionID": "ses_root", "messageID": "msg_2", "partID": "prt_1", "field": "text"}
    happenings = heard(
        translator,
        [
            event("message.part.updated", sessionID="ses_root", part=part),
            event("message.part.delta", **piece, delta="a\ud83d"),
            event("message.part.delta", **piece, delta="\ude00b"),
            event(
                "message.part.updated",
                sessionID="ses_root",
                part={**part, "text": "a\U0001f600b!", "time": {"start": 1, "end": 2}},
            ),
        ],
    )
    assert [one.text for one in happenings if hasattr(one, "text")] == ["a", "\U0001f600b", "!"]


def test_opening_refusing_and_closing_are_told_to_the_session_that_asked() -> None:
    translator = Translator()
    opened = records.line(
        records.OPENED, session=SESSION, native="ses_1", directory=DIRECTORY, model="fake/fake-1", version="1"
    )
    not_opened = records.line(records.NOT_OPENED, session="other", code="unknown-model", message="no")
    assert translator.hear(opened) == [
        (
            SESSION,
            [Opened(native={"id": "ses_1", "directory": DIRECTORY}, model="fake/fake-1", details={"version": "1"})],
        )
    ]
    assert translator.hear(not_opened) == [("other", [NotOpened(code="unknown-model", message="no")])]
    posting = records.line(records.POSTING, session=SESSION, once="p1", message="msg_1")
    refused = records.line(records.REFUSED, session=SESSION, once="p1", code="conversation-gone", text="gone")
    assert heard(translator, [posting, refused]) == [Refused(once="p1", code="conversation-gone", message="gone")]
    assert conversation(translator).turn is None
    assert translator.hear(records.line(records.CLOSED, session=SESSION)) == [(SESSION, [Closed()])]
    assert translator.conversation(SESSION) is None
    assert translator.sessions_in(DIRECTORY) == []
