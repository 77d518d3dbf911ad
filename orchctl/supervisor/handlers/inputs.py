"""Input: typing, and the interrupt."""

from __future__ import annotations

import base64
import binascii
import hashlib
import signal

from orchctl.errors import BadInput, Conflict, NoSuchSession
from orchctl.keeper import wire
from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.harness import prompts
from orchctl.supervisor.interrupting import interrupt as interrupt_command
from orchctl.supervisor.session import SupervisedSession


async def send(app: Supervisor, call: Call, asked: messages.SendInput) -> None:
    """Answered when the terminal has taken all of it."""
    session = _live(app, asked.session, asked.own_manager)
    try:
        data = base64.b64decode(asked.data_b64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the input is not base64") from None
    if session.talk is not None:
        await prompts.send(app, session, data, whole=asked.enter, once=asked.once, who=asked.own_manager)
        await call.say(messages.Done())
        return
    if asked.enter:
        data += b"\r" if session.spec.backend == "pty" else b"\n"
    once = hashlib.blake2b(asked.once.encode(), digest_size=wire.ONCE_BYTES).digest()
    before = session.view().output.next_offset
    taken, outcome = await session.pair.type(once, data)
    session.typed[asked.own_manager] = max(before, session.typed.get(asked.own_manager, 0))
    if outcome == wire.TYPED_TOO_LONG:
        raise Conflict(
            "nothing was typed: a line of over 4095 bytes, and the terminal would cut it; "
            "the program must leave line mode first",
            code="line-too-long",
        )
    if outcome == wire.TYPED_BLOCKED:
        raise Conflict(
            f"the program does not read its input; {taken} of {len(data)} bytes were typed",
            code="input-blocked",
        )
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=len(data))
    await call.say(messages.Done())


async def interrupt(app: Supervisor, call: Call, asked: messages.InterruptSession) -> None:
    """By signal to the terminal's foreground group, never by typing: no output is thrown away."""
    session = _live(app, asked.session, asked.own_manager)
    current = session.commands.current if session.commands is not None else None
    if session.talk is not None:
        session.talk.interrupt(asked.own_manager)
    elif current is not None:
        await interrupt_command(session.pair, current.interrupted, lambda: not current.over)
    else:
        session.pair.signal(signal.SIGINT)
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, interrupt=True)
    await call.say(messages.Done())


def _live(app: Supervisor, text: str, own_manager: str) -> SupervisedSession:
    session = app.registry.find(text, own_manager, ended_too=False)
    if session.closed:
        raise NoSuchSession(f"the session {text!r} has ended", code="session-ended")
    return session
