"""Waiting: until something holds for a session; and what its terminal is like."""

from __future__ import annotations

import asyncio
import termios

from orchctl.errors import BadInput, Conflict, NoSuchSession
from orchctl.protocol import messages
from orchctl.session import wait
from orchctl.session.model import State
from orchctl.supervisor import input_wait
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.handlers.exec import no_shell
from orchctl.supervisor.input_wait import waiting_of
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession

LONGEST_S = 10 * 365 * 86400.0
_LOOKED_AT = {"prompt", "input"}  # who is in front, or sleeps in a read, is no event: the kernel has to be asked


async def wait_for(app: Supervisor, call: Call, asked: messages.WaitFor) -> None:
    """Answered with the first condition that holds."""
    session = app.registry.find(asked.session, asked.own_manager)
    input_wait.refuse(app, call, session, "a program cannot wait for the session it runs in")
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
        try:
            async with asyncio.timeout(min(left) if left else None):
                await ticket.wait()
        except TimeoutError:
            pass


def _check(session: SupervisedSession, asked: messages.WaitFor) -> None:
    wait.check(asked.conditions)
    if any(one.startswith(wait.OUTPUT) for one in asked.conditions):
        raise BadInput("output is looked at by whoever reads it", code="bad-condition")
    if not 0 <= asked.quiet_s <= LONGEST_S:
        raise BadInput(f"{asked.quiet_s} seconds", code="bad-duration")
    if session.talk is None and set(wait.HARNESS_CONDITIONS) & set(asked.conditions):
        raise BadInput("the session has no agent to wait for", code="bad-condition")
    if session.talk is None and session.commands is None and {"command", "prompt"} & set(asked.conditions):
        raise Conflict(no_shell(session, asked.session), code="not-a-shell")


async def _holds(
    session: SupervisedSession, conditions: tuple[str, ...], quiet_limit_s: float, quiet_s: float
) -> str | None:
    for condition in conditions:
        if await _one_holds(session, condition, quiet=quiet_s >= quiet_limit_s):
            return condition
    if session.closed:
        raise NoSuchSession(
            f"the session {session.run.name or session.spec.id} ended before that", code="session-ended"
        )
    return None


async def _one_holds(session: SupervisedSession, condition: str, *, quiet: bool) -> bool:
    commands, talk = session.commands, session.talk
    if talk is not None and condition in ("turn", "command", "prompt"):
        return not talk.state.busy and session.run.state is State.LIVE
    if talk is not None and condition == "needs-input":
        return any(one.reply is None for one in talk.state.pending.values())
    if condition == "input":
        return await waiting_of(session) in wait.WAITS
    if condition == "prompt":
        return not session.closed and await _at_prompt(session)
    if condition == "command":
        return commands is not None and commands.idle
    state = "closed" if condition == "exit" else condition.removeprefix(wait.STATE)
    return quiet if condition == "quiet" else session.run.state.value == state


async def _at_prompt(session: SupervisedSession) -> bool:
    try:
        return session.commands is not None and await session.commands.at_prompt()
    except Conflict:  # it ends just now
        return False


async def get_terminal(app: Supervisor, call: Call, asked: messages.GetTerminal) -> None:
    """Its modes; set first, if that was asked for."""
    session = app.registry.find(asked.session, asked.own_manager, ended_too=False)
    if session.closed:
        raise NoSuchSession(f"the session {asked.session!r} has ended", code="session-ended")
    if session.spec.backend != "pty":
        raise Conflict("the session has no terminal", code="no-terminal")
    local = await _modes(session, asked.echo)
    await call.say(messages.TerminalModes(echo=bool(local & termios.ECHO), canonical=bool(local & termios.ICANON)))


async def _modes(session: SupervisedSession, echo: bool | None) -> int:
    """The terminal's local modes; said again to the next mover, should one have died with the word in its hands."""
    for _ in range(2):
        if echo is not None:
            session.pair.echo(on=echo)
        local = int((await session.pair.look())["local"])
        if echo in (None, bool(local & termios.ECHO)):
            return local
    raise Conflict("whether the terminal shows what is typed cannot be set there", code="no-echo-control")
