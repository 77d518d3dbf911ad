"""Any gap in recorded traffic, closed by reading, changes nothing in what is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.agents.opencode import records
from orchctl.session.events import (
    Answered,
    Delivered,
    NeedsInput,
    Phase,
    Tool,
    Trouble,
    TurnEnd,
    TurnEnded,
    TurnStarted,
)
from tests.agents.opencode import recorded
from tests.agents.opencode.recorded import (
    DIRECTORY,
    ONE_TURN,
    SESSION,
    children_at,
    conversation,
    heard,
    of,
    recording,
    said,
)


def status_at(found: recorded.Recording, end: int) -> dict[str, Any]:
    """What `GET /session/status` would have said."""
    status: dict[str, Any] = {}
    for line in found.lines[:end]:
        one = json.loads(line)
        fields = one.get("properties", {})
        if fields.get("sessionID") == found.native and one.get("type") == "session.status":
            status = fields["status"]
    return {} if status.get("type") == "idle" else status


def messages_at(found: recorded.Recording, end: int) -> list[dict[str, Any]]:
    """What `GET /session/ID/message` would have said, of sub-agents too: an open text is empty there."""
    messages: dict[str, dict[str, Any]] = {}
    for line in found.lines[:end]:
        one = json.loads(line)
        if "type" in one:
            recorded.upsert(messages, one)
    return [message for message in messages.values() if message["info"]]


def requests_at(found: recorded.Recording, end: int) -> tuple[list[Any], list[Any]]:
    """What was asked and not replied to."""
    permissions: dict[str, Any] = {}
    questions: dict[str, Any] = {}
    for line in found.lines[:end]:
        one = json.loads(line)
        fields = one.get("properties", {})
        if one.get("type") == "permission.asked":
            permissions[fields["id"]] = fields
        elif one.get("type") == "question.asked":
            questions[fields["id"]] = fields
        elif one.get("type") in ("permission.replied", "question.replied", "question.rejected"):
            permissions.pop(fields["requestID"], None)
            questions.pop(fields["requestID"], None)
    return list(permissions.values()), list(questions.values())


def read_at(found: recorded.Recording, end: int, **more: Any) -> bytes:
    """All that is read after a gap."""
    permissions, questions = requests_at(found, end)
    return records.line(
        records.READ,
        session=SESSION,
        status=status_at(found, end),
        messages=messages_at(found, end),
        permissions=permissions,
        questions=questions,
        children=children_at(found, end),
        **more,
    )


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_any_gap_that_is_closed_by_reading_changes_nothing_in_what_was_said(data: st.DataObject) -> None:
    found = recording(data.draw(st.sampled_from(ONE_TURN)))
    first = next(n for n, line in enumerate(found.lines) if b'"posting"' in line) + 1
    lost_from = data.draw(st.integers(first, len(found.lines)))
    lost_to = data.draw(st.integers(lost_from, len(found.lines)))
    read_when = data.draw(st.integers(lost_to, len(found.lines)))  # live events wait while it is read
    translator = found.translator()
    happenings = heard(translator, found.lines[:lost_from])
    happenings += heard(translator, [records.line(records.CONNECTED, directory=DIRECTORY), read_at(found, read_when)])
    happenings += heard(translator, found.lines[lost_to:])
    if conversation(translator).turn is not None:  # its end was among what is lost
        happenings += heard(translator, [read_at(found, len(found.lines), last=True)])
    whole = heard(found.translator(), found.lines)
    closed = {
        part["id"]
        for message in found.messages
        for part in message["parts"]
        if part.get("time", {}).get("end") or "text" not in part
    }
    assert {k: v for k, v in said(happenings).items() if k in closed} == {
        k: v for k, v in said(whole).items() if k in closed
    }
    assert len(of(TurnStarted, happenings)) == len(of(TurnEnded, happenings)) == len(of(Delivered, happenings)) == 1
    assert of(TurnEnded, happenings)[0].end == of(TurnEnded, whole)[0].end or "deleted" in str(of(TurnEnded, whole))
    ends = [tool.id for tool in of(Tool, happenings) if tool.phase is Phase.FINISHED]
    assert len(ends) == len(set(ends))
    assert [tool.id for tool in of(Tool, happenings) if tool.phase is Phase.STARTED] == list(
        dict.fromkeys(tool.id for tool in of(Tool, happenings))
    )
    assert set(ends) == {tool.id for tool in of(Tool, whole) if tool.phase is Phase.FINISHED}
    asked = [need.request for need in of(NeedsInput, happenings)]
    assert len(asked) == len(set(asked))
    assert {one.request for one in of(Answered, happenings)} == set(asked)


@pytest.mark.parametrize("name", ONE_TURN)
def test_what_is_heard_again_after_a_turn_tells_nothing(name: str) -> None:
    found = recording(name)
    translator = found.translator()
    heard(translator, found.lines)
    again = heard(translator, [line for line in found.lines if b'"orchctl"' not in line])
    assert [one for one in again if not isinstance(one, Trouble)] == []


def test_the_real_gap_is_closed_by_the_whole_text() -> None:
    before, after = recording("33_gap_reconnect_part1"), recording("33_gap_reconnect_part2")
    assert before.native == after.native
    answers = {row["get"]: row["answer"] for row in recorded.rows("33_gap_reconnect_part2") if "get" in row}
    translator = before.translator()
    happenings = heard(translator, before.lines)
    some = "".join(said(happenings).values())
    assert some.endswith("tick-5 ") or "tick-0" in some
    read = records.line(
        records.READ, session=SESSION, status=answers["status"][before.native], messages=answers["message"]
    )
    events = [line for line in after.lines if b'"posting"' not in line]
    happenings += heard(translator, [records.line(records.CONNECTED, directory=DIRECTORY), read, *events])
    assert "".join(said(happenings).values()) == "".join(f"tick-{n} " for n in range(30))
    assert [one.end for one in of(TurnEnded, happenings)] == [TurnEnd.COMPLETED]
