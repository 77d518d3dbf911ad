"""What the stateful test expects: sessions by what was typed into them, and leases by the simplest rules there are.

It shares nothing with the product. A lease that is held by typing ends by time alone, too, and machines are busy: what
time may have done is left open, and then looked up.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass, field

from orchctl.client.connection import Connection
from orchctl.client.start import connect
from orchctl.errors import OrchctlError
from orchctl.paths import Root
from orchctl.protocol.messages.lease import LeaseNews, OpenView
from orchctl.session.lease_state import Lease

TYPING_S = 20.0  # a holder that is attached and has typed within this time has what it had; it loses it after 30
AWAY_S = 6.0  # the same for one that is away; it loses it after 10


@dataclass(frozen=True)
class Claim:
    """Somebody who gets the lease back; a lease for a time comes back as one."""

    viewer: int
    timed: bool


@dataclass
class Seat:
    """Who may type, as far as anybody can know."""

    epoch: int = 0
    holder: int | None = None
    timed: bool = False
    claims: tuple[Claim, ...] = ()
    sure_until: float = 0.0  # for a holder that types

    def grant(self, viewer: int, *, timed: bool = False, claims: tuple[Claim, ...] = ()) -> None:
        """Another epoch, whoever had it before."""
        mine = [at for at, claim in enumerate(claims) if claim.viewer == viewer]
        self.epoch += 1
        self.holder, self.timed = viewer, timed
        self.claims = claims[: mine[0]] if mine else claims
        self.is_here()

    def is_here(self) -> None:
        """Its holder has typed, or has come back."""
        self.sure_until = time.monotonic() + TYPING_S

    def is_away(self) -> None:
        """Its holder's connection is lost."""
        self.sure_until = min(self.sure_until, time.monotonic() + AWAY_S)

    def let_go(self, attached: set[int]) -> None:
        """Back to the last giver that can have it, else nobody's."""
        claims, self.holder = self.claims, None
        while claims:
            *rest, last = claims
            claims = tuple(rest)
            if last.timed or last.viewer in attached:
                self.grant(last.viewer, timed=last.timed, claims=claims)
                return

    @property
    def sure(self) -> bool:
        """Whether time cannot have ended it."""
        return self.holder is None or self.timed or time.monotonic() < self.sure_until


class View:
    """A viewer's connection; what it hears must be in order."""

    def __init__(self, state: str, session: str, secret: str, who: str) -> None:
        self._asked = OpenView(session=session, viewer=secret, own_manager=who)
        self._state = state
        self._open()

    def come_back(self) -> None:
        """After a supervisor was lost; the old connection may be gone or not."""
        self.close()
        self._open()

    def close(self) -> None:
        self._connection.close()

    def _open(self) -> None:
        while True:
            try:
                self._connection = Connection(connect(Root(self._state)))
                news = self._connection.ask(self._asked)
                break
            except OrchctlError as error:
                if error.exit_status != 8:  # no supervisor just now
                    raise
                time.sleep(0.02)
        assert isinstance(news, LeaseNews)
        assert news.reason == "standing"


@dataclass
class Expected:
    """One session; `output` is all that its program has written, marks and prompts of shells excepted."""

    id: str
    keeper: int
    mover: int
    shell: bool = False
    output: bytes = b""
    first: int = 0
    end: int = 0
    size: tuple[int, int] = (80, 24)
    degraded: bool = False
    zygote_killed: bool = False  # since its start
    commands: int = 0
    seat: Seat = field(default_factory=Seat)
    views: dict[int, View] = field(default_factory=dict)

    @property
    def unheard(self) -> bool:
        """Whether nobody is left that could hear how its program ends, unless the kernel tells."""
        return self.degraded and self.zygote_killed

    @property
    def attached(self) -> set[int]:
        return set(self.views)

    def may_type(self, viewer: int | None) -> bool:
        return self.seat.holder is None or self.seat.holder == viewer

    def typed_by(self, viewer: int | None) -> None:
        """It went through: a viewer's first key takes the lease, the next ones keep it."""
        if viewer is not None and self.seat.holder is None and viewer in self.attached:
            self.seat.grant(viewer)
        elif viewer is not None and self.seat.holder == viewer and viewer in self.attached:
            self.seat.is_here()


@dataclass(frozen=True)
class Somebody:
    """A viewer: its secret, and who it is."""

    secret: str
    who: str

    @property
    def name(self) -> str:
        """What everybody knows it by."""
        return hashlib.blake2b(self.secret.encode(), digest_size=16).hexdigest()[:8]

    @classmethod
    def number(cls, number: int) -> Somebody:
        return cls(secrets.token_hex(16), f"user:viewer-{number}")


def is_held_by(lease: Lease | None, somebody: Somebody | None) -> bool:
    return (None if lease is None else lease.holder) == (None if somebody is None else somebody.name)
