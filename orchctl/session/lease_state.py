"""A lease: who may type as everybody sees it, and as the rules see it (who holds it, who waits, what is kept). Pure.

Times of the rules are seconds since boot: no clock that somebody sets makes a lease longer or shorter.
"""

from __future__ import annotations

import enum
import re
from dataclasses import replace
from typing import Any

from orchctl.errors import BadInput, PeerBroke
from orchctl.lazy_dataclass import dataclass
from orchctl.plain import from_plain, to_plain


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


Record = dict[str, Any]  # a line of the journal
GRACE_S = 10.0  # a client finds a killed supervisor's successor, or its network, within less
NAME_DIGITS = 8
_SECRET = re.compile(r"[0-9a-f]{32}")


class Grip(enum.StrEnum):
    """How a lease is held."""

    TYPING = "typing"  # by an attached viewer, for as long as it types
    AWAY = "away"  # the same, but its connection is lost
    TIMED = "timed"  # until a certain time, attached or not


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody who may hold the lease; `key` is made from a secret and tells nobody what that is."""

    key: str
    who: str
    terminal: str | None = None

    @property
    def name(self) -> str:
        """What everybody may know it by."""
        return self.key[:NAME_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Somebody who gave the lease away and gets it back; `until` is when a lease for a time would have ended."""

    by: Identity
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A lease in somebody's hands. The last of `claims` gets it next, if it is there then."""

    by: Identity
    epoch: int
    grip: Grip
    until: float  # unless something happens before
    since: float
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A viewer that is connected."""

    by: Identity
    read_only: bool = False
    since: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """All there is to know of one session's lease. `epoch` is that of the newest grant, also after it has ended."""

    epoch: int = 0
    held: Held | None = None
    attached: tuple[Attached, ...] = ()
    once: str = ""  # the name of the newest request that must not be done twice

    def viewer(self, key: str) -> Attached | None:
        """An attached viewer."""
        return next((one for one in self.attached if one.by.key == key), None)

    @property
    def input_epoch(self) -> int:
        """What is typed now carries this."""
        return self.epoch if self.held is None else self.held.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The lease passed from one to another; either may be nobody."""

    reason: str
    before: Held | None
    after: Held | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A decision: what holds from now on, what there is to tell, and whether it must be kept before it counts."""

    rights: Rights
    moves: tuple[Move, ...] = ()
    keep: bool = False

    def then(self, other: Change) -> Change:
        """Both, one after the other."""
        return Change(rights=other.rights, moves=self.moves + other.moves, keep=self.keep or other.keep)


def key_of(secret: str) -> str:
    """What stands for a viewer's secret wherever it is compared, kept or shown."""
    if not _SECRET.fullmatch(secret):
        raise BadInput("a viewer's token is 32 hexadecimal digits", code="bad-viewer")
    import hashlib  # by few commands only

    return hashlib.blake2b(secret.encode("ascii"), digest_size=16).hexdigest()


def to_record(rights: Rights) -> Record:
    """What the next supervisor needs; viewers come back by themselves."""
    return {"type": "lease", "epoch": rights.epoch, "held": to_plain(rights.held), "once": rights.once}


def restored(records: list[Record], now: float) -> Rights:
    """From what was kept, oldest first. Whoever was attached is away until it comes back."""
    kept = [_Kept.of(record) for record in records if record.get("type") == "lease"]
    if not kept:
        return Rights()
    epoch = max(one.epoch for one in kept)
    last = [one for one in kept if one.epoch == epoch][-1]
    held = last.held
    if held is not None and held.grip is not Grip.TIMED:
        held = replace(held, grip=Grip.AWAY, until=now + GRACE_S)
    return Rights(epoch=epoch, held=held, once=last.once)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    epoch: int
    held: Held | None = None
    once: str = ""

    @classmethod
    def of(cls, record: dict[str, Any]) -> _Kept:
        try:
            return from_plain(cls, record)
        except PeerBroke:  # of a build to come: nobody holds it, and its epoch is never given again
            epoch = record.get("epoch")
            return cls(epoch=epoch if type(epoch) is int else 0)
