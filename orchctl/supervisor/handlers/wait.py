"""Waiting: until something holds for a session; and what its terminal is like."""

from __future__ import annotations

import asyncio
import termios

from orchctl.errors import BadInput, NoSuchSession
from orchctl.protocol import messages
from orchctl.session import wait
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.change import set_within
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession
from orchctl.units import LONGEST_S

_LOOKED_AT = {"prompt", "input"}  # who is in front, or sleeps in a read, is no event: the kernel has to be asked


async def wait_for(app: Supervisor, call: Call, asked: messages.WaitFor) -> None:
    """Answered with the first condition that holds."""
    session = app.registry.find(asked.session, asked.own_manager)
    session.refuse_own(call, "a program cannot wait for the session it runs in")
    _check(session, asked)
    loop = asyncio.get_running_loop()
    size, since, look_s = -1, loop.time(), 0.0
    while True:
        ticket = session.news.ticket
        if (now_size := session.view().output.next_offset) != size:
            size, since, look_s = now_size, loop.time(), 0.0
        fired = await _holds(session, asked.conditions, asked.quiet_s, loop.time() - since)
        if fired is not None:
            await call.say(messages.Fired(condition=fired, session=session.view()))
            return
        session.pair.watch(size)
        look_s = wait.next_look_s(look_s)
        left = [look_s] if _LOOKED_AT & set(asked.conditions) else []
        left += [max(0.0, asked.quiet_s - (loop.time() - since))] if "quiet" in asked.conditions else []
        await set_within(ticket, min(left, default=None))


def _check(session: SupervisedSession, asked: messages.WaitFor) -> None:
    wait.check(asked.conditions)
    if any(one.startswith(wait.OUTPUT) for one in asked.conditions):
        raise BadInput("output is looked at by whoever reads it", code="bad-condition")
    if not 0 <= asked.quiet_s <= LONGEST_S:
        raise BadInput(f"{asked.quiet_s} seconds", code="bad-duration")
    session.check_conditions({*asked.conditions}, asked.session)


async def _holds(
    session: SupervisedSession, conditions: tuple[str, ...], quiet_limit_s: float, quiet_s: float
) -> str | None:
    for condition in conditions:
        if await session.holds(condition, quiet=quiet_s >= quiet_limit_s):
            return condition
    if session.closed:
        raise NoSuchSession(
            f"the session {session.run.name or session.spec.id} ended before that", code="session-ended"
        )
    return None


async def get_terminal(app: Supervisor, call: Call, asked: messages.GetTerminal) -> None:
    """Its modes; set first, if that was asked for."""
    session = app.registry.find_live(asked.session, asked.own_manager)
    local = await session.modes(asked.echo)
    await call.say(messages.TerminalModes(echo=bool(local & termios.ECHO), canonical=bool(local & termios.ICANON)))
