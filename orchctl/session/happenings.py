"""Happenings as they stand in a journal. Pure; what one version wrote, every later one reads."""

from __future__ import annotations

from typing import Any

from orchctl.errors import PeerBroke
from orchctl.plain import from_plain, to_plain
from orchctl.session import events as known
from orchctl.session.events import AgentEvent

Record = dict[str, Any]
TEXT_LIMIT = 1 << 14  # characters of a tool's output in a journal; the raw log has all of it
_KINDS: dict[str, type[Any]] = {
    "text": known.Text,
    "reasoning": known.Reasoning,
    "tool": known.Tool,
    "turn-started": known.TurnStarted,
    "turn-ended": known.TurnEnded,
    "needs-input": known.NeedsInput,
    "answered": known.Answered,
    "checkpoint": known.Checkpoint,
    "trouble": known.Trouble,
    "unknown": known.Unknown,
    "opened": known.Opened,
    "not-opened": known.NotOpened,
    "delivered": known.Delivered,
    "refused": known.Refused,
    "closed": known.Closed,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def encode(happening: AgentEvent) -> Record:
    """One of them; what is long is cut in the middle."""
    record: Record = {"happening": _NAMES[type(happening)], **to_plain(happening)}
    for name in ("output", "text", "message"):
        if isinstance(record.get(name), str):
            record[name] = shortened(record[name])
    return record


def decode(record: Record) -> AgentEvent | None:
    """The same back; None for one that a later version wrote."""
    kind = _KINDS.get(str(record.get("happening")))
    if kind is None:
        return None
    try:
        found: AgentEvent = from_plain(kind, record)
    except PeerBroke:
        return None
    return found


def shortened(text: str, limit: int = TEXT_LIMIT) -> str:
    """Beginning and end of a long text."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"
