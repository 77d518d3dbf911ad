"""What opencode asks a human, and the replies it takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchctl.agents.interface import Reply
from orchctl.session.events import Choice, Need, NeedsInput

ONCE, ALWAYS, REJECT = "once", "always", "reject"
WITHDRAWN = "withdrawn"
DISMISSED = "dismissed"
_NO = "This was denied. Go on without it, or say why it is needed."
_PERMISSION = (
    Choice(id=ONCE, label="allow once", kind="allow"),
    Choice(id=ALWAYS, label="allow always", kind="always"),
    Choice(id=REJECT, label="deny", kind="deny"),
)
_SUBJECT = ("command", "filepath", "filePath", "url", "pattern", "query", "tool")


def permission(asked: Mapping[str, Any], *, tool: str | None, subagent: str | None) -> NeedsInput:
    """Whether the agent may do something."""
    details: Mapping[str, Any] = asked.get("metadata") or {}
    what = str(asked.get("permission") or "")
    about = next((str(details[key]) for key in _SUBJECT if details.get(key)), "")
    about = about or ", ".join(str(one) for one in asked.get("patterns") or ())
    return NeedsInput(
        request=str(asked.get("id", "")),
        need=Need.PERMISSION,
        title=f"{what}: {about}" if about else what,
        choices=_PERMISSION,
        tool=tool,
        details={
            "permission": what,
            "patterns": list(asked.get("patterns") or ()),
            "always": list(asked.get("always") or ()),  # what `always` would allow, in this directory
            **{str(key): value for key, value in details.items()},
        },
        subagent=subagent,
    )


def question(asked: Mapping[str, Any], *, tool: str | None, subagent: str | None) -> NeedsInput:
    """One question or several at once. The choices are of the first; the others are in the details."""
    questions = [one for one in asked.get("questions") or () if isinstance(one, Mapping)]
    first: Mapping[str, Any] = questions[0] if questions else {}
    labels = [str(one.get("label", "")) for one in first.get("options") or ()]
    return NeedsInput(
        request=str(asked.get("id", "")),
        need=Need.QUESTION,
        title=" / ".join(str(one.get("question") or one.get("header") or "") for one in questions),
        choices=tuple(Choice(id=label, label=label) for label in labels),
        tool=tool,
        free_text=len(questions) > 1 or first.get("custom") is not False,
        details={"questions": [dict(one) for one in questions]},
        subagent=subagent,
    )


def permission_body(reply: Reply) -> dict[str, str]:
    """A denial without a message would end the turn; with one the agent goes on."""
    choice = reply.choice or REJECT
    return {"reply": choice, "message": reply.text or _NO} if choice == REJECT else {"reply": choice}


def question_body(reply: Reply, questions: int) -> dict[str, list[list[str]]]:
    """One answer for each question: the lines of the text, in order."""
    given: Sequence[str] = [reply.text if reply.text is not None else reply.choice or ""]
    if questions > 1:
        given = given[0].splitlines()
    return {"answers": [[given[n]] if n < len(given) else [] for n in range(max(questions, 1))]}
