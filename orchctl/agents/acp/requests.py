"""What an agent asks and how it is replied to. Pure.

Permissions are chosen by the kind of an option and answered by its id, because ids, order and number of the options
differ from agent to agent. A question is a form (`elicitation/create`), or a permission with questions in it (Qwen).
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from orchctl.agents.interface import Reply
from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import Choice, Need, NeedsInput

Record = dict[str, Any]
PERMISSION, FORM = "session/request_permission", "elicitation/create"
_KINDS = {"allow_once": "allow", "allow_always": "always", "reject_once": "deny", "reject_always": "deny"}
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One that is open. `number` is the agent's id of it, to be given back as it is."""

    number: int | str
    method: str
    needs: NeedsInput
    submit: str | None = None  # the option that goes with an answer
    fields: tuple[str, ...] = ()  # what a form wants, or the questions; the first is what a plain text answers
    schema: Record = field(default_factory=dict)


def request(number: int | str, method: str, params: Record, title: str = "") -> Request:
    """What is asked; `title` is what is known of the tool call."""
    if method == FORM:
        return _form(number, params)
    call = params.get("toolCall")
    call = call if isinstance(call, dict) else {}
    options = [option for option in params.get("options") or () if isinstance(option, dict)]
    tool = str(call["toolCallId"]) if "toolCallId" in call else None
    name = f"{number}:{tool}" if tool else str(number)  # numbers begin anew with each process; a call's id does not
    raw = call.get("rawInput")
    questions = raw.get("questions") if isinstance(raw, dict) else None
    if isinstance(questions, list) and questions and all(isinstance(one, dict) for one in questions):
        return _questions(number, name, tool, questions, options)
    needs = NeedsInput(
        request=name,
        need=Need.PERMISSION,
        title=str(call.get("title") or title or tool or "permission"),
        choices=tuple(map(_choice, options)),
        tool=tool,
        details={name: call[name] for name in ("kind", "rawInput", "content", "locations") if call.get(name)},
    )
    return Request(number=number, method=method, needs=needs)


def result(asked: Request, reply: Reply) -> Record:
    """What the agent is answered. Whoever chose something that is not on offer has cancelled."""
    if asked.method == FORM:
        return _filled(asked, reply)
    known = {choice.id for choice in asked.needs.choices}
    if asked.fields:
        text = reply.text if reply.text is not None else reply.choice
        if text is None or asked.submit is None:
            return cancelled(asked)
        answers = _by_field(asked, text)
        chosen = {"outcome": {"outcome": "selected", "optionId": asked.submit}}
        return {**chosen, "answers": {str(asked.fields.index(name)): answer for name, answer in answers.items()}}
    if reply.choice in known:
        return {"outcome": {"outcome": "selected", "optionId": reply.choice}}
    return cancelled(asked)


def cancelled(asked: Request) -> Record:
    """The answer to what nobody will reply to."""
    return {"action": "cancel"} if asked.method == FORM else dict(_CANCELLED)


def _choice(option: Record) -> Choice:
    name = str(option.get("optionId"))
    return Choice(id=name, label=str(option.get("name") or name), kind=_KINDS.get(str(option.get("kind")), "answer"))


def _questions(
    number: int | str, name: str, tool: str | None, questions: list[Record], options: list[Record]
) -> Request:
    first = questions[0]
    labels = [str(one.get("label")) for one in first.get("options") or () if isinstance(one, dict)]
    submit = next((str(one.get("optionId")) for one in options if one.get("kind") == "allow_once"), None)
    needs = NeedsInput(
        request=name,
        need=Need.QUESTION,
        title=" ".join(str(one.get("question", "")) for one in questions),
        choices=tuple(Choice(id=label, label=label) for label in labels),
        tool=tool,
        free_text=True,
        details={"questions": questions},
    )
    fields = tuple(str(one.get("question", index)) for index, one in enumerate(questions))
    return Request(number=number, method=PERMISSION, needs=needs, submit=submit, fields=fields)


def _form(number: int | str, params: Record) -> Request:
    schema = params.get("requestedSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    wanted = tuple(name for name in schema.get("required") or properties if name in properties) or tuple(properties)
    first = properties.get(wanted[0], {}) if wanted else {}
    values = [str(one) for one in first.get("enum") or ()] or [
        str(one.get("const")) for one in first.get("oneOf") or () if isinstance(one, dict)
    ]
    tool = params.get("toolCallId")
    needs = NeedsInput(
        request=f"{number}:{tool}" if tool else str(number),
        need=Need.QUESTION,
        title=str(params.get("message") or "question"),
        choices=tuple(Choice(id=value, label=value) for value in values),
        tool=str(tool) if tool else None,
        free_text=not values or f"{wanted[0]}_custom" in properties,
        details={"schema": schema},
    )
    return Request(number=number, method=FORM, needs=needs, fields=wanted, schema=properties)


def _filled(asked: Request, reply: Reply) -> Record:
    text = reply.text if reply.text is not None else reply.choice
    if text is None or not asked.fields:
        return {"action": "decline"} if text is None else {"action": "accept", "content": {}}
    content: Record = {}
    for name, answer in _by_field(asked, text).items():
        custom = f"{name}_custom"
        offered = (
            name != asked.fields[0] or not asked.needs.choices or answer in {one.id for one in asked.needs.choices}
        )
        place = name if offered or custom not in asked.schema else custom
        content[place] = _typed(asked.schema.get(place), answer)
    return {"action": "accept", "content": content}


def _by_field(asked: Request, text: str) -> dict[str, Any]:
    """A text answers the first; an object with the names of the fields answers each of them."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and found and set(found) <= set(asked.fields):
        return found
    return {asked.fields[0]: text}


def _typed(schema: object, answer: Any) -> Any:
    """As the form wants it: a number, a truth, or the text."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(answer, str) or kind not in ("boolean", "number", "integer"):
        return answer
    if kind == "boolean":
        return answer.strip().lower() in ("yes", "true", "1", "y")
    try:
        return int(answer) if kind == "integer" else float(answer)
    except ValueError:
        return answer
