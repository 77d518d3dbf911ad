"""The newest epoch that a pair was told of: what was allowed under an earlier one is not typed any more.

It is noted in `run.jnl`, so that the next mover starts with it, whichever process forks it.
"""

from __future__ import annotations

from orchctl.log import journal
from orchctl.pair.shared import Pair
from orchctl.session import layout


class Fence:
    """Only ever raised."""

    def __init__(self, shared: Pair | None = None) -> None:
        self._pair = shared
        self.epoch = _noted(shared.folder) if shared is not None else 0

    def stops(self, epoch: int) -> bool:
        """Whether what was allowed under that epoch comes too late."""
        return epoch < self.epoch

    def raise_to(self, epoch: int) -> bool:
        """Whether that is news."""
        if epoch <= self.epoch:
            return False
        self.epoch = epoch
        if self._pair is not None:
            self._pair.record("fenced", epoch=epoch)
        return True


def _noted(folder: str) -> int:
    try:
        with open(f"{folder}/{layout.JOURNAL}", "rb") as file:
            records = journal.decode(file.read()).records
    except OSError:
        return 0
    return max((int(record["epoch"]) for record in records if record["type"] == "fenced"), default=0)
