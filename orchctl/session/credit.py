"""How much a reader is ready to take: a window of bytes that are sent and not yet acknowledged. Pure.

Only output counts. What is said beside it (a gap, a time, a screen) is small, and is never held back.
"""

from __future__ import annotations

from dataclasses import replace

from orchctl.errors import BadInput, Internal
from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """Of one stream; each step gives the next one."""

    granted_bytes: int
    unacked_bytes: int = 0

    @property
    def left_bytes(self) -> int:
        """How many more may be sent now."""
        return self.granted_bytes - self.unacked_bytes

    def send(self, count: int) -> Credit:
        """So many bytes are on their way; never more than are left."""
        if not 0 <= count <= self.left_bytes:
            raise Internal(f"{count} bytes were sent where {self.left_bytes} were allowed", code="over-credit")
        return replace(self, unacked_bytes=self.unacked_bytes + count)

    def ack(self, count: int) -> Credit:
        """The reader has taken so many, and as many more may come."""
        if count < 1:
            raise BadInput(f"{count} bytes cannot be acknowledged; at least 1", code="bad-ack")
        if count > self.unacked_bytes:
            raise BadInput(
                f"{count} bytes acknowledged, but only {self.unacked_bytes} were sent and not acknowledged yet",
                code="bad-ack",
            )
        return replace(self, unacked_bytes=self.unacked_bytes - count)


def grant(count: int) -> Credit:
    """A new stream's credit. Nothing would ever come of none, because only what was sent can be acknowledged."""
    if count < 1:
        raise BadInput(f"a credit of {count} bytes; at least 1", code="bad-credit")
    return Credit(granted_bytes=count)
