"""What a scripted server says, as happenings. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchctl.session.happening import (
    Answered,
    Checkpoint,
    Choice,
    Happening,
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
    Usage,
)

CHOICES = (
    Choice(id="yes", label="Allow", kind="allow"),
    Choice(id="always", label="Always allow", kind="always"),
    Choice(id="no", label="Deny", kind="deny"),
)


def happening(event: dict[str, Any]) -> Happening:
    """Of one event."""
    kind = str(event.get("kind", ""))
    make = _KINDS.get(kind)
    return make(event) if make is not None else Unknown(kind=kind or "nothing")


def _tool(event: dict[str, Any]) -> Tool:
    return Tool(
        id=event["id"],
        phase=Phase(event["phase"]),
        name=event.get("name", ""),
        title=event.get("title", ""),
        output=event.get("output", ""),
        ok=event.get("ok"),
    )


def _asks(event: dict[str, Any]) -> NeedsInput:
    options = tuple(Choice(id=one, label=one) for one in event.get("options", ()))
    return NeedsInput(
        request=event["request"],
        need=Need(event["need"]),
        title=event["title"],
        choices=CHOICES if event["need"] == Need.PERMISSION else options,
        free_text=event["need"] == Need.QUESTION,
        tool=event.get("tool"),
        subagent=event.get("subagent"),
    )


def _ended(event: dict[str, Any]) -> TurnEnded:
    usage = Usage(input_tokens=event.get("input", 0), output_tokens=event.get("output", 0))
    return TurnEnded(turn=event["turn"], end=TurnEnd(event["end"]), usage=usage, error=event.get("error"))


_KINDS: dict[str, Callable[[dict[str, Any]], Happening]] = {
    "text": lambda event: Text(text=event["text"], part=event.get("part", "")),
    "reasoning": lambda event: Reasoning(text=event["text"]),
    "tool": _tool,
    "asks": _asks,
    "answered": lambda event: Answered(request=event["request"], reply=event.get("reply", "")),
    "checkpoint": lambda event: Checkpoint(native=event["native"]),
    "trouble": lambda event: Trouble(code=event["code"], message=event["message"], again=event.get("again", False)),
    "turn-started": lambda event: TurnStarted(turn=event["turn"]),
    "turn-ended": _ended,
}
