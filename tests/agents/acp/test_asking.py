"""What agents ask: chosen by what an option means, answered by its name."""

from __future__ import annotations

from typing import Any

import pytest

from orchctl.agents.acp import requests
from orchctl.agents.interface import Reply
from orchctl.session.events import Choice, Need

OPTIONS = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "never", "kind": "reject_always"},
    {"optionId": "hm", "name": "Else", "kind": "postpone"},
]
PERMISSION = {"toolCall": {"toolCallId": "t", "title": "rm", "rawInput": {"command": "rm"}}, "options": OPTIONS}
QUESTIONS = [{"question": "Colour?", "options": [{"label": "red"}, {"label": "blue"}]}, {"question": "Size?"}]
ASKED = {"toolCall": {"toolCallId": "q", "rawInput": {"questions": QUESTIONS}}, "options": OPTIONS[1:3]}
FORM = {
    "message": "Well?",
    "requestedSchema": {
        "properties": {
            "colour": {"type": "string", "oneOf": [{"const": "red"}, {"const": "blue"}]},
            "colour_custom": {"type": "string"},
            "size": {"type": "integer"},
            "sure": {"type": "boolean"},
            "part": {"type": "number"},
        },
        "required": ["colour", "size", "sure", "part"],
    },
}


def form(**fields: dict[str, Any]) -> requests.Request:
    """A form with these fields."""
    return requests.request(3, requests.FORM, {"requestedSchema": {"properties": fields}})


def test_an_option_means_allow_always_or_deny() -> None:
    needs = requests.request(0, requests.PERMISSION, PERMISSION).needs
    assert needs.request == "0:t"
    assert (needs.need, needs.title, needs.tool, needs.free_text) == (Need.PERMISSION, "rm", "t", False)
    assert [(one.id, one.label, one.kind) for one in needs.choices] == [
        ("ever", "Always", "always"),
        ("once", "Allow", "allow"),
        ("no", "Reject", "deny"),
        ("never", "never", "deny"),
        ("hm", "Else", "answer"),
    ]


@pytest.mark.parametrize(
    ("params", "known", "title"),
    [
        ({"toolCall": {"toolCallId": "t"}}, "ls", "ls"),
        ({"toolCall": {"toolCallId": "t"}}, "", "t"),
        ({}, "", "permission"),
    ],
)
def test_it_has_a_title_whatever_the_agent_leaves_out(params: dict[str, Any], known: str, title: str) -> None:
    assert requests.request(0, requests.PERMISSION, params, title=known).needs.title == title


def test_a_choice_goes_back_by_its_name_and_anything_else_cancels() -> None:
    asked = requests.request(0, requests.PERMISSION, PERMISSION)
    assert requests.result(asked, Reply(choice="once")) == {"outcome": {"outcome": "selected", "optionId": "once"}}
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert requests.result(asked, Reply(choice="nonsense")) == cancelled
    assert requests.result(asked, Reply(text="yes")) == cancelled
    assert requests.cancelled(asked) == cancelled


def test_questions_in_a_permission_are_a_question() -> None:
    asked = requests.request(7, requests.PERMISSION, ASKED)
    assert (asked.needs.need, asked.needs.title, asked.needs.free_text) == (Need.QUESTION, "Colour? Size?", True)
    assert asked.needs.choices == (Choice(id="red", label="red"), Choice(id="blue", label="blue"))
    chosen = {"outcome": {"outcome": "selected", "optionId": "once"}}
    assert requests.result(asked, Reply(choice="red")) == {**chosen, "answers": {"0": "red"}}
    assert requests.result(asked, Reply(text='{"Colour?": "blue", "Size?": "L"}')) == {
        **chosen,
        "answers": {"0": "blue", "1": "L"},
    }
    assert requests.result(asked, Reply()) == {"outcome": {"outcome": "cancelled"}}


def test_a_form_is_a_question_with_the_choices_of_its_first_field() -> None:
    asked = requests.request("x", requests.FORM, FORM)
    assert (asked.needs.request, asked.needs.need, asked.needs.title) == ("x", Need.QUESTION, "Well?")
    assert [one.id for one in asked.needs.choices] == ["red", "blue"]
    assert asked.needs.free_text
    assert requests.result(asked, Reply(choice="red")) == {"action": "accept", "content": {"colour": "red"}}
    assert requests.result(asked, Reply(text="pink")) == {"action": "accept", "content": {"colour_custom": "pink"}}
    everything = '{"colour": "blue", "size": "7", "sure": "yes", "part": "0.5"}'
    assert requests.result(asked, Reply(text=everything)) == {
        "action": "accept",
        "content": {"colour": "blue", "size": 7, "sure": True, "part": 0.5},
    }
    assert requests.result(asked, Reply()) == {"action": "decline"}
    assert requests.cancelled(asked) == {"action": "cancel"}


def test_a_form_takes_any_text_where_it_offers_nothing() -> None:
    asked = form(name={"type": "string"})
    assert (asked.needs.choices, asked.needs.free_text) == ((), True)
    assert requests.result(asked, Reply(text="{not json")) == {"action": "accept", "content": {"name": "{not json"}}
    assert requests.result(form(n={"type": "integer"}), Reply(text="many")) == {
        "action": "accept",
        "content": {"n": "many"},
    }
    assert not form(colour={"enum": ["red"]}).needs.free_text
    assert requests.result(form(), Reply(text="so")) == {"action": "accept", "content": {}}
