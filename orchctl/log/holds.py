"""Who still reads a log from where: what retention leaves alone for a while."""

from __future__ import annotations

HOLD_ON_S = 30.0  # so long, readers come back after their supervisor died


class Holds:
    """One offset for each supervisor that is connected, and the last one of a supervisor that is gone."""

    def __init__(self, now: float) -> None:
        self._held: dict[int, int] = {}
        self._left: tuple[float, int] | None = (now + HOLD_ON_S, 0)  # whoever was told of it died with the last mover

    @property
    def needed(self) -> int | None:
        """The lowest offset that somebody reads."""
        return min([*self._held.values(), *([self._left[1]] if self._left is not None else [])], default=None)

    @property
    def expires_at(self) -> float | None:
        """When what a supervisor left behind is forgotten."""
        return self._left[0] if self._left is not None else None

    def take(self, who: int, offset: int | None) -> None:
        """A supervisor has spoken: its word replaces that of the one before it."""
        self._left = None
        self._held.pop(who, None)
        if offset is not None:
            self._held[who] = offset

    def leave(self, who: int, now: float) -> None:
        """A supervisor is gone; its readers may come back with the next."""
        held = self._held.pop(who, None)
        if held is not None:
            self._left = (now + HOLD_ON_S, min(held, self._left[1] if self._left is not None else held))

    def expire(self, now: float) -> bool:
        """Forget what was left behind for too long; whether anything was."""
        if self._left is None or now < self._left[0]:
            return False
        self._left = None
        return True
