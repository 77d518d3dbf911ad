"""Messages about who may type, and about viewers that stay.

`viewer` is a secret of 32 hexadecimal digits that the asker chooses. Whoever knows it is that viewer, also after a lost
connection: it is the token of `lease take` and the way to come back. Only what is derived from it is shown or stored.
"""

from __future__ import annotations

from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.lease_state import Lease, Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenView:
    """Be attached: answered by `LeaseNews` at once and at each change, until the session is closed or the line is.

    Asked again with the same `viewer` after a lost connection, it is the same viewer that has come back. `take` takes
    the lease now, by force if need be; else it is taken by the first input. From the byte `answers_from` of the output
    on, its terminal hears what programs ask of theirs, and answers; without it, it never does.
    """

    kind: ClassVar[str] = "view.open"

    session: str
    viewer: str
    own_manager: str = "user"
    terminal: str | None = None
    read_only: bool = False
    take: bool = False
    answers_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseNews:
    """The lease as it is now, whether it is the hearer's, and what happened to it.

    `reason` is `standing` (nothing, this is how it is), `taken`, `forced`, `released`, `idle`, `expired`, `gone`,
    `transferred`, `returned` or `closed`.
    """

    kind: ClassVar[str] = "lease.news"

    lease: Lease | None
    yours: bool = False
    reason: str = "standing"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeLease:
    """Take the lease: for a time, with which it is held without a connection, or until the connection is lost."""

    kind: ClassVar[str] = "lease.take"

    session: str
    viewer: str
    own_manager: str = "user"
    terminal: str | None = None
    ttl_s: float | None = None
    force: bool = False
    wait_s: float = 0.0  # for the one who has it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLease:
    """Let go of the lease; of one that is not held by this viewer it is an error."""

    kind: ClassVar[str] = "lease.release"

    session: str
    viewer: str
    own_manager: str = "user"
    once: str = ""  # names this request: repeated with the same name it is done once


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferLease:
    """Hand the lease to another viewer of the session, by its public name or its manager.

    With `give_back` it returns to the giver when the receiver lets go.
    """

    kind: ClassVar[str] = "lease.transfer"

    session: str
    viewer: str
    to: str
    give_back: bool = False
    own_manager: str = "user"
    once: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetLease:
    """Who may type, and who looks on."""

    kind: ClassVar[str] = "lease.get"

    session: str
    own_manager: str = "user"
    viewer: str = ""  # of whoever asks, to hear whether it holds the lease


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """The answer about a lease."""

    kind: ClassVar[str] = "lease"

    lease: Lease | None
    viewers: tuple[Viewer, ...] = ()
    yours: bool = False  # whether the viewer that asks holds it
