"""Who may type into one session: decided here and nowhere else, kept before it counts, told to everybody attached.

The rules are in `session/lease.py`. The pair refuses what was allowed under an earlier epoch and comes late.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import field, replace
from typing import Protocol

from orchctl.errors import BadInput, Conflict, NoSuchSession, OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.log.session_files import LeaseStore
from orchctl.protocol.messages.lease import LeaseNews, LeaseState
from orchctl.session import lease
from orchctl.session.lease_state import (
    Attached,
    Change,
    Grip,
    Held,
    Identity,
    Lease,
    Move,
    Rights,
    Viewer,
    key_of,
    restored,
    to_record,
)
from orchctl.supervisor import failpoints
from orchctl.supervisor.change import News, set_within
from orchctl.supervisor.clock import boot_s
from orchctl.supervisor.events import Teller, ToldSession
from orchctl.supervisor.pair import Pair
from orchctl.units import LONGEST_S

NEWS_LIMIT = 64  # for a viewer that does not read; each says all that counts


@dataclass(slots=True, eq=False)
class View:
    """One connection of a viewer, and what it has not been told yet."""

    key: str
    answers_from: int | None = None  # the byte of the output from which on its terminal answers what is asked in it
    listening: bool = False
    pending: deque[LeaseNews] = field(default_factory=lambda: deque(maxlen=NEWS_LIMIT))
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, news: LeaseNews) -> None:
        """To be told."""
        if self.listening:
            self.pending.append(news)
            self.arrived.set()

    async def next(self) -> LeaseNews:
        """The oldest that was not told yet."""
        while not self.pending:
            self.arrived.clear()
            await self.arrived.wait()
        return self.pending.popleft()


def identity(viewer: str, who: str, terminal: str | None) -> Identity:
    """Whoever knows a secret."""
    return Identity(key=key_of(viewer), who=who, terminal=terminal)


def shown(held: Held | None, now: float) -> Lease | None:
    """As everybody sees it."""
    if held is None:
        return None
    return Lease(
        holder=held.by.name,
        who=held.by.who,
        epoch=held.epoch,
        since=unix(held.since, now),
        terminal=held.by.terminal,
        expires_at=None if held.grip is Grip.TYPING else unix(held.until, now),
        returns_to=held.claims[-1].by.name if held.claims else None,
        away=held.grip is Grip.AWAY,
    )


def unix(at: float, now: float) -> float:
    """Seconds since boot as everybody reads them."""
    return round(time.time() + at - now, 3)


log = logging.getLogger(__name__)
Decision = Callable[[Rights, float], Change]


class LeasedSession(ToldSession, Protocol):
    """A session that is typed into."""

    folder: str

    @property
    def closed(self) -> bool: ...
    @property
    def pair(self) -> Pair: ...


class Leases:
    """The one authority of one session."""

    def __init__(self, session: LeasedSession, store: LeaseStore, teller: Teller, *, over: bool) -> None:
        self._session = session
        self._store = store
        self._teller = teller
        self._rights = Rights() if over else restored(store.read(), boot_s())
        self._turn = asyncio.Lock()
        self._changed = News()
        self._views: dict[str, list[View]] = {}
        self._left: list[str] = []
        session.pair.fence(self._rights.input_epoch)

    def forget(self) -> None:
        """What was kept is of a run that is over, and its end may not be on disk yet."""
        self._rights = replace(self._rights, held=None)

    @property
    def epoch(self) -> int:
        """Of the newest grant."""
        return self._rights.epoch

    def view(self) -> Lease | None:
        """The lease as everybody sees it."""
        return None if self._session.closed else shown(self._rights.held, boot_s())

    def state(self, key: str = "") -> LeaseState:
        """The same with everybody who is attached; `key` is of the viewer who asks, if it says who it is."""
        now = boot_s()
        viewers = tuple(
            Viewer(
                name=one.by.name,
                who=one.by.who,
                terminal=one.by.terminal,
                read_only=one.read_only,
                since=unix(one.since, now),
            )
            for one in self._rights.attached
        )
        lease, held = self.view(), self._rights.held
        yours = lease is not None and held is not None and held.by.key == key
        return LeaseState(lease=lease, viewers=viewers, yours=yours)

    # what is asked for

    async def admit(self, key: str, *, keys: bool = False, wait_s: float = 0.0) -> int:
        """Whether somebody may type now, or before `wait_s` are over; the epoch that allows it."""
        return (await self._patiently(lambda rights, now: lease.admit(rights, key, now, keys=keys), wait_s)).input_epoch

    async def take(self, by: Identity, *, ttl_s: float | None, force: bool, wait_s: float) -> None:
        """For a time, or for as long as it is attached and types."""
        await self._patiently(lambda rights, now: lease.take(rights, by, now, ttl_s=ttl_s, force=force), wait_s)

    async def release(self, key: str, once: str) -> None:
        """Its holder lets go."""
        await self._do(lambda rights, now: lease.release(rights, key, now, once=once))

    async def transfer(self, key: str, to: str, *, give_back: bool, once: str) -> None:
        """Its holder hands it on."""
        await self._do(lambda rights, now: lease.transfer(rights, key, to, now, give_back=give_back, once=once))

    async def enter(self, view: View, by: Identity, *, read_only: bool) -> None:
        """Somebody attaches; from now on it hears what happens."""
        self._views.setdefault(view.key, []).append(view)
        viewer = Attached(by=by, read_only=read_only, since=boot_s())
        await self._do(lambda rights, now: lease.enter(rights, viewer, now))
        view.listening = True
        view.hear(self._news(view, "standing"))

    def leave(self, view: View) -> None:
        """A connection is lost; with its last one a viewer is away."""
        views = self._views.get(view.key, [])
        if view in views:
            views.remove(view)
        if not views:
            self._views.pop(view.key, None)
            self._left.append(view.key)
            self.wake()

    def may_answer(self, key: str) -> bool:
        """Whether what this viewer's terminal answers is for the program: one answers, and not several."""
        answering = self._answering()
        return answering is not None and answering.key == key

    def answered_from(self) -> int | None:
        """The byte of the output from which on a viewer's terminal answers what is asked in it; None: nobody's does."""
        answering = self._answering()
        return None if answering is None else answering.answers_from

    def _answering(self) -> View | None:
        """The holder's, else that of the viewer who has been there longest; of a holder without one, nobody's."""
        held = self._rights.held
        views = [view for each in self._views.values() for view in each[-1:] if view.answers_from is not None]
        return next((view for view in views if held is None or held.by.key == view.key), None)

    def obstacle(self, key: str) -> str:
        """Who holds the lease, if that keeps the viewer with this key from typing; else nothing."""
        held = self._rights.held
        return "" if held is None or held.by.key == key else f"{lease.described(held.by)} holds it"

    def refusal(self) -> OrchctlError:
        """Why what was allowed a moment ago was not typed."""
        held = self._rights.held
        if held is None:
            return Conflict("the lease changed hands before it could be typed", code="lease-held")
        return lease.lease_held(held)

    # the one task

    def wake(self) -> None:
        """Something is to be looked at."""
        self._changed.tell()

    async def tend(self) -> None:
        """See to what time and lost connections end, until the session is closed."""
        while not (self._session.closed or self._session.pair.gone.is_set()):
            ticket = self._changed.ticket
            await self._see_to()
            held = self._rights.held
            await set_within(ticket, None if held is None else max(0.0, held.until - boot_s()))
        await self._close()

    async def _see_to(self) -> None:
        left, self._left = self._left, []
        try:
            for key in left:
                if key not in self._views:  # else it is back already
                    await self._do(lambda rights, now, key=key: lease.leave(rights, key, now))  # type: ignore[misc]
            await self._do(lease.settle)
        except NoSuchSession:  # it ends just now
            pass
        except OrchctlError:  # a full disk, on which nobody can have it back now
            await asyncio.sleep(1.0)
            self.wake()

    async def _close(self) -> None:
        async with self._turn:
            change = lease.close(self._rights)
            if change.keep:
                await self._keep(change)
            self._apply(change)

    # how it is done

    async def _patiently(self, decide: Decision, wait_s: float) -> Rights:
        if not 0 <= wait_s <= LONGEST_S:
            raise BadInput(f"{wait_s:g} seconds", code="bad-duration")
        until = time.monotonic() + wait_s
        while True:
            ticket = self._changed.ticket
            try:
                return await self._do(decide)
            except Conflict as refusal:
                if refusal.code != "lease-held" or (left_s := until - time.monotonic()) <= 0:
                    raise
                await set_within(ticket, left_s)

    async def _do(self, decide: Decision) -> Rights:
        """Decide, keep it, and only then let it count; nothing of it stops halfway, whoever leaves meanwhile."""
        if not self._turn.locked():
            change = self._decided(decide)
            if not change.keep:
                self._apply(change)
                return change.rights
        doing = asyncio.ensure_future(self._do_in_turn(decide))
        doing.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(doing)

    async def _do_in_turn(self, decide: Decision) -> Rights:
        async with self._turn:
            change = self._decided(decide)
            if change.keep:
                await self._keep(change)
            self._apply(change)
            return change.rights

    def _decided(self, decide: Decision) -> Change:
        if self._session.closed:
            raise NoSuchSession("the session has ended", code="session-ended")
        return decide(self._rights, boot_s())

    async def _keep(self, change: Change) -> None:
        record = {**to_record(change.rights), "session": self._session.spec.id, "time": time.time()}
        root = os.path.dirname(os.path.dirname(self._session.folder))
        failpoints.pass_by(root, "lease-decided")
        try:
            await asyncio.to_thread(self._store.put, record)
        except OSError as error:
            if change.rights.held is None:  # nobody is granted anything; what has ended would only end once more
                log.warning("session %s: the end of a lease was not kept: %s", self._session.spec.id, error.strerror)
                return
            self._rights = replace(self._rights, epoch=change.rights.epoch)  # it may be on disk: never given again
            raise OrchctlError(f"the lease cannot be written down: {error.strerror}", code="no-space") from None
        failpoints.pass_by(root, "lease-kept")

    def _apply(self, change: Change) -> None:
        self._rights = change.rights
        for move in change.moves:
            self._session.pair.fence(change.rights.input_epoch)
            self._tell(move)
        if change.moves:
            self.wake()

    def _tell(self, move: Move) -> None:
        concerned = move.after or move.before
        if concerned is not None:
            self._teller.say(
                self._session,
                "lease",
                who=concerned.by.who,
                reason=move.reason,
                holder=move.after.by.name if move.after else None,
                before=move.before.by.name if move.before else None,
                terminal=concerned.by.terminal,
                epoch=concerned.epoch,
            )
        for views in list(self._views.values()):
            for view in views:
                view.hear(self._news(view, move.reason, move.after))

    def _news(self, view: View, reason: str, held: Held | None = None) -> LeaseNews:
        held = self._rights.held if reason == "standing" else held
        return LeaseNews(lease=shown(held, boot_s()), yours=held is not None and held.by.key == view.key, reason=reason)
