"""What ends a session by itself: its time is over, or the process it is bound to has ended."""

from __future__ import annotations

import select
import time

from orchctl.pair.kill import open_process
from orchctl.pair.spec import Plan

GRACE_S = 5.0


class Limits:
    """Kept by the keeper, so that they hold while no supervisor runs; a new keeper inherits them."""

    def __init__(self, plan: Plan) -> None:
        now = time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps
        self._ends_at = now + plan.timeout_s if plan.timeout_s is not None else None
        self.bound = open_process(plan.bind_pid, plan.bind_ticks) if plan.bind_pid is not None else -1
        self._unbound = plan.bind_pid is not None and self.bound < 0  # it had ended before we looked

    def wait_s(self) -> float | None:
        """How long nothing is due."""
        if self._unbound:
            return 0.0
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - time.clock_gettime(time.CLOCK_BOOTTIME))

    def broken(self) -> str | None:
        """Why the session is to end now; said once for each reason."""
        if self._ends_at is not None and self.wait_s() == 0.0:
            self._ends_at = None
            return "timeout"
        if self._unbound or (self.bound >= 0 and self._has_ended()):
            self._unbound, self.bound = False, -1
            return "bound"
        return None

    def _has_ended(self) -> bool:
        poll = select.poll()
        poll.register(self.bound, select.POLLIN)
        return bool(poll.poll(0))
