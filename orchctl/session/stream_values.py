"""The pieces a reader of output gets: bytes with their address, and holes with theirs."""

from __future__ import annotations

from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of the log; `offset` is the address of the first."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        """The address of the byte after the last."""
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes `first` up to but not including `end` are no longer kept."""

    first: int
    end: int
