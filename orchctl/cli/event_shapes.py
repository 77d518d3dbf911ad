"""Events as they are printed, by type. They are told from journals, so no dataclass of the model has them."""

from __future__ import annotations

from typing import Literal

from orchctl.cli.agent_event_shapes import AboutSession, AgentEvent, AnEvent, shape
from orchctl.session.command import CommandStatus
from orchctl.session.model import EndReason, State


@shape
class SessionStateEvent(AnEvent):
    """A run came to another state: what it is at its creation, its process while it runs, how it ended at its end."""

    type: Literal["session.state"]
    state: State
    name: str | None = None
    command: tuple[str, ...] = ()
    cwd: str = ""
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    end_reason: EndReason | None = None
    offset: int | None = None


@shape
class CommandStartedEvent(AnEvent):
    """A command begins in a session's shell; a long text is cut."""

    type: Literal["command"]
    phase: Literal["started"]
    number: int
    text: str
    cwd: str | None
    start_offset: int


@shape
class CommandFinishedEvent(AnEvent):
    """A command has ended."""

    type: Literal["command"]
    phase: Literal["finished"]
    number: int
    text: str
    cwd: str | None
    start_offset: int
    end_offset: int | None
    exit_code: int | None
    status: CommandStatus
    duration_s: float | None
    completion: str | None
    error: str | None


@shape
class InputEvent(AnEvent):
    """Somebody typed, interrupted, or did something else to a session; how many bytes, and never which. A prompt has
    the `offset` behind it in the transcript.
    """

    type: Literal["input"]
    bytes: int
    offset: int | None = None
    interrupt: bool = False
    action: str = ""
    viewer: str = ""


@shape
class LeaseEvent(AnEvent):
    """The right to type passed from `before` to `holder`, null being nobody; `who` manages the new one, or the old."""

    type: Literal["lease"]
    reason: Literal["taken", "forced", "released", "idle", "expired", "gone", "transferred", "returned", "closed"]
    holder: str | None
    before: str | None
    terminal: str | None
    epoch: int


@shape
class ErrorEvent(AnEvent):
    """Something is wrong with a session."""

    type: Literal["error"]
    code: str
    message: str
    again: bool = False
    offset: int = 0


@shape
class OutputEvent(AboutSession):
    """Output came: bytes `offset` up to but not including `end`, of a conversation with its text. It has no number."""

    type: Literal["output"]
    offset: int
    end: int
    text: str = ""


@shape
class OutputGapEvent(AboutSession):
    """In the place of output that is no longer kept: bytes `first` up to but not including `end`."""

    type: Literal["gap"]
    first: int
    end: int


@shape
class GapEvent(AnEvent):
    """What is no longer kept: bytes `first` up to but not including `end`, of the output or of what an agent's server
    said before anybody heard it.
    """

    type: Literal["gap"]
    first: int
    end: int
    of: Literal["output", "server"] = "output"
    offset: int = 0


@shape
class EventsGapEvent:
    """Events that are no longer kept: `first_seq` up to but not including `end_seq`."""

    type: Literal["gap"]
    session: None
    first_seq: int
    end_seq: int
    seq: int = 0
    time: float = 0.0


@shape
class LimitEvent:
    """A session was refused because of a limit; `owner` is the manager that has it, null for all together."""

    seq: int
    time: float
    type: Literal["limit"]
    session: None
    managed_by: str
    who: str
    limit: str
    owner: str | None
    value: float
    used: int


@shape
class UpkeepEvent:
    """Somebody pruned sessions, changed settings or stopped the supervisor."""

    seq: int
    time: float
    type: Literal["input"]
    session: None
    managed_by: None
    who: str | None
    action: Literal["prune", "config", "stop"]
    sessions: tuple[str, ...] = ()
    count: int = 0
    output: bool = False
    changed: tuple[str, ...] = ()


Event = (
    AgentEvent
    | SessionStateEvent
    | CommandStartedEvent
    | CommandFinishedEvent
    | InputEvent
    | LeaseEvent
    | ErrorEvent
    | OutputEvent
    | OutputGapEvent
    | GapEvent
    | LimitEvent
    | UpkeepEvent
    | EventsGapEvent
)
