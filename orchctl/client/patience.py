"""How long a lost supervisor is waited for."""

from __future__ import annotations

import time

from orchctl.errors import SupervisorUnreachable

RECONNECT_S = 30.0


class Patience:
    """Runs out half a minute after it was made."""

    def __init__(self) -> None:
        self._until = time.monotonic() + RECONNECT_S
        self._pause_s = 0.01

    def spend(self, error: SupervisorUnreachable) -> None:
        """Wait a little longer each time; in the end, give up with `error`."""
        time.sleep(self.next_pause_s(error))

    def next_pause_s(self, error: SupervisorUnreachable) -> float:
        """How long to wait now; in the end, `error`."""
        pause_s = self._pause_s
        if time.monotonic() + pause_s > self._until:
            raise SupervisorUnreachable(f"no supervisor for {RECONNECT_S:.0f} s: {error.message}") from None
        self._pause_s = min(0.5, pause_s * 2)
        return pause_s
