"""Ending a command that is past its time: interrupt, then TERM, then KILL to its own processes.

Pure: asked for the step that is due, told the time.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

AGAIN_S = 0.25  # how often a step is repeated until it works or the next is due
GIVE_UP_S = 5.0  # after KILL: a shell that is not back by then does not come back


class Step(enum.Enum):
    """What to do now."""

    NOTHING = "nothing"
    INTERRUPT = "interrupt"
    TERMINATE = "terminate"
    KILL = "kill"
    GIVE_UP = "give-up"


@dataclass(slots=True)
class Escalation:
    """From `begin` on; before it, nothing is due."""

    begins_at: float | None
    kill_after_s: float
    _next_at: float = 0.0

    @property
    def begun(self) -> bool:
        """Whether a step was taken."""
        return self._next_at > 0

    def begin(self, now: float) -> None:
        """Start now, if it was to start later or never."""
        if self.begins_at is None or self.begins_at > now:
            self.begins_at = now

    def wait_s(self, now: float) -> float | None:
        """How long nothing is due."""
        if self.begins_at is None:
            return None
        return max(0.0, max(self.begins_at, self._next_at) - now)

    def due(self, now: float) -> Step:
        """The step to take at `now`."""
        if self.begins_at is None or now < max(self.begins_at, self._next_at):
            return Step.NOTHING
        self._next_at = now + AGAIN_S
        since = now - self.begins_at
        if since < self.kill_after_s:
            first = since < AGAIN_S
            self._next_at = now + AGAIN_S if first else self.begins_at + self.kill_after_s
            return Step.INTERRUPT
        if since < 2 * self.kill_after_s:
            return Step.TERMINATE
        return Step.KILL if since < 2 * self.kill_after_s + GIVE_UP_S else Step.GIVE_UP
