"""Who may type into one session: the rules. Pure: time is an argument, and every decision is a value.

A grant has an epoch that no other grant ever has. What is decided counts only once it is kept, and what is typed
carries the epoch it was allowed under, so that whoever types it in the end can refuse what came too late.
"""

from __future__ import annotations

import enum
import math
from dataclasses import replace

from orchctl.errors import BadInput, Conflict, NotPermitted
from orchctl.session.lease_state import GRACE_S, Attached, Change, Claim, Grip, Held, Identity, Move, Rights

IDLE_S = 30.0  # an attached viewer that has pressed no key for so long blocks nobody
TTL_LIMIT_S = 7 * 86400.0  # as long as an ended session is kept


class Input(enum.Enum):
    """What its holder does."""

    KEY = "key"
    LEFT = "left"
    CAME = "came"


GRIPS: dict[tuple[Grip, Input], Grip] = {
    (Grip.TYPING, Input.KEY): Grip.TYPING,
    (Grip.TYPING, Input.LEFT): Grip.AWAY,
    (Grip.TYPING, Input.CAME): Grip.TYPING,
    (Grip.AWAY, Input.KEY): Grip.AWAY,  # it types before it has said that it is back
    (Grip.AWAY, Input.LEFT): Grip.AWAY,  # it never came back
    (Grip.AWAY, Input.CAME): Grip.TYPING,
    (Grip.TIMED, Input.KEY): Grip.TIMED,
    (Grip.TIMED, Input.LEFT): Grip.TIMED,
    (Grip.TIMED, Input.CAME): Grip.TIMED,
}
LASTS_S = {Grip.TYPING: IDLE_S, Grip.AWAY: GRACE_S}
ENDS = {Grip.TYPING: "idle", Grip.AWAY: "gone", Grip.TIMED: "expired"}


def check_ttl(ttl_s: float) -> float:
    """A time for which a lease can be held."""
    if not (math.isfinite(ttl_s) and 0 < ttl_s <= TTL_LIMIT_S):
        raise BadInput(f"a lease for {ttl_s:g} seconds; more than 0 and at most 7 days", code="bad-ttl")
    return ttl_s


# what may happen


def settle(rights: Rights, now: float) -> Change:
    """What time alone has ended."""
    held = rights.held
    return Change(rights=rights) if held is None or now < held.until else _let_go(rights, ENDS[held.grip], now)


def enter(rights: Rights, viewer: Attached, now: float) -> Change:
    """Somebody attaches, or comes back after a lost connection."""
    settled = settle(rights, now)
    others = tuple(one for one in settled.rights.attached if one.by.key != viewer.by.key)
    there = replace(settled.rights, attached=(*others, viewer))
    return settled.then(_holder_does(there, viewer.by.key, Input.CAME, now))


def leave(rights: Rights, key: str, now: float) -> Change:
    """A viewer's connection is lost."""
    settled = settle(rights, now)
    rest = tuple(one for one in settled.rights.attached if one.by.key != key)
    return settled.then(_holder_does(replace(settled.rights, attached=rest), key, Input.LEFT, now))


def take(rights: Rights, by: Identity, now: float, *, ttl_s: float | None = None, force: bool = False) -> Change:
    """Somebody wants it: for a time, or while it is attached and types. Its holder makes it last longer."""
    viewer = rights.viewer(by.key)
    if viewer is not None and viewer.read_only:
        raise read_only()
    if ttl_s is not None:
        check_ttl(ttl_s)
    elif viewer is None:
        raise BadInput("a lease without a time is for a viewer that is attached", code="no-ttl")
    settled = settle(rights, now)
    held = settled.rights.held
    if held is not None and held.by.key == by.key:
        return settled.then(_renewed(settled.rights, held, ttl_s, now))
    if held is not None and not force:
        raise lease_held(held)
    reason = "taken" if held is None else "forced"
    return settled.then(_granted(settled.rights, by, reason, now, until=None if ttl_s is None else now + ttl_s))


def admit(rights: Rights, key: str, now: float, *, keys: bool) -> Change:
    """Somebody wants to type; `key` is empty for an operation of nobody in particular.

    The first of the `keys` that an attached viewer presses takes a lease that is free. An operation needs none.
    """
    viewer = rights.viewer(key)
    if keys and viewer is not None and viewer.read_only:
        raise read_only()
    settled = settle(rights, now)
    held = settled.rights.held
    if held is None:
        mine = keys and viewer is not None
        return settled.then(_granted(settled.rights, viewer.by, "taken", now)) if mine and viewer else settled
    if held.by.key != key:
        raise lease_held(held)
    return settled.then(_holder_does(settled.rights, key, Input.KEY, now)) if keys else settled


def release(rights: Rights, key: str, now: float, *, once: str = "") -> Change:
    """Its holder lets go. Said again with the same `once`, it was done the first time."""
    if once and rights.once == once:
        return Change(rights=rights)
    settled = settle(rights, now)
    _own(settled.rights, key)
    return settled.then(_let_go(replace(settled.rights, once=once), "released", now))


def transfer(rights: Rights, key: str, to: str, now: float, *, give_back: bool = False, once: str = "") -> Change:
    """Its holder hands it to an attached viewer, by its name or its manager; perhaps only for a while."""
    if once and rights.once == once:
        return Change(rights=rights)
    settled = settle(rights, now)
    held = _own(settled.rights, key)
    receiver = _receiver(settled.rights, key, to)
    claims = held.claims
    if give_back:
        claims += (Claim(by=held.by, until=held.until if held.grip is Grip.TIMED else None),)
    granted = _granted(replace(settled.rights, once=once), receiver, "transferred", now, claims=claims)
    return settled.then(granted)


def close(rights: Rights) -> Change:
    """The session is closed: nobody holds anything."""
    free = replace(rights, held=None, attached=())
    return Change(
        rights=free, moves=(Move(reason="closed", before=rights.held, after=None),), keep=rights.held is not None
    )


# refusals


def lease_held(held: Held) -> Conflict:
    """Who has it, and what can be done."""
    return Conflict(
        f"{described(held.by)} holds the lease and may type alone; wait with --lease-wait, "
        "or take it with 'lease take --force'",
        code="lease-held",
    )


def described(by: Identity) -> str:
    """A holder in words."""
    return f"{by.who}{f' at {by.terminal}' if by.terminal else ''} (viewer {by.name})"


def read_only() -> NotPermitted:
    """A viewer that only looks on does not type."""
    return NotPermitted("this viewer is attached to look on, not to type", code="read-only")


# how it is done


def _own(rights: Rights, key: str) -> Held:
    held = rights.held
    if held is None or held.by.key != key:
        now = "nobody holds it" if held is None else f"{described(held.by)} does"
        raise Conflict(f"this viewer does not hold the lease; {now}", code="lease-not-held")
    return held


def _receiver(rights: Rights, giver: str, to: str) -> Identity:
    found = [one for one in rights.attached if one.by.key != giver and to in (one.by.name, one.by.who)]
    able = [one.by for one in found if not one.read_only]
    if not found:
        raise Conflict(f"no other viewer is attached by the name or manager {to!r}", code="no-such-viewer")
    if not able:
        raise Conflict(f"{to!r} is attached to look on, not to type", code="read-only")
    if len(able) > 1:
        names = ", ".join(one.name for one in able)
        raise Conflict(f"several viewers are attached as {to!r}: {names}; give a name", code="ambiguous-viewer")
    return able[0]


def _holder_does(rights: Rights, key: str, happened: Input, now: float) -> Change:
    held = rights.held
    if held is None or held.by.key != key:
        return Change(rights=rights)
    grip = GRIPS[held.grip, happened]
    if grip is held.grip and grip is not Grip.TYPING:
        return Change(rights=rights)
    return Change(rights=replace(rights, held=replace(held, grip=grip, until=now + LASTS_S[grip])))


def _renewed(rights: Rights, held: Held, ttl_s: float | None, now: float) -> Change:
    if ttl_s is None:
        return _holder_does(rights, held.by.key, Input.KEY, now)
    longer = replace(held, grip=Grip.TIMED, until=now + ttl_s)
    return Change(rights=replace(rights, held=longer), keep=True)


def _granted(
    rights: Rights,
    by: Identity,
    reason: str,
    now: float,
    *,
    until: float | None = None,
    claims: tuple[Claim, ...] = (),
) -> Change:
    """A new epoch, whoever had it before; whoever has the lease again claims it no more, nor do those after it."""
    mine = [at for at, claim in enumerate(claims) if claim.by.key == by.key]
    held = Held(
        by=by,
        epoch=rights.epoch + 1,
        grip=Grip.TYPING if until is None else Grip.TIMED,
        until=now + IDLE_S if until is None else until,
        since=now,
        claims=claims[: mine[0]] if mine else claims,
    )
    moved = Move(reason=reason, before=rights.held, after=held)
    return Change(rights=replace(rights, epoch=held.epoch, held=held), moves=(moved,), keep=True)


def _let_go(rights: Rights, reason: str, now: float) -> Change:
    """Back to whoever gave it and is there, else it is free."""
    held = rights.held
    claims = () if held is None else held.claims
    while claims:
        claim, claims = claims[-1], claims[:-1]
        viewer = rights.viewer(claim.by.key)
        if claim.until is not None and claim.until > now:
            return _granted(rights, claim.by, "returned", now, until=claim.until, claims=claims)
        if viewer is not None and not viewer.read_only:
            return _granted(rights, viewer.by, "returned", now, claims=claims)
    moved = Move(reason=reason, before=held, after=None)
    return Change(rights=replace(rights, held=None), moves=(moved,), keep=True)
