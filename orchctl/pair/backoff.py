"""How long to wait before a process that died is started again."""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW_S = 10.0
FREE_DEATHS = 3  # a crash now and then must not make anybody wait
FIRST_S = 0.05
CAP_S = 0.2  # clients are waiting for the next one
HOPELESS_DEATHS = 20  # in a row, none of them ready: some ten seconds, less than a client waits for a hello
HOPELESS_S = 5.0  # it cannot start at all: spare the machine


@dataclass(slots=True)
class Backoff:
    """Remembers the deaths of the last ten seconds, and how many in a row were never ready."""

    deaths: list[float] = field(default_factory=list)
    failures: int = 0

    @property
    def hopeless(self) -> bool:
        """Whether waiting for the next one is no use: somebody has to be told."""
        return self.failures >= HOPELESS_DEATHS

    def died(self, now: float, *, was_ready: bool) -> float:
        """One more death at `now`; the seconds to wait before the next start."""
        self.failures = 0 if was_ready else self.failures + 1
        self.deaths = [at for at in self.deaths if now - at < WINDOW_S] + [now]
        beyond = len(self.deaths) - FREE_DEATHS
        if self.hopeless:
            return HOPELESS_S
        if beyond <= 0:
            return 0.0
        delay: float = FIRST_S * 2 ** min(beyond - 1, 10)
        return min(delay, CAP_S)
