"""Who may type into a session, as everybody sees it."""

from __future__ import annotations

from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to type, while it is held; times are Unix time.

    `holder` is the public name of a viewer: eight digits that tell viewers apart and open nothing.
    """

    holder: str
    who: str  # the holder's manager
    epoch: int  # grows with each grant, for ever
    since: float
    terminal: str | None = None
    expires_at: float | None = None  # None: as long as its holder is there and types
    returns_to: str | None = None  # the viewer that has it back when this one lets go
    away: bool = False  # the connection is lost; the holder may come back until `expires_at`


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Somebody who is attached to a session."""

    name: str
    who: str
    terminal: str | None = None
    read_only: bool = False
    since: float = 0.0
