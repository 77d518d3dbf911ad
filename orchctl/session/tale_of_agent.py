"""What a record of `harness.jnl` says, as events. Pure."""

from __future__ import annotations

from typing import Any

from orchctl.plain import to_plain
from orchctl.session import happenings
from orchctl.session.happening import (
    Answered,
    Checkpoint,
    Happening,
    NeedsInput,
    NotOpened,
    Opened,
    Reasoning,
    Refused,
    Tool,
    Trouble,
    TurnEnded,
    TurnStarted,
)

Record = dict[str, Any]
TEXT = 4096  # characters of a long text in an event; the journal has more of it, and the raw log all


def of_conversation(record: Record) -> list[Record]:
    """In order; `offset` is where the transcript stands then."""
    found: list[Record] = []
    if record.get("type") == "prompt":
        size = len(str(record.get("prompt", "")).encode("utf-8", "replace"))
        about = {"bytes": size, "action": "prompt", "who": record.get("who", "user"), "offset": record.get("text", 0)}
        found.append({"type": "input", **about})
    if record.get("type") == "gap":
        lost = {"first": record["first"], "end": record["end"], "of": "server"}
        found.append({"type": "gap", **lost, "offset": record.get("text", 0)})
    for plain in record.get("happened", ()):
        happening = happenings.decode(plain)
        event = _event(happening) if happening is not None else None
        if event is not None:
            found.append({**event, "offset": record.get("text", 0)})
    return [{**event, "time": record.get("time")} for event in found]


def _event(one: Happening) -> Record | None:  # noqa: PLR0911 - one line for each type
    if isinstance(one, Reasoning):
        return {"type": "reasoning", "text": _short(one.text)}
    if isinstance(one, Tool):
        return {"type": "tool", **to_plain(one), "output": _short(one.output), "input": _cut(one.input)}
    if isinstance(one, TurnStarted):
        return {"type": "turn", "phase": "started", "turn": one.turn, "model": one.model}
    if isinstance(one, TurnEnded):
        return {"type": "turn", "phase": "finished", **to_plain(one)}
    if isinstance(one, NeedsInput):
        return {"type": "needs-input", **to_plain(one), "title": _short(one.title), "details": _cut(one.details)}
    if isinstance(one, Answered):
        return {"type": "answered", "request": one.request, "reply": _short(one.reply)}
    return _other(one)


def _other(one: Happening) -> Record | None:
    if isinstance(one, Opened | Checkpoint):
        return {"type": "checkpoint", "native": dict(one.native)}
    if isinstance(one, Trouble):
        return {"type": "error", "code": one.code, "message": _short(one.message), "again": one.again}
    if isinstance(one, NotOpened | Refused):
        return {"type": "error", "code": one.code, "message": _short(one.message), "again": False}
    return None


def _short(text: str) -> str:
    return happenings.shortened(text, TEXT)


def _cut(value: Any, depth: int = 4) -> Any:
    """As much of a harness's own value as an event has room for."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, dict) and depth:
        return {str(key)[:TEXT]: _cut(inner, depth - 1) for key, inner in list(value.items())[:32]}
    if isinstance(value, list | tuple) and depth:
        return [_cut(inner, depth - 1) for inner in list(value)[:32]]
    return value if isinstance(value, int | float | bool) or value is None else _short(str(value))
