"""How long a lost supervisor is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable

from orchctl.errors import SupervisorUnreachable

RECONNECT_S = 30.0


class Patience:
    """Runs out half a minute after the supervisor was lost, however long it was there before."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = self._tried_at = 0.0
        self._pause_s = 0.0

    def spend(self, error: SupervisorUnreachable) -> None:
        """Wait a little longer each time; in the end, give up with `error`."""
        time.sleep(self.next_pause_s(error))

    def next_pause_s(self, error: SupervisorUnreachable) -> float:
        """How long to wait now; in the end, `error`."""
        now = self._clock()
        if self._pause_s == 0 or now > self._tried_at + RECONNECT_S:  # lost for the first time, or since it was there
            self._until, self._pause_s = now + RECONNECT_S, 0.01
        pause_s = self._pause_s
        if now + pause_s > self._until:
            raise SupervisorUnreachable(f"no supervisor for {RECONNECT_S:.0f} s: {error.message}") from None
        self._pause_s, self._tried_at = min(0.5, pause_s * 2), now + pause_s
        return pause_s
