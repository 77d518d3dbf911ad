"""What Claude asks and how it is replied to. Pure.

A question is a tool of its own, which asks for a permission; the answers go back with its input. "Always" sends back
what Claude suggests, for this session only: what it suggests by itself would be written into the project.
"""

from __future__ import annotations

import json
from typing import Any

from orchctl.agents.interface import Reply
from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import Choice, Need, NeedsInput

Record = dict[str, Any]
QUESTION = "AskUserQuestion"
ALLOW, ALWAYS, DENY = "allow", "always", "deny"
_ALLOW = Choice(id=ALLOW, label="Allow", kind=ALLOW)
_ALWAYS = Choice(id=ALWAYS, label="Allow, and do not ask again in this session", kind=ALWAYS)
_DENY = Choice(id=DENY, label="Deny", kind=DENY)
_TITLES = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "prompt")
_DENIED = "the user does not allow this"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One that is open."""

    needs: NeedsInput
    input: Record
    suggestions: tuple[Record, ...] = ()


def title(name: str, given: Record) -> str:
    """One line for people."""
    return next((given[key] for key in _TITLES if isinstance(given.get(key), str) and given[key]), name)


def request(number: str, asked: Record) -> Request:
    """Of one `can_use_tool`."""
    name, given = str(asked.get("tool_name")), asked.get("input")
    given = given if isinstance(given, dict) else {}
    suggestions = tuple(one for one in asked.get("permission_suggestions") or () if isinstance(one, dict))
    questions = [one for one in given.get("questions") or () if isinstance(one, dict)] if name == QUESTION else []
    labels = [str(one.get("label")) for one in (questions[0].get("options") or () if questions else ())]
    needs = NeedsInput(
        request=number,
        need=Need.QUESTION if questions else Need.PERMISSION,
        title=" ".join(str(one.get("question")) for one in questions) or f"{name}: {title(name, given)}",
        choices=tuple(Choice(id=label, label=label) for label in labels)
        if questions
        else (_ALLOW, *([_ALWAYS] if suggestions else []), _DENY),
        tool=str(asked["tool_use_id"]) if asked.get("tool_use_id") else None,
        free_text=bool(questions),
        details={"name": name, "input": given},
        subagent=str(asked["agent_id"]) if asked.get("agent_id") else None,
    )
    return Request(needs=needs, input=given, suggestions=suggestions)


def response(asked: Request, reply: Reply) -> Record:
    """What Claude is answered."""
    said = reply.text if reply.text is not None else reply.choice
    if asked.needs.need is Need.QUESTION:
        if said is None:
            return {"behavior": "deny", "message": _DENIED}
        return {"behavior": "allow", "updatedInput": {**asked.input, "answers": _answers(asked.input, said)}}
    if reply.choice == ALLOW or (reply.choice == ALWAYS and not asked.suggestions):
        return {"behavior": "allow", "updatedInput": asked.input}
    if reply.choice == ALWAYS:
        rules = [{**one, "destination": "session"} for one in asked.suggestions]  # fewer of them, and it asks again
        return {"behavior": "allow", "updatedInput": asked.input, "updatedPermissions": rules}
    return {"behavior": "deny", "message": reply.text or _DENIED}


def said(answer: object) -> str:
    """What was replied, told from the echo of the answer."""
    if not isinstance(answer, dict) or answer.get("behavior") != "allow":
        return DENY
    given = answer.get("updatedInput")
    answers = given.get("answers") if isinstance(given, dict) else None
    if isinstance(answers, dict):
        return ", ".join(str(one) for one in answers.values())
    return ALWAYS if answer.get("updatedPermissions") else ALLOW


def _answers(given: Record, said: str) -> Record:
    """A text answers the first question; an object with the questions as names answers each of them."""
    questions = [str(one.get("question")) for one in given["questions"] if isinstance(one, dict)]
    try:
        found = json.loads(said) if said.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) and found and set(found) <= set(questions) else {questions[0]: said}
