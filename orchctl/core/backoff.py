"""How long to wait before a process that died is started again."""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW_S = 10.0
FREE_DEATHS = 3  # a crash now and then must not make anybody wait
FIRST_S = 0.05
READY_CAP_S = 0.2  # it came up and served: clients are waiting for the next one
NEVER_READY_CAP_S = 5.0  # it cannot start at all: spare the machine


@dataclass(slots=True)
class Backoff:
    """Remembers the deaths of the last ten seconds."""

    deaths: list[float] = field(default_factory=list)

    def died(self, now: float, *, was_ready: bool) -> float:
        """One more death at `now`; the seconds to wait before the next start."""
        self.deaths = [at for at in self.deaths if now - at < WINDOW_S] + [now]
        beyond = len(self.deaths) - FREE_DEATHS
        if beyond <= 0:
            return 0.0
        delay: float = FIRST_S * 2 ** min(beyond - 1, 10)
        return min(delay, READY_CAP_S if was_ready else NEVER_READY_CAP_S)
