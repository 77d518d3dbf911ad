"""What happens in a conversation with an agent server, in words that all harnesses share.

A translator makes these from what its server says; they become events and the readable transcript. Each is
a plain value: the same native messages give the same happenings, whoever reads them, and however often.
"""

from __future__ import annotations

import enum
from dataclasses import field
from typing import Any

from orchctl.errors import PeerBroke
from orchctl.lazy_dataclass import dataclass
from orchctl.plain import from_plain, to_plain
from orchctl.session.agent import Usage

__all__ = [
    "AgentEvent",
    "Answered",
    "Checkpoint",
    "Choice",
    "Closed",
    "Delivered",
    "Need",
    "NeedsInput",
    "NotOpened",
    "Opened",
    "Phase",
    "Reasoning",
    "Refused",
    "Text",
    "Tool",
    "Trouble",
    "TurnEnd",
    "TurnEnded",
    "TurnStarted",
    "Unknown",
    "Usage",
]


class Phase(enum.StrEnum):
    """How far something with a beginning and an end is."""

    STARTED = "started"
    UPDATED = "updated"
    FINISHED = "finished"


class TurnEnd(enum.StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Need(enum.StrEnum):
    """What an agent waits for."""

    PERMISSION = "permission"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to reply. `kind` is what it means to us: `allow`, `always`, `deny` or `answer`."""

    id: str
    label: str
    kind: str = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A piece of what the agent says. `part` names the message that it belongs to."""

    text: str
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """A piece of what the agent thinks, where it shows that."""

    text: str
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that the agent does: a command, an edit, a search. A finished one says whether it went well."""

    id: str
    phase: Phase
    name: str = ""
    title: str = ""  # one line for people
    input: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    ok: bool | None = None  # None until it is finished


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The agent has begun to work on a prompt."""

    turn: str = ""
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The agent is done with it."""

    turn: str = ""
    end: TurnEnd = TurnEnd.COMPLETED
    usage: Usage | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsInput:
    """The agent asks a human. `request` is the server's own name for it, by which it is replied to."""

    request: str
    need: Need
    title: str
    choices: tuple[Choice, ...] = ()
    tool: str | None = None  # the id of the tool call that it is about
    free_text: bool = False  # whether any text is an answer
    details: dict[str, Any] = field(default_factory=dict)
    subagent: str | None = None  # the native id of the child conversation that asks


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request is no longer open: it was replied to, or the server took it back."""

    request: str
    reply: str = ""  # the id of the choice or the text; `withdrawn` when nobody replied


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The conversation can be resumed from here, by the server's own names."""

    native: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something went wrong. `again` says that the server tries again by itself."""

    code: str
    message: str
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A message that this version does not know; it is in the raw log, and counted."""

    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The conversation is there and takes prompts. `native` is what it is resumed by after a break."""

    native: dict[str, str]
    model: str | None = None
    details: dict[str, Any] = field(default_factory=dict)  # what holds in it: the sandbox, who may do what


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOpened:
    """The conversation could not be begun or resumed."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The server has taken a prompt, and said so."""

    once: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The server has not taken a prompt, and said so."""

    once: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The conversation is no longer held by the server."""


AgentEvent = (
    Text
    | Reasoning
    | Tool
    | TurnStarted
    | TurnEnded
    | NeedsInput
    | Answered
    | Checkpoint
    | Trouble
    | Unknown
    | Opened
    | NotOpened
    | Delivered
    | Refused
    | Closed
)


Record = dict[str, Any]
TEXT_LIMIT = 1 << 14  # characters of a tool's output in a journal; the raw log has all of it
_KINDS: dict[str, type[Any]] = {
    "text": Text,
    "reasoning": Reasoning,
    "tool": Tool,
    "turn-started": TurnStarted,
    "turn-ended": TurnEnded,
    "needs-input": NeedsInput,
    "answered": Answered,
    "checkpoint": Checkpoint,
    "trouble": Trouble,
    "unknown": Unknown,
    "opened": Opened,
    "not-opened": NotOpened,
    "delivered": Delivered,
    "refused": Refused,
    "closed": Closed,
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
