"""Which faults come when, and what runs in which slot. Pure: a seed and a length in, a list out; time is an argument.

Faults are dealt from a deck that holds each kind as often as its weight, shuffled anew whenever it is empty: so each
kind comes often enough in any long run, in an order that only the seed knows. Which session a fault strikes is a
number that the striker takes modulo those that may be struck at that moment.

The promise is "SIGKILL any one process of ours, a second later any other". So faults keep a distance (`earliest`);
only the kinds in `BOTH` strike two at once, and only there a session may be `lost` (`may_be_lost`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SLOTS = 30
PAUSE_S = 0.35, 0.95  # between two faults
APART_S = 1.0  # the promise's second
SUPERVISORS_APART_S = 3.5  # three deaths in ten seconds cost nobody a wait; more are a crash loop
QUIET_S = 4.0  # at the end, so that what was struck last is seen to go on


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault."""

    strikes: str  # `supervisor`, `zygote`, `pair` (of one session), `client`, `place` (a file, or the disk) or `clock`
    weight: int = 1
    hold_s: tuple[float, float] = (0.0, 0.0)  # how long it lasts


_MOMENT = 0.5, 2.5
KINDS: dict[str, Kind] = {
    "kill-supervisor": Kind("supervisor", 2),
    "kill-zygote": Kind("zygote", 2),
    "kill-keeper": Kind("pair", 5),
    "kill-mover": Kind("pair", 5),
    "kill-client": Kind("client", 2),
    "kill-pair": Kind("pair"),
    "kill-keeper-and-zygote": Kind("pair"),
    "stop-supervisor": Kind("supervisor", 1, _MOMENT),
    "stop-zygote": Kind("zygote", 1, _MOMENT),
    "stop-keeper": Kind("pair", 2, _MOMENT),
    "stop-mover": Kind("pair", 2, (0.5, 7.0)),
    "stop-mover-long": Kind("pair", 1, (30.0, 40.0)),  # longer than `kill` may take
    "stop-client": Kind("client", 1, _MOMENT),
    "no-descriptors": Kind("supervisor", 1, _MOMENT),
    "full-disk": Kind("place", 1, _MOMENT),
    "clock-jump": Kind("clock", 1, (0.5, 6.0)),  # the wall clock is elsewhere for a while
    "remove-socket": Kind("place"),
    "replace-lock": Kind("place"),
    "remove-pair-socket": Kind("pair"),
    "remove-index": Kind("pair"),
    "hide-spec": Kind("pair", 1, _MOMENT),
    "hide-folder": Kind("pair", 1, _MOMENT),
    "block-spec": Kind("pair", 1, _MOMENT),  # a directory in its place: nobody can read that, not even root
    "block-journal": Kind("pair", 1, _MOMENT),
    "restart-supervisor": Kind("supervisor"),
}
BOTH = ("kill-pair", "kill-keeper-and-zygote")


@dataclass(frozen=True, slots=True)
class Fault:
    """One step of a schedule."""

    number: int
    at_s: float
    kind: str
    pick: int
    hold_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Landed:
    """A fault that struck; times are of one monotonic clock, `ended_at` is None while it lasts."""

    fault: Fault
    began_at: float
    session: str = ""
    pids: tuple[int, ...] = ()
    ended_at: float | None = None

    def overlaps(self, began_at: float, ended_at: float, after_s: float = 0.0) -> bool:
        """Whether it lasted, or its consequences for `after_s`, in that time."""
        over = self.ended_at is not None and self.ended_at + after_s < began_at
        return self.began_at <= ended_at and not over


def faults(seed: int, seconds: float, kinds: Sequence[str] = tuple(KINDS)) -> list[Fault]:
    """All faults of a run, in order."""
    dice, dealt, deck, at_s = random.Random(f"faults {seed}"), list[Fault](), list[str](), 1.0
    while at_s < seconds - QUIET_S:
        if not deck:
            deck = [kind for kind in kinds for _ in range(KINDS[kind].weight)]
            dice.shuffle(deck)
        kind = deck.pop()
        hold_s = dice.uniform(*KINDS[kind].hold_s)
        dealt.append(Fault(len(dealt), round(at_s, 3), kind, dice.randrange(1 << 30), round(hold_s, 3)))
        at_s += dice.uniform(*PAUSE_S)
    return dealt


def least(planned: Iterable[Fault], seconds: float, kinds: Sequence[str] = ()) -> dict[str, int]:
    """How many of each kind must land, else the run has shown too little: of three planned two, and each kind once; in
    each minute as many as it weighs, whatever was planned.
    """
    due = {kind: max(1, int(KINDS[kind].weight * seconds / 60)) for kind in kinds}
    for kind, count in Counter(fault.kind for fault in planned).items():
        due[kind] = max(due.get(kind, 1), (2 * count + 2) // 3)
    return due


def earliest(kind: str, session: str, landed: Sequence[Landed]) -> float:
    """When a fault may strike at the soonest, after those that have landed; never while one lasts that forbids it."""
    soonest = 0.0
    for before in landed:
        apart_s = _apart(kind, session, before)
        if apart_s is not None:
            soonest = max(soonest, float("inf") if before.ended_at is None else before.ended_at + apart_s)
    return soonest


def _apart(kind: str, session: str, before: Landed) -> float | None:
    """How long after the end of an earlier fault this one has to wait; None: not at all."""
    new, old = KINDS[kind].strikes, KINDS[before.fault.kind].strikes
    if new == old == "pair" and session == before.session:
        return APART_S
    if new == old == "supervisor":
        return SUPERVISORS_APART_S
    if new == old in ("zygote", "place", "clock"):
        return APART_S
    keepers = {"kill-keeper", "kill-keeper-and-zygote", "stop-keeper"}
    zygotes = {"kill-zygote", "kill-keeper-and-zygote", "stop-zygote"}
    if (kind in keepers and before.fault.kind in zygotes) or (kind in zygotes and before.fault.kind in keepers):
        return APART_S
    if {"restart-supervisor", "kill-keeper-and-zygote"} & {kind, before.fault.kind} and {new, old} & {"zygote"}:
        return APART_S
    return None


def may_be_lost(session: str, landed: Iterable[Landed]) -> bool:
    """Whether both processes of its pair, or its keeper and the zygote, were struck at once."""
    return any(one.session == session and one.fault.kind in BOTH for one in landed)


# what runs

_SLOTS = (
    ("pour", 6),
    ("pipe", 4),
    ("shell", 6),
    ("reader", 5),
    ("restart", 2),
    ("timeout", 1),
    ("idle", 1),
    ("bound", 2),
    ("tree", 2),
    ("agent", 1),
)


def kind_of_slot(slot: int) -> str:
    """What runs there, one after another."""
    kinds = [kind for kind, count in _SLOTS for _ in range(count)]
    return kinds[slot % len(kinds)]
