"""Requests that act on what runs: signals, sizes, pauses, restarts and kills."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from orchctl.errors import BadInput, Conflict
from orchctl.pair.tree import descendants, lives, send, start_ticks
from orchctl.protocol import messages
from orchctl.session.model import KillReport
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession
from orchctl.supervisor.stopped import let_go_on


async def control(app: Supervisor, call: Call, asked: messages.ControlSession) -> None:
    """Answered when it is on record, with the session as it is then."""
    session = app.registry.find_live(asked.session, asked.own_manager)
    await session.control(asked)
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, action=asked.action)
    await call.say(messages.OneSession(session=session.view()))


async def restart(app: Supervisor, call: Call, asked: messages.RestartSession) -> None:
    """A new run, once: asked again after a lost answer, the run that began meanwhile is found."""
    session = app.registry.find(asked.session, asked.own_manager)
    if session.run.number == asked.run:
        app.registry.check_restart(session)
        env = await session.environment(asked.env)  # now: the end of this run may take what is kept along
        if not session.pair.gone.is_set():
            await end_all([session], asked.grace_s)
        if not session.pair.gone.is_set():
            raise Conflict(f"session {asked.session} would not end", code="survivors")
        session = await app.registry.restart(session, env)
        app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, action="restart")
    elif not session.closed:
        await session.open()
    await call.say(messages.OneSession(session=session.view()))


GRACE_LIMIT_S = 86400.0
GREET_S = 10.0  # a pair that says no hello by then cannot be asked
LOOK_AGAIN_S = 0.05
AFTERWARDS_S = 10.0  # what KILL has not ended by then is reported, not waited for
LATE_S = 60.0  # while nothing of a session lives, its keeper may take this long to say so: a busy machine, hundreds


async def kill(app: Supervisor, call: Call, asked: messages.KillSessions) -> None:
    """End the sessions named; every name is resolved before any is touched."""
    chosen = {one.spec.id: one for one in (app.registry.find(text, asked.own_manager) for text in asked.sessions)}
    _tell(app, list(chosen.values()), asked.own_manager)
    report = await end_all(list(chosen.values()), asked.grace_s, asked.signal)
    await call.say(messages.Killed(report=report))


async def kill_by_manager(app: Supervisor, call: Call, asked: messages.KillByManager) -> None:
    """End the set that the manager selects at this moment."""
    chosen = app.registry.below(asked.manager, exact=asked.exact)
    _tell(app, chosen, asked.own_manager)
    report = await end_all(chosen, asked.grace_s)
    await call.say(messages.Killed(report=report))


def _tell(app: Supervisor, sessions: list[SupervisedSession], who: str) -> None:
    """Before it is done, so that what ended is never without who ended it."""
    for session in sessions:
        if not session.over:
            app.house.teller.say(session, "input", who=who, bytes=0, action="kill")


async def end_all(sessions: list[SupervisedSession], grace_s: float, number: int = 0) -> KillReport:
    """Kill at once, wait for all; what ended sessions left running is killed too."""
    if not 0 <= grace_s <= GRACE_LIMIT_S:
        raise BadInput(f"a grace period of {grace_s} s; 0 to {GRACE_LIMIT_S:.0f}", code="bad-duration")
    if number and number not in {int(one) for one in signal.valid_signals()}:
        raise BadInput(f"{number} is no signal", code="bad-signal")
    live = [session for session in sessions if not session.closed]
    for session in sessions:
        session.given_up = True
        session.news.tell()
    async with asyncio.TaskGroup() as tasks:
        ends = [tasks.create_task(_end(session, grace_s, number)) for session in sessions]
    lived = {session.spec.id for session in live}
    return KillReport(
        ended=tuple(session.spec.id for session in live if session.closed or session.pair.gone.is_set()),
        already_ended=tuple(session.spec.id for session in sessions if session.spec.id not in lived),
        survivors=tuple(pid for end in ends for pid in end.result()),
        unproven=tuple({pid: None for one in sessions for pid in one.run.unproven if lives(pid)}),
    )


async def _end(session: SupervisedSession, grace_s: float, number: int) -> tuple[int, ...]:
    """The processes that are still there afterwards."""
    waking = asyncio.ensure_future(let_go_on(session.pair.processes))
    try:
        if not await _is_reached(session):
            return await _end_by_pid(session)
        return await _ended(session, grace_s, number)
    finally:
        waking.cancel()


async def _is_reached(session: SupervisedSession) -> bool:
    """Whether its pair says hello; a mover that was stopped does once it goes on."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GREET_S):
            await session.pair.greeted.wait()
    return session.pair.greeted.is_set()


async def _end_by_pid(session: SupervisedSession) -> tuple[int, ...]:
    """SIGKILL to the program and all below it, where nobody can be asked to; who is left, and who did not answer."""
    session.pair.kill(0.0)  # for a mover that comes after all
    pid = session.run.pid
    if pid is not None and lives(pid) and start_ticks(pid) == session.run.ticks:
        with contextlib.suppress(OSError):
            session.note({"type": "kill", "reason": "asked"})
        for number in (signal.SIGSTOP, signal.SIGKILL):
            send([pid, *descendants(pid, leave_out=0)], number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AFTERWARDS_S):
                while not session.closed and lives(pid):
                    await asyncio.sleep(LOOK_AGAIN_S)  # it is another's child, whose end gives no event
    session.look()
    return () if session.closed else (*_left(session), *session.pair.processes())


async def _ended(session: SupervisedSession, grace_s: float, number: int) -> tuple[int, ...]:
    if number:
        grace_s = await _ask_with(session, number, grace_s)
    for limit_s in (grace_s + AFTERWARDS_S, LATE_S):
        before = session.run.survivals
        session.pair.kill(grace_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not _gone(session) and session.run.survivals == before:
                    await session.news.ticket.wait()
        if _gone(session) or (left := _left(session)):
            break
    return () if _gone(session) else left


def _left(session: SupervisedSession) -> tuple[int, ...]:
    """Who is there now of those that would not end; the dead are not named, whatever was said of them before."""
    named = session.run.survivors or ((session.run.pid,) if session.run.pid is not None else ())
    return tuple(pid for pid in named if lives(pid))


async def _ask_with(session: SupervisedSession, number: int, grace_s: float) -> float:
    """Ask all of it with a signal of the asker's choice; the seconds of grace that are left when the program ended."""
    loop = asyncio.get_running_loop()
    until = loop.time() + (0.0 if number == signal.SIGKILL else grace_s)
    if not session.closed:
        with contextlib.suppress(OSError):  # a full disk keeps nobody from being killed
            session.note({"type": "kill", "reason": "asked"})
        session.pair.signal_program(number)
    try:
        async with asyncio.timeout_at(until):
            with contextlib.suppress(Conflict):
                await session.pair.sweep(0, number)  # and all it has started
            await session.news.until(lambda: session.closed)
    except TimeoutError:
        pass
    return max(0.0, until - loop.time())


def _gone(session: SupervisedSession) -> bool:
    """Whether nothing is left; a full disk keeps the mover, with what was written last, and nobody else."""
    return session.pair.gone.is_set() or (session.run.empty and bool(session.pair.stalled))
