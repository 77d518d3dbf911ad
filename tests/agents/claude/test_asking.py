"""What Claude asks, and what it is answered."""

from __future__ import annotations

import pytest

from orchctl.agents.claude import requests
from orchctl.agents.interface import Reply
from orchctl.session.events import Need

RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "destination": "localSettings"}
ASKED = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t", "permission_suggestions": [RULE]}
QUESTIONS = [
    {"question": "Colour?", "options": [{"label": "red"}, {"label": "blue"}]},
    {"question": "Size?", "options": []},
]
QUESTION = {"tool_name": "AskUserQuestion", "input": {"questions": QUESTIONS}, "tool_use_id": "q"}


def test_a_permission_can_be_given_once_always_or_not() -> None:
    asked = requests.request("r", ASKED)
    assert (asked.needs.need, asked.needs.title, asked.needs.tool) == (Need.PERMISSION, "Bash: ls", "t")
    assert [one.kind for one in asked.needs.choices] == ["allow", "always", "deny"]
    allow = {"behavior": "allow", "updatedInput": {"command": "ls"}}
    assert requests.response(asked, Reply(choice="allow")) == allow
    rules = [{**RULE, "destination": "session"}]  # and not in the project's files
    assert requests.response(asked, Reply(choice="always")) == {**allow, "updatedPermissions": rules}
    assert requests.response(asked, Reply(choice="deny"))["behavior"] == "deny"
    assert requests.response(asked, Reply(text="not now")) == {"behavior": "deny", "message": "not now"}


def test_always_is_offered_where_claude_says_what_it_would_be() -> None:
    asked = requests.request("r", {**ASKED, "permission_suggestions": []})
    assert [one.kind for one in asked.needs.choices] == ["allow", "deny"]
    assert requests.response(asked, Reply(choice="always")) == {"behavior": "allow", "updatedInput": {"command": "ls"}}


def test_a_question_is_answered_with_its_input() -> None:
    asked = requests.request("r", QUESTION)
    assert (asked.needs.need, asked.needs.title, asked.needs.free_text) == (Need.QUESTION, "Colour? Size?", True)
    assert [one.id for one in asked.needs.choices] == ["red", "blue"]
    answered = requests.response(asked, Reply(choice="red"))
    assert answered["updatedInput"] == {"questions": QUESTIONS, "answers": {"Colour?": "red"}}
    both = requests.response(asked, Reply(text='{"Colour?": "pink", "Size?": "L"}'))
    assert both["updatedInput"]["answers"] == {"Colour?": "pink", "Size?": "L"}
    assert requests.response(asked, Reply(text="{half"))["updatedInput"]["answers"] == {"Colour?": "{half"}
    assert requests.response(asked, Reply())["behavior"] == "deny"


@pytest.mark.parametrize(
    ("reply", "said"),
    [(Reply(choice="allow"), "allow"), (Reply(choice="always"), "always"), (Reply(choice="deny"), "deny")],
)
def test_the_echo_tells_what_was_replied(reply: Reply, said: str) -> None:
    assert requests.said(requests.response(requests.request("r", ASKED), reply)) == said


def test_the_echo_of_an_answer_is_the_answer() -> None:
    assert requests.said(requests.response(requests.request("r", QUESTION), Reply(text="red"))) == "red"
    assert requests.said(None) == "deny"
