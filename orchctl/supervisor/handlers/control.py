"""What is done to a live session from outside: a signal, another size, a pause."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from orchctl.errors import BadInput, Conflict, NoSuchSession, OrchctlError
from orchctl.protocol import messages
from orchctl.session import environment
from orchctl.session.lease_state import key_of
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.handlers.kills import end_all
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession
from orchctl.supervisor.unpaired import no_terminal

DONE_S = 10.0


async def control(app: Supervisor, call: Call, asked: messages.ControlSession) -> None:
    """Answered when it is on record, with the session as it is then."""
    session = app.registry.find(asked.session, asked.own_manager, ended_too=False)
    if session.closed:
        raise NoSuchSession(f"the session {asked.session!r} has ended", code="session-ended")
    if session.talk is not None:
        raise no_terminal()
    if asked.action == "signal":
        _signal(session, asked.signal)
    elif asked.action == "resize":
        await session.leases.admit(key_of(asked.viewer) if asked.viewer else "")
        await _resize(session, asked.cols, asked.rows)
    elif asked.action in ("pause", "unpause"):
        stop = asked.action == "pause"
        session.pair.pause(stop=stop)
        await _until(session, lambda: session.run.paused == stop)
    else:
        raise BadInput(f"nobody knows how to {asked.action!r} a session", code="bad-action")
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, action=asked.action)
    await call.say(messages.OneSession(session=session.view()))


async def restart(app: Supervisor, call: Call, asked: messages.RestartSession) -> None:
    """A new run, once: asked again after a lost answer, the run that began meanwhile is found."""
    session = app.registry.find(asked.session, asked.own_manager)
    if session.run.number == asked.run:
        app.registry.check_restart(session)
        await session.pair.keep_environment()
        env = _environment(app, session, asked.env)  # now: the end of this run may take what is kept along
        if not session.pair.gone.is_set():
            await end_all([session], asked.grace_s)
        if not session.pair.gone.is_set():
            raise Conflict(f"session {asked.session} would not end", code="survivors")
        session = await app.registry.restart(session, env)
        app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, action="restart")
    elif session.talk is not None and not session.closed:
        await app.registry.lives.open(session.talk)
    await call.say(messages.OneSession(session=session.view()))


def _environment(app: Supervisor, session: SupervisedSession, asker: dict[str, str]) -> dict[str, str]:
    """Of the run before, where it is kept; else of whoever asks."""
    spec = session.spec
    kept = app.house.store.read_environment(spec.id)
    if spec.agent is not None:
        return app.registry.lives.check_again(spec, spec.agent, asker, kept)
    return kept or environment.compose(asker, {}, spec.id, spec.managed_by, spec.cwd, terminal=spec.backend == "pty")


def _signal(session: SupervisedSession, number: int) -> None:
    if number not in {int(one) for one in signal.valid_signals()}:
        raise BadInput(f"{number} is no signal", code="bad-signal")
    session.pair.signal_program(number)


async def _resize(session: SupervisedSession, cols: int, rows: int) -> None:
    if not (0 < cols < 1 << 16 and 0 < rows < 1 << 16):
        raise BadInput(f"a terminal of {cols}x{rows}; 1x1 to 65535x65535", code="bad-size")
    if session.spec.backend != "pty":
        raise Conflict("the session has no terminal", code="no-terminal")
    session.pair.resize(cols, rows)
    await _until(session, lambda: (session.run.cols, session.run.rows) == (cols, rows))


async def _until(session: SupervisedSession, holds: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(DONE_S):
            while not holds():
                if session.closed:
                    raise NoSuchSession("the session ended meanwhile", code="session-ended")
                await session.news.ticket.wait()
    except TimeoutError:
        raise OrchctlError("the session does not answer", code="no-answer") from None
