"""Goes through every state of the lease protocol, on the rules that run in production.

The world: an agent that holds the lease for a time, and two viewers that attach, type, come and go. The supervisor
decides by `session/lease.py`, keeps what it decided, and only then lets it count; what is typed reaches the mover, in
any order, and meets `pair/shared.py` there. Supervisor, mover and viewers crash at any moment. Time passes to the end
of the lease, and others may be quicker to notice than the supervisor's own clock.

One input of each client is on its way at a time. States that differ only in which viewer is which are looked at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from orchctl.errors import OrchctlError
from orchctl.pair.shared import Fence
from orchctl.session import lease
from orchctl.session.lease_state import GRACE_S, Attached, Change, Grip, Identity, Rights, restored, to_record

CLIENTS = [Identity(key=f"{number}" * 32, who=f"user:{number}") for number in range(3)]
AGENT = 0
TTL_S = 20.0  # between the time of grace and the one without a key
LATE = -1  # an input that the fence is known to stop: which epoch it had no longer matters
NOBODY = -1
NOTHING = (0, NOBODY)
_MIRROR = {NOBODY: NOBODY, AGENT: AGENT, 1: 2, 2: 1}


@dataclass(frozen=True)
class Design:
    """What is checked; each wrong one leaves a part out."""

    fenced: bool = True  # the mover refuses what was allowed under an earlier epoch
    durable: bool = True  # a grant is on disk before it counts
    expires: bool = True  # time ends a lease
    noted: bool = True  # the next mover knows the fence of the last


@dataclass(frozen=True)
class Scope:
    """How far everything is tried out."""

    grants: int = 6
    crashes: int = 3


@dataclass(frozen=True)
class Deed:
    """One way on for the supervisor: what it decided, whose input that lets in, and how much time went by."""

    name: str
    rights: int
    keep: bool
    typist: int
    passed_s: float


@dataclass(frozen=True)
class Place:
    """The rights at one moment, by number, and the ways on from there; the same for every state that has them."""

    deeds: tuple[Deed, ...]
    epoch: int  # that what is typed now carries
    granted: int  # the newest epoch that was ever given
    wrong: str


Decision = Callable[[Rights, float], Change]
Last = tuple[int, int]
State = tuple[int, int, int, int, int, Last, int, tuple[int, int, int], int]
# rights, kept, pending, its typist, fence, last typed (epoch, client), newest epoch, inputs on their way, crashes left


class Checker:
    """Breadth first, so that what it finds wrong is told by the shortest way there."""

    def __init__(self, design: Design, scope: Scope) -> None:
        self._design = design
        self._scope = scope
        self._numbers: dict[Rights, int] = {}
        self._rights: list[Rights] = []
        self._mirror: list[int] = []
        self._before: dict[State, State] = {}
        self._places: dict[int, Place] = {}
        self._crashed: dict[int, int] = {}
        self._shifted: dict[tuple[int, float], int] = {}
        self._kept: dict[int, int] = {}
        self._left: dict[tuple[int, int], int] = {}
        self.violation = ""

    def run(self) -> int:
        """How many states there are; `violation` says what is wrong, and how it comes about."""
        everybody = tuple(Attached(by=one) for one in CLIENTS[1:])
        first: State = (
            *(self._number(Rights(attached=everybody)), self._number(Rights()), NOBODY, NOBODY, 0, NOTHING, 0),
            (0, 0, 0),
            self._scope.crashes,
        )
        self._before = before = {first: first}
        queue = deque([first])
        while queue:
            state = queue.popleft()
            for name, following, wrong in self._ways(state):
                if wrong:
                    self.violation = f"{wrong}: {' → '.join([*self._way_to(state), name])}"
                    return len(before)
                if following not in before and self._mirrored(following) not in before:
                    before[following] = state
                    queue.append(following)
        return len(before)

    def _way_to(self, state: State) -> list[str]:
        way: list[str] = []
        while (before := self._before[state]) != state:
            way.append(next(name for name, to, _ in self._ways(before) if to == state))
            state = before
        return way[::-1]

    def _mirrored(self, state: State) -> State:
        """The same with the two viewers in each other's place."""
        rights, kept, pending, typist, fence, last, newest, inputs, crashes = state
        return (
            self._mirror[rights],
            self._mirror[kept],
            pending if pending == NOBODY else self._mirror[pending],
            _MIRROR[typist],
            fence,
            _mirrored_last(last),
            newest,
            _mirrored_inputs(inputs),
            crashes,
        )

    def _ways(self, state: State) -> Iterator[tuple[str, State, str]]:
        rights, kept, pending, typist, fence, last, newest, inputs, crashes = state
        place = self._place(rights)
        if place.wrong:
            yield "look", state, place.wrong
        if pending == NOBODY:
            yield from self._decide(state, place)
        else:
            after = self._place(pending)
            moving = inputs if typist == NOBODY or inputs[typist] else _put(inputs, typist, after.epoch)
            again = after.granted > place.granted and after.granted <= newest
            top = max(newest, after.granted)
            counts: State = (pending, kept, NOBODY, NOBODY, fence, last, top, moving, crashes)
            yield "it counts", counts, "an epoch is given twice" if again else ""
        if self._design.fenced and place.epoch > fence:
            yield "fence", self._fenced(state, place.epoch), ""
        for client, epoch in enumerate(inputs):
            if epoch:
                yield self._arrive(state, client, epoch)
        if crashes:
            yield from self._crash(state)

    def _decide(self, state: State, place: Place) -> Iterator[tuple[str, State, str]]:
        rights, kept, _, _, fence, last, newest, inputs, crashes = state
        for deed in place.deeds:
            if deed.typist != NOBODY and inputs[deed.typist] and not deed.keep:
                continue
            aged = self._shift(kept, deed.passed_s)
            if deed.keep:
                kept_now = self._keep(deed.rights) if self._design.durable else aged
                place_now = self._shift(rights, deed.passed_s) if deed.passed_s else rights
                after = (place_now, kept_now, deed.rights, deed.typist, fence, last, newest, inputs)
            else:
                moving = inputs if deed.typist == NOBODY else _put(inputs, deed.typist, place.epoch)
                after = (deed.rights, aged, NOBODY, NOBODY, fence, last, newest, moving)
            yield deed.name, (*after, crashes), ""

    def _arrive(self, state: State, client: int, epoch: int) -> tuple[str, State, str]:
        rights, kept, pending, typist, fence, last, newest, inputs, crashes = state
        gone = _put(inputs, client, 0)
        if self._design.fenced:
            guard = Fence()
            guard.epoch = fence
            if epoch == LATE or guard.stops(epoch):
                return f"{client} is stopped", (*state[:7], gone, crashes), ""
        wrong = ""
        if epoch < last[0]:
            wrong = "an old holder types after a newer one"
        elif epoch == last[0] and client != last[1]:
            wrong = "two type under one epoch"
        after: State = (rights, kept, pending, typist, fence, (epoch, client), newest, gone, crashes)
        return f"{client} types at {epoch}", self._fenced(after, max(fence, epoch)), wrong

    def _fenced(self, state: State, epoch: int) -> State:
        """What is behind the fence is only counted."""
        rights, kept, pending, typist, _, last, newest, inputs, crashes = state
        if self._design.fenced and self._design.noted:
            last = last if last[0] == epoch else NOTHING
            first, second, third = (LATE if 0 < one < epoch else one for one in inputs)
            inputs = (first, second, third)
        return (rights, kept, pending, typist, epoch, last, newest, inputs, crashes)

    def _crash(self, state: State) -> Iterator[tuple[str, State, str]]:
        rights, kept, pending, typist, fence, last, newest, inputs, crashes = state
        left = crashes - 1
        back = self._restore(kept)
        top = max(newest, self._place(back).granted)
        yield "supervisor dies", (back, kept, NOBODY, NOBODY, fence, last, top, inputs, left), ""
        yield "its words die too", (back, kept, NOBODY, NOBODY, fence, last, top, (0, 0, 0), left), ""
        noted = fence if self._design.noted else 0
        yield "mover dies", (rights, kept, pending, typist, noted, last, newest, inputs, left), ""
        if pending == NOBODY:
            for client in range(1, len(CLIENTS)):
                if self._rights[rights].viewer(CLIENTS[client].key) is not None:
                    lost = self._lose(rights, client)
                    yield f"{client} is lost", (lost, kept, NOBODY, NOBODY, fence, last, newest, inputs, left), ""

    # the rules, each asked once for each of the rights

    def _place(self, number: int) -> Place:
        found = self._places.get(number)
        if found is None:
            rights = self._rights[number]
            deeds = tuple(self._deeds(rights))
            found = Place(deeds, rights.input_epoch, rights.epoch, self._wrong(rights))
            self._places[number] = found
        return found

    def _deeds(self, rights: Rights) -> Iterator[Deed]:
        end_s = 0.0 if rights.held is None else rights.held.until
        for now in {0.0, end_s}:
            for name, typist, decide in _requests():
                change = self._asked(rights, now, decide)
                if change is None or change.rights.epoch > self._scope.grants:
                    continue
                fresh = self._number(_since_now(change.rights, now))
                if typist == NOBODY and change.rights == rights:
                    continue
                yield Deed(f"{name}{' late' if now else ''}", fresh, change.keep, typist, now)

    def _asked(self, rights: Rights, now: float, decide: Decision) -> Change | None:
        if not self._design.expires:
            now = 0.0
        try:
            return decide(rights, now)
        except OrchctlError:
            return None

    def _wrong(self, rights: Rights) -> str:
        """What must hold wherever one is: time ends every lease, and a free one can be had."""
        held = rights.held
        if held is None:
            taken = [self._asked(rights, 0.0, _take(one)) for one in rights.attached]
            return "" if all(taken) else "a free lease cannot be taken"
        over = self._asked(rights, held.until, lease.settle)
        if over is None or (over.rights.held is not None and over.rights.held.epoch == held.epoch):
            return "a lease is kept after its end"
        if held.grip is Grip.AWAY and held.until > GRACE_S:
            return "a lost holder keeps the lease"
        return ""

    def _restore(self, kept: int) -> int:
        if kept not in self._crashed:
            records = [to_record(self._rights[kept])] if self._design.durable else []
            self._crashed[kept] = self._number(_since_now(restored(records, 0.0), 0.0))
        return self._crashed[kept]

    def _keep(self, number: int) -> int:
        if number not in self._kept:
            rights = replace(self._rights[number], attached=())
            if rights.held is not None and rights.held.grip is not Grip.TIMED:  # all the same once it is restored
                rights = replace(rights, held=replace(rights.held, grip=Grip.AWAY, until=GRACE_S))
            self._kept[number] = self._number(rights)
        return self._kept[number]

    def _shift(self, number: int, passed_s: float) -> int:
        if (number, passed_s) not in self._shifted:
            rights = _since_now(self._rights[number], passed_s)
            self._shifted[number, passed_s] = (
                self._keep(self._number(rights)) if not rights.attached else self._number(rights)
            )
        return self._shifted[number, passed_s]

    def _lose(self, number: int, client: int) -> int:
        if (number, client) not in self._left:
            change = lease.leave(self._rights[number], CLIENTS[client].key, 0.0)
            self._left[number, client] = self._number(_since_now(change.rights, 0.0))
        return self._left[number, client]

    def _number(self, rights: Rights) -> int:
        ordered = replace(rights, attached=tuple(sorted(rights.attached, key=lambda one: one.by.key)))
        if ordered not in self._numbers:
            self._numbers[ordered] = len(self._rights)
            self._rights.append(ordered)
            self._mirror.append(NOBODY)
            self._mirror[self._numbers[ordered]] = self._number(_swapped(ordered))
        return self._numbers[ordered]


def _requests() -> Iterator[tuple[str, int, Decision]]:
    """All that can be asked of a supervisor; and that it looks at its clock."""
    yield "time", NOBODY, lease.settle
    yield f"{AGENT} takes", NOBODY, lambda rights, now: lease.take(rights, CLIENTS[AGENT], now, ttl_s=TTL_S)
    yield (
        f"{AGENT} forces",
        NOBODY,
        lambda rights, now: lease.take(rights, CLIENTS[AGENT], now, ttl_s=TTL_S, force=True),
    )
    for number, client in enumerate(CLIENTS):
        yield from _requests_of(number, client)


def _requests_of(number: int, client: Identity) -> Iterator[tuple[str, int, Decision]]:
    yield f"{number} types", number, lambda rights, now: _typed(rights, client.key, now)
    yield f"{number} releases", NOBODY, lambda rights, now: lease.release(rights, client.key, now)
    for other in range(1, len(CLIENTS)):
        yield f"{number} gives to {other}", NOBODY, _give(client, other, back=False)
        yield f"{number} lends to {other}", NOBODY, _give(client, other, back=True)
    if number != AGENT:
        yield f"{number} forces", NOBODY, lambda rights, now: lease.take(rights, client, now, force=True)
        yield f"{number} comes", NOBODY, lambda rights, now: lease.enter(rights, Attached(by=client), now)


def _typed(rights: Rights, key: str, now: float) -> Change:
    change = lease.admit(rights, key, now, keys=True)
    if change.rights.held is None:  # an operation of somebody who holds nothing; it excludes nobody
        raise OrchctlError("not under a lease")
    return change


def _give(client: Identity, other: int, *, back: bool) -> Decision:
    return lambda rights, now: lease.transfer(rights, client.key, CLIENTS[other].key[:8], now, give_back=back)


def _take(one: Attached) -> Decision:
    return lambda rights, now: lease.take(rights, one.by, now)


def _since_now(rights: Rights, passed_s: float) -> Rights:
    """The same after that time, counted from then; what is long over is just over."""
    held = rights.held
    if held is None:
        return rights
    claims = tuple(
        claim if claim.until is None else replace(claim, until=max(0.0, claim.until - passed_s))
        for claim in held.claims
    )
    return replace(rights, held=replace(held, since=0.0, until=max(0.0, held.until - passed_s), claims=claims))


def _swapped(rights: Rights) -> Rights:
    """The two viewers in each other's place."""
    other = {CLIENTS[1]: CLIENTS[2], CLIENTS[2]: CLIENTS[1], CLIENTS[AGENT]: CLIENTS[AGENT]}
    attached = tuple(replace(one, by=other[one.by]) for one in rights.attached)
    held = rights.held
    if held is not None:
        claims = tuple(replace(claim, by=other[claim.by]) for claim in held.claims)
        held = replace(held, by=other[held.by], claims=claims)
    return replace(rights, held=held, attached=attached)


@cache
def _mirrored_last(last: Last) -> Last:
    return last[0], _MIRROR[last[1]]


@cache
def _mirrored_inputs(inputs: tuple[int, int, int]) -> tuple[int, int, int]:
    return inputs[0], inputs[2], inputs[1]


@cache
def _put(inputs: tuple[int, int, int], client: int, epoch: int) -> tuple[int, int, int]:
    changed = list(inputs)
    changed[client] = epoch
    return changed[0], changed[1], changed[2]
