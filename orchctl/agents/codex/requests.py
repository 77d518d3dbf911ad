"""What codex asks a human, and what it understands as a reply. Pure."""

from __future__ import annotations

import json
from typing import Any

from orchctl.agents.codex.translate import changes, plain_command
from orchctl.agents.interface import Reply
from orchctl.session.events import Choice, Need, NeedsInput

Params = dict[str, Any]
COMMAND, EDIT = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
MORE, INPUT, FORM = "item/permissions/requestApproval", "item/tool/requestUserInput", "mcpServer/elicitation/request"
KNOWN = (COMMAND, EDIT, MORE, INPUT, FORM)
_ALLOW = Choice(id="accept", label="Allow", kind="allow")
_ALWAYS = Choice(id="acceptForSession", label="Allow for this session", kind="always")
_DENY = Choice(id="decline", label="Deny", kind="deny")
_CANCEL = Choice(id="cancel", label="Deny and end the turn")
_CHOICES = (_ALLOW, _ALWAYS, _DENY, _CANCEL)


def name_of(number: int | str) -> str:
    """The server's id, which may be a number or a text, as a request is called here."""
    return json.dumps(number)


def needs(number: int | str, method: str, params: Params, item: Params, subagent: str | None) -> NeedsInput:
    """A request as all harnesses have them; `item` is the tool call that it is about, as far as it is known."""
    tool = params.get("itemId")
    need, title, choices, free = _asked(method, params, item)
    return NeedsInput(
        request=name_of(number),
        need=need,
        title=title,
        choices=choices,
        free_text=free,
        tool=str(tool) if tool is not None else None,
        details={name: params[name] for name in ("command", "cwd", "reason", "permissions") if params.get(name)},
        subagent=subagent,
    )


def _asked(method: str, params: Params, item: Params) -> tuple[Need, str, tuple[Choice, ...], bool]:
    reason = f" ({params['reason']})" if params.get("reason") else ""
    if method == COMMAND:
        verb = "type into" if params.get("kind") == "writeStdin" else "run"
        return Need.PERMISSION, f"{verb} {plain_command(params.get('command'))}{reason}", _CHOICES, False
    if method == EDIT:
        return Need.PERMISSION, f"{changes(item) or 'change files'}{reason}", _CHOICES, False
    if method == MORE:
        return Need.PERMISSION, f"more permissions{reason}", (_ALLOW, _ALWAYS, _DENY), False
    if method == FORM and _is_permission(params):
        return Need.PERMISSION, str(params.get("message")), (_ALLOW, _DENY, _CANCEL), False
    if method == FORM:
        return Need.QUESTION, str(params.get("message")), (_DENY,), True
    questions = _questions(params)
    title = "\n".join(str(one.get("question") or one.get("header")) for one in questions)
    options = (questions[0].get("options") or []) if len(questions) == 1 else []
    choices = tuple(Choice(id=str(one.get("label")), label=str(one.get("label"))) for one in options)
    free = not choices or bool(questions[0].get("isOther"))
    return Need.QUESTION, title, choices, free


def result(method: str, params: Params, reply: Reply) -> Params:
    """What the server is told."""
    if method in (COMMAND, EDIT):
        return {"decision": reply.choice or "decline"}
    if method == MORE:
        granted = params.get("permissions") or {} if reply.choice in ("accept", "acceptForSession") else {}
        return {"permissions": granted, "scope": "session" if reply.choice == "acceptForSession" else "turn"}
    if method == FORM:
        return _form(params, reply)
    return {"answers": _answers(_questions(params), reply.choice or reply.text or "")}


def _answers(questions: list[Params], text: str) -> Params:
    """One question has all of it, several one line each."""
    lines = [text] if len(questions) == 1 else text.split("\n")
    lines += [""] * (len(questions) - len(lines))
    return {str(one.get("id")): {"answers": [line]} for one, line in zip(questions, lines, strict=False)}


def _form(params: Params, reply: Reply) -> Params:
    if reply.choice in ("decline", "cancel"):
        return {"action": reply.choice, "content": None}
    if _is_permission(params):
        return {"action": "accept", "content": None}
    schema = params.get("requestedSchema")
    fields = list((schema.get("properties") or {}) if isinstance(schema, dict) else {})
    try:
        content = json.loads(reply.text or "")
    except ValueError:
        content = None
    if not isinstance(content, dict):
        content = {fields[0]: reply.text} if len(fields) == 1 else {}
    return {"action": "accept", "content": content}


def _is_permission(params: Params) -> bool:
    meta = params.get("_meta")
    return isinstance(meta, dict) and "codex_approval_kind" in meta


def _questions(params: Params) -> list[Params]:
    found = [one for one in params.get("questions") or () if isinstance(one, dict)]
    return found or [{"id": "answer", "question": "?"}]
