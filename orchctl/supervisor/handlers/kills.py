"""Kills: answered when the end is proven, or when somebody would not go."""

from __future__ import annotations

import asyncio

from orchctl.errors import BadInput
from orchctl.model.supervisor import KillReport
from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.session import SupervisedSession

GRACE_LIMIT_S = 86400.0
AFTERWARDS_S = 10.0  # what KILL has not ended by then is reported, not waited for


async def kill(app: Supervisor, call: Call, asked: messages.KillSessions) -> None:
    """End the sessions named; every name is resolved before any is touched."""
    chosen = {one.spec.id: one for one in (app.registry.find(text, asked.own_manager) for text in asked.sessions)}
    report = await end_all(list(chosen.values()), asked.grace_s)
    await call.say(messages.Killed(report=report))


async def kill_by_manager(app: Supervisor, call: Call, asked: messages.KillByManager) -> None:
    """End the set that the manager selects at this moment."""
    report = await end_all(app.registry.below(asked.manager, exact=asked.exact), asked.grace_s)
    await call.say(messages.Killed(report=report))


async def end_all(sessions: list[SupervisedSession], grace_s: float) -> KillReport:
    """Kill at once, wait for all; what ended sessions left running is killed too."""
    if not 0 <= grace_s <= GRACE_LIMIT_S:
        raise BadInput(f"a grace period of {grace_s} s; 0 to {GRACE_LIMIT_S:.0f}", code="bad-duration")
    live = [session for session in sessions if not session.closed]
    for session in sessions:
        session.given_up = True
        session.news.tell()
    async with asyncio.TaskGroup() as tasks:
        ends = [tasks.create_task(_end(session, grace_s)) for session in sessions]
    return KillReport(
        ended=tuple(session.spec.id for session in live if session.closed),
        already_ended=tuple(session.spec.id for session in sessions if session not in live),
        survivors=tuple(pid for end in ends for pid in end.result()),
    )


async def _end(session: SupervisedSession, grace_s: float) -> tuple[int, ...]:
    """The processes that are still there afterwards."""
    await session.pair.greeted.wait()
    before = session.run.survivals
    session.pair.kill(grace_s)
    try:
        async with asyncio.timeout(grace_s + AFTERWARDS_S):
            while not _gone(session) and session.run.survivals == before:
                await session.news.ticket.wait()
    except TimeoutError:
        return session.run.survivors or ((session.run.pid,) if session.run.pid is not None else ())
    return () if _gone(session) else session.run.survivors


def _gone(session: SupervisedSession) -> bool:
    """Whether nothing is left; a full disk keeps the mover, with what was written last, and nobody else."""
    return session.pair.gone.is_set() or (session.run.empty and bool(session.pair.stalled))
