"""Ending a command that is past its time: interrupt, then TERM, then KILL to its own processes.

Pure: asked for the step that is due, told the time.
"""

from __future__ import annotations

import enum

from orchctl.lazy_dataclass import dataclass

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
    _taken: int = -1

    @property
    def begun(self) -> bool:
        """Whether a step was taken."""
        return self._taken >= 0

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
        """The step to take at `now`; none is left out, however late the question comes."""
        if self.begins_at is None or now < max(self.begins_at, self._next_at):
            return Step.NOTHING
        times = [self.begins_at + after for after in (0.0, self.kill_after_s, 2 * self.kill_after_s)]
        times.append(times[-1] + GIVE_UP_S)
        reached = max(index for index, at in enumerate(times) if now >= at)
        again = self._taken == reached
        self._taken = min(reached, self._taken + 1)
        following = times[self._taken + 1] if self._taken + 1 < len(times) else now + AGAIN_S
        once_more = self._taken == 0 and again  # interrupted twice, a program is given the rest of its time
        self._next_at = max(now, following if once_more else min(now + AGAIN_S, following))
        return _STEPS[self._taken]


_STEPS = (Step.INTERRUPT, Step.TERMINATE, Step.KILL, Step.GIVE_UP)
