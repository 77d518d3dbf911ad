"""The life of one run as a table. A pair that is not in it is a bug, never a shrug."""

from __future__ import annotations

import enum

from orchctl.errors import Internal
from orchctl.session.model import EndReason, State


class Input(enum.Enum):
    """What can happen to a run."""

    STARTED = "started"
    READY = "ready"
    CHILD_ENDED = "child-ended"
    LOST = "lost"


TRANSITIONS: dict[tuple[State, Input], State] = {
    (State.IDLE, Input.STARTED): State.BOOTSTRAPPING,
    (State.IDLE, Input.LOST): State.CLOSED,  # its keeper died before it could tell
    (State.BOOTSTRAPPING, Input.READY): State.LIVE,
    (State.BOOTSTRAPPING, Input.CHILD_ENDED): State.CLOSED,  # it died before its first prompt
    (State.BOOTSTRAPPING, Input.LOST): State.CLOSED,
    (State.LIVE, Input.CHILD_ENDED): State.CLOSED,
    (State.LIVE, Input.LOST): State.CLOSED,
}


def advance(state: State, happened: Input) -> State:
    """The state after `happened`."""
    try:
        return TRANSITIONS[state, happened]
    except KeyError:
        raise Internal(f"a run that is {state.value} cannot be told: {happened.value}") from None


def end_reason(*, signal: int | None, kill_reason: str | None) -> EndReason:
    """Why a reaped run is over: what we asked for wins over how the program took it."""
    if kill_reason is not None:
        return _KILLS.get(kill_reason, EndReason.KILLED)
    return EndReason.SIGNALED if signal is not None else EndReason.EXITED


_KILLS = {"timeout": EndReason.TIMEOUT, "idle-timeout": EndReason.IDLE_TIMEOUT}
