"""Input: typing, and the interrupt."""

from __future__ import annotations

import base64
import binascii
import hashlib
import signal

from orchctl.errors import BadInput, Conflict, NoSuchSession
from orchctl.pair import wire
from orchctl.protocol import messages
from orchctl.session.lease_state import NAME_DIGITS, key_of
from orchctl.supervisor.agents import prompts
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.exec.queue import Commands
from orchctl.supervisor.exec.running import interrupt as interrupt_command
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession


async def send(app: Supervisor, call: Call, asked: messages.SendInput) -> None:
    """Answered when the terminal has taken all of it."""
    session = _live(app, asked.session, asked.own_manager)
    try:
        data = base64.b64decode(asked.data_b64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the input is not base64") from None
    if session.talk is not None:
        if asked.eof:
            raise BadInput("the input of an agent does not end; 'kill' ends the session", code="has-no-stdin")
        await prompts.send(app, session, data, whole=asked.enter, once=asked.once, who=asked.own_manager)
        await call.say(messages.Done())
        return
    if asked.answer:
        await _answer(session, asked, data)
        await call.say(messages.Done())
        return
    if asked.enter:
        data += b"\r" if session.spec.backend == "pty" else b"\n"
    end_once = _once(f"{asked.once}/eof")
    _check_input(session, asked, end_once)
    if session.run.input_ended == end_once.hex():  # done when it was asked before
        await call.say(messages.Done())
        return
    once = _once(asked.once)
    before = session.view().output.next_offset
    key = key_of(asked.viewer) if asked.viewer else ""
    epoch = await session.leases.admit(key, keys=True, wait_s=asked.lease_wait_s)
    taken, outcome = await session.pair.type(once, data, epoch) if data or not asked.eof else (0, wire.TYPED_ALL)
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
    if outcome == wire.TYPED_ALL and asked.eof:
        outcome = await _end_input(session, end_once, epoch)
    if outcome == wire.TYPED_STALE:
        raise session.leases.refusal()
    named = {"viewer": key[:NAME_DIGITS]} if key else {}
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=len(data), **named)
    await call.say(messages.Done())


async def _answer(session: SupervisedSession, asked: messages.SendInput, data: bytes) -> None:
    """What a viewer's terminal says to what a program asked: not typed by anybody, so no prompt counts as touched."""
    key = key_of(asked.viewer)
    if not session.leases.may_answer(key):
        return
    size = wire.ONCE_BYTES - len(wire.ANSWER)
    once = wire.ANSWER + hashlib.blake2b(asked.once.encode(), digest_size=size).digest()
    epoch = await session.leases.admit(key)
    await session.pair.type(once, data, epoch)


async def _end_input(session: SupervisedSession, once: bytes, epoch: int) -> int:
    """A program that has ended meanwhile, perhaps because its input did, reads no more either."""
    try:
        return await session.pair.end_input(once, epoch)
    except Conflict as error:
        if error.code != "session-ended":
            raise
        return wire.TYPED_ALL


def _once(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=wire.ONCE_BYTES).digest()


def _check_input(session: SupervisedSession, asked: messages.SendInput, end_once: bytes) -> None:
    """Refuse what its program can never read."""
    name = asked.session
    if session.spec.backend == "pty":
        if asked.eof:
            raise Conflict(
                f"session {name} has a terminal, whose input does not end; "
                f"'orchctl send {name} --key C-d' presses the key that ends it for a program in line mode",
                code="has-terminal",
            )
        return
    if session.stdin == "open" or session.run.input_ended == end_once.hex():
        return
    reads = {
        "null": f"session {name} reads /dev/null; 'spawn --stdin=open' leaves the input open for 'send'",
        "handed": f"session {name} reads the stdin that 'spawn --stdin' handed over; "
        "'spawn --stdin=open' leaves the input open for 'send'",
        "ended": f"the input of session {name} has ended already",
    }
    raise Conflict(reads[session.stdin], code="input-ended")


async def interrupt(app: Supervisor, call: Call, asked: messages.InterruptSession) -> None:
    """By signal to the terminal's foreground group, never by typing: no output is thrown away.

    A shell that starts is left alone until its first prompt; what was to be interrupted is over then.
    """
    session = _live(app, asked.session, asked.own_manager)
    commands = session.commands
    if session.talk is not None:
        session.talk.interrupt(asked.own_manager)
    elif commands is None or session.run.prompted_once or not await commands.prompt.comes_up():
        await _interrupt(session, commands)
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, interrupt=True)
    await call.say(messages.Done())


async def _interrupt(session: SupervisedSession, commands: Commands | None) -> None:
    current = commands.current if commands is not None else None
    if commands is not None and current is not None:
        await interrupt_command(session.pair, current.interrupted, lambda: commands.going(current))
    else:
        session.pair.signal(signal.SIGINT)


def _live(app: Supervisor, text: str, own_manager: str) -> SupervisedSession:
    session = app.registry.find(text, own_manager, ended_too=False)
    if session.closed:
        raise NoSuchSession(f"the session {text!r} has ended", code="session-ended")
    return session
