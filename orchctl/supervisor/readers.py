"""Who reads a session's log, and from where: retention leaves that alone for a while."""

from __future__ import annotations

from orchctl.supervisor.pair import PairLink


class Readers:
    """Of one session. The mover is told the lowest offset, not every step."""

    def __init__(self, pair: PairLink, step_bytes: int) -> None:
        self._pair = pair
        self._step_bytes = step_bytes
        self._at: dict[object, int] = {}
        self._told: int | None = None

    @property
    def any(self) -> bool:
        """Whether somebody does."""
        return bool(self._at)

    def at(self, who: object, offset: int) -> None:
        """Somebody has read up to here, and goes on."""
        self._at[who] = offset
        self._tell()

    def gone(self, who: object) -> None:
        """Somebody reads no more."""
        self._at.pop(who, None)
        self._tell()

    def _tell(self) -> None:
        lowest = min(self._at.values(), default=None)
        if lowest is None or self._told is None:
            news = lowest is not self._told
        else:
            news = not 0 <= lowest - self._told < self._step_bytes
        if news:
            self._told = lowest
            self._pair.hold(lowest)
