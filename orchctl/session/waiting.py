"""What waiting for a session, or expecting something of it, came to."""

from __future__ import annotations

from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """The condition that holds, as it was asked for, and the session then; for `output=…` also what matched."""

    condition: str
    session: Session
    match: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Which of the patterns was found first, what matched, and the text before it.

    `dropped_bytes` counts what came still earlier and was let go, so that memory is bounded.
    """

    index: int
    match: bytes
    before: bytes
    groups: tuple[bytes | None, ...] = ()
    dropped_bytes: int = 0
