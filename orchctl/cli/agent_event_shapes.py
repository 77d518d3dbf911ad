"""Events of conversations with agents, as they are printed. `offset` is where the transcript stands then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from orchctl.session.agent import Usage
from orchctl.session.events import Choice, Need, Phase, TurnEnd

shape = dataclass(frozen=True, slots=True, kw_only=True)


@shape
class AboutSession:
    """Whose it is, and when it was."""

    time: float
    session: str
    run: int
    managed_by: str
    backend: str
    who: str


@shape
class AnEvent(AboutSession):
    """What every event of a session has that is in the journal."""

    seq: int


@shape
class ReasoningEvent(AnEvent):
    """What an agent thinks, where it shows that."""

    type: Literal["reasoning"]
    text: str
    offset: int


@shape
class ToolEvent(AnEvent):
    """What an agent does: a command, an edit, a search."""

    type: Literal["tool"]
    id: str
    phase: Phase
    name: str
    title: str
    input: dict[str, Any]
    output: str
    ok: bool | None
    offset: int


@shape
class TurnStartedEvent(AnEvent):
    """An agent begins to work on a prompt."""

    type: Literal["turn"]
    phase: Literal["started"]
    turn: str
    model: str | None
    offset: int


@shape
class TurnFinishedEvent(AnEvent):
    """An agent is done with it."""

    type: Literal["turn"]
    phase: Literal["finished"]
    turn: str
    end: TurnEnd
    usage: Usage | None
    error: str | None
    offset: int


@shape
class NeedsInputEvent(AnEvent):
    """An agent asks a human."""

    type: Literal["needs-input"]
    request: str
    need: Need
    title: str
    choices: tuple[Choice, ...]
    tool: str | None
    free_text: bool
    details: dict[str, Any]
    subagent: str | None
    offset: int


@shape
class AnsweredEvent(AnEvent):
    """What was asked is answered, or `withdrawn`."""

    type: Literal["answered"]
    request: str
    reply: str
    offset: int


@shape
class CheckpointEvent(AnEvent):
    """The conversation can be resumed from here, by the server's own names."""

    type: Literal["checkpoint"]
    native: dict[str, str]
    offset: int


AgentEvent = (
    ReasoningEvent
    | ToolEvent
    | TurnStartedEvent
    | TurnFinishedEvent
    | NeedsInputEvent
    | AnsweredEvent
    | CheckpointEvent
)
