"""What is asked, and the bodies of replies."""

from __future__ import annotations

from orchctl.agents.interface import Reply
from orchctl.agents.opencode import requests


def test_a_denial_with_a_text_passes_it_on_as_advice() -> None:
    assert requests.permission_body(Reply(choice="reject", text="use cat")) == {"reply": "reject", "message": "use cat"}
    assert requests.permission_body(Reply(choice="always", text="x")) == {"reply": "always"}


def test_a_denial_without_a_text_has_one_so_that_the_turn_goes_on() -> None:
    assert requests.permission_body(Reply(choice="reject"))["message"]
    assert requests.permission_body(Reply())["reply"] == "reject"


def test_an_answer_is_a_choice_or_any_text() -> None:
    assert requests.question_body(Reply(choice="Red"), 1) == {"answers": [["Red"]]}
    assert requests.question_body(Reply(text="a\nb"), 1) == {"answers": [["a\nb"]]}


def test_several_questions_are_answered_line_by_line() -> None:
    assert requests.question_body(Reply(text="Red\nLarge"), 3) == {"answers": [["Red"], ["Large"], []]}


def test_a_permission_without_details_is_named_by_its_patterns() -> None:
    need = requests.permission({"id": "per_1", "permission": "mcp_x", "patterns": ["*"]}, tool=None, subagent="ses_2")
    assert (need.title, need.subagent, need.details["patterns"]) == ("mcp_x: *", "ses_2", ["*"])
    assert (
        requests.permission({"id": "per_1", "permission": "doom_loop"}, tool=None, subagent=None).title == "doom_loop"
    )


def test_several_questions_at_once_take_text_only_as_a_whole() -> None:
    asked = {"id": "que_1", "questions": [{"question": "A?", "custom": False, "options": []}, {"question": "B?"}]}
    need = requests.question(asked, tool="call_1", subagent=None)
    assert (need.title, need.free_text, need.tool) == ("A? / B?", True, "call_1")
    only = requests.question({"id": "que_1", "questions": asked["questions"][:1]}, tool=None, subagent=None)
    assert not only.free_text
