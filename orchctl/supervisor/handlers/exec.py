"""Commands in a live shell: run, detach, look back."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import re
import shlex
from dataclasses import replace

from orchctl.errors import BadInput, Conflict, NoSuchSession, OrchctlError
from orchctl.log.commands import apart_files
from orchctl.log.reader import OutputLog
from orchctl.protocol import messages
from orchctl.protocol.frames import DATA_LIMIT_BYTES
from orchctl.session.command import Command, CommandWait
from orchctl.session.lease_state import key_of
from orchctl.supervisor import input_wait
from orchctl.supervisor.agents import prompts
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.exec.queue import Commands
from orchctl.supervisor.exec.running import CALLER_GONE_S, Running, WaitNotice, interrupt
from orchctl.supervisor.request import Call, pages, send_range, wait_for_files
from orchctl.supervisor.session import SupervisedSession

SHOWN_CHARACTERS = 60  # of a command line in a message
TEXT_IN_HISTORY = 4096  # of a command's text; all of it is in commands.jnl
APART_AGAIN_S = 0.05  # plain files give no event when they grow
BEGIN_S = 2.0  # from the begin of a command to its start in the shell, as a rule a few milliseconds
_EXEC_ID = re.compile(r"[A-Za-z0-9-]{8,40}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SPOOLS = {"stdin": "i", "text": "t"}


async def exec_command(app: Supervisor, call: Call, asked: messages.ExecCommand) -> None:
    """Run it, or come back to it; answered by its output and then by how it ended."""
    _check(asked)
    conversation = app.registry.find(asked.session, asked.own_manager)
    if conversation.talk is not None:
        if (asked.once or asked.exec_id) not in conversation.talk.state.prompts:
            input_wait.refuse(app, call, conversation, "an agent cannot be prompted in the turn that asks for it")
        await prompts.exec_prompt(app, call, conversation, conversation.talk, asked)
        return
    session, commands = _shell(app, call, asked.session, asked.own_manager, asked.exec_id)
    notice = WaitNotice(call, wanted=asked.tell_waits)
    if commands.find(asked.exec_id) is None:  # here and not in the queue, where others would wait behind it
        await _admit(session, commands, asked, notice)
    running = commands.submit(asked)
    running.enter()
    try:
        while not running.begun and not running.over:
            ticket = running.news.ticket
            await notice.tell(lambda: commands.waits(running))
            await notice.wait(ticket)
        await _watch(call, session, commands, running, asked.offset)
    finally:
        running.leave()


async def _admit(
    session: SupervisedSession, commands: Commands, asked: messages.ExecCommand, notice: WaitNotice
) -> None:
    """Wait for the lease, unless the command is taken out meanwhile."""
    key = key_of(asked.viewer) if asked.viewer else ""
    if not session.leases.obstacle(key) or not asked.lease_wait_s:
        await session.leases.admit(key, wait_s=asked.lease_wait_s)
        return
    admitting = asyncio.ensure_future(session.leases.admit(key, wait_s=asked.lease_wait_s))
    over = asyncio.Event()
    admitting.add_done_callback(lambda _: over.set())
    try:
        while not admitting.done():
            withdrawals = commands.withdrawals.ticket
            commands.check_withdrawn(asked.exec_id)
            await notice.tell(lambda: CommandWait(what="lease", reason=session.leases.obstacle(key)))
            await notice.wait(over, withdrawals)
        await admitting
    finally:
        admitting.cancel()


async def _watch(
    call: Call, session: SupervisedSession, commands: Commands, running: Running, offset: int | None
) -> None:
    if running.failure is not None and not running.begun:
        raise running.failure
    await call.say(messages.CommandBegins(command=_short(running)))
    if running.asked.detach and not running.over:
        await call.say(messages.CommandEnds(command=_short(running)))
        return
    log = session.open_log()
    try:
        if running.asked.apart:
            await _send_apart(call, session, commands, running)
        else:
            await _send(call, session, log, running, offset)
    finally:
        session.readers.gone(call)
        log.close()
    if running.failure is not None:
        raise running.failure
    await call.say(messages.CommandEnds(command=_short(running)))


async def _send(call: Call, session: SupervisedSession, log: OutputLog, running: Running, offset: int | None) -> None:
    """Output as it becomes certain that it is output."""
    while True:
        ticket, over = running.news.ticket, running.over
        if over and not running.command.ran:
            await call.say(messages.CommandBegins(command=_short(running)))
        if running.output_at is not None and not (running.command.ran is False and not over):
            at = max(offset or 0, running.output_at)
            offset = await send_range(call, session, log, at, running.safe_offset)
            if over and offset < running.safe_offset:
                raise _output_gone()
        if over:
            return
        if ticket is running.news.ticket:
            await ticket.wait()


async def _send_apart(call: Call, session: SupervisedSession, commands: Commands, running: Running) -> None:
    names = dict(zip((1, 2), apart_files(running.asked.exec_id), strict=True))
    at = {1: 0, 2: 0}
    stalled = ""
    if not running.kept:
        raise _output_gone()
    while True:
        ticket, over = running.news.ticket, running.over
        await wait_for_files(session)
        if session.pair.stalled != stalled and running.asked.tell_waits:
            stalled = session.pair.stalled
            await call.say(messages.CommandWaits(wait=CommandWait(what="space", reason=stalled)))
        for channel, name in names.items():
            while data := commands.store.read_part(name, at[channel], DATA_LIMIT_BYTES):
                await call.send_output(at[channel], data, channel)
                at[channel] += len(data)
        if over:
            # not at once: what was said may be lost with the connection, and is asked for again
            commands.pipes.forget_later(running, CALLER_GONE_S)
            return
        commands.pipes.watch_room(running)
        try:
            async with asyncio.timeout(APART_AGAIN_S):
                await ticket.wait()
        except TimeoutError:
            pass


def _output_gone() -> OrchctlError:
    return OrchctlError("the command's output is no longer kept", code="output-gone")


async def put_spool(app: Supervisor, call: Call, asked: messages.PutSpool) -> None:
    """A part of what a command is to read, or of its own text."""
    if not _EXEC_ID.fullmatch(asked.exec_id) or asked.what not in SPOOLS:
        raise BadInput("a part of nothing that is known")
    conversation = app.registry.find(asked.session, asked.own_manager)
    if conversation.talk is not None:
        store = app.house.store.commands(conversation.spec.id)
    else:
        _, commands = _shell(app, call, asked.session, asked.own_manager, asked.exec_id)
        store = commands.store
    try:
        data = base64.b64decode(asked.data_b64, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("the part is not base64") from None
    name = f"{SPOOLS[asked.what]}{asked.exec_id}"
    if asked.offset > (size := store.size_of(name)):  # parts come in order; a hole would be read as zero bytes
        raise BadInput(f"a part at byte {asked.offset} of a file that ends at {size}", code="bad-offset")
    store.put_part(name, asked.offset, data)
    await call.say(messages.Done())


async def detach(app: Supervisor, call: Call, asked: messages.DetachCommand) -> None:
    """The command goes on, whoever leaves."""
    session = app.registry.find(asked.session, asked.own_manager)
    running = session.commands.find(asked.exec_id) if session.commands is not None else None
    if running is not None:
        running.detach()
    await call.say(messages.Done())


async def interrupt_command(app: Supervisor, call: Call, asked: messages.InterruptCommand) -> None:
    """Take it out of the queue, or interrupt it if it has begun: decided here, in one step."""
    if not _EXEC_ID.fullmatch(asked.exec_id):
        raise BadInput("a command's id is 8 to 40 letters, digits and dashes")
    session = _running_in(app, asked.exec_id) or app.registry.find(asked.session, asked.own_manager)
    outcome = "over"
    if session.talk is not None and not session.closed and not asked.detach:
        session.talk.interrupt(asked.own_manager)
        outcome = "interrupted"
    elif session.commands is not None and not session.closed:
        outcome = await _interrupt(session, session.commands, asked)
    if outcome == "interrupted":
        app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, interrupt=True)
    await call.say(messages.CommandInterrupted(outcome=outcome))


def _running_in(app: Supervisor, exec_id: str) -> SupervisedSession | None:
    """Where a command is by its id: a name, or `@last`, may mean another session than when it was asked for."""
    known = (one for one in app.registry.live() if one.commands is not None and one.commands.find(exec_id) is not None)
    return next(known, None)


async def _interrupt(session: SupervisedSession, commands: Commands, asked: messages.InterruptCommand) -> str:
    if commands.withdraw(asked.exec_id):
        return "withdrawn"
    running = commands.find(asked.exec_id)
    if running is None or running.over:
        return "over"
    if asked.detach:
        running.detach()
        return "detached"
    if not await _has_started(running):
        return "over"
    await interrupt(session.pair, running.interrupted, lambda: not running.over)
    return "interrupted"


async def _has_started(running: Running) -> bool:
    """Wait until the shell runs it, because before that the shell would take an interrupt; False: it is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BEGIN_S):
            while running.output_at is None and not running.over:
                await running.news.ticket.wait()
    return not running.over


async def history(app: Supervisor, call: Call, asked: messages.GetHistory) -> None:
    """Oldest first; what runs now is the last."""
    session = app.registry.find(asked.session, asked.own_manager)
    found = prompts.history(session, session.talk) if session.talk is not None else []
    if session.commands is not None:
        found = list(session.commands.history)
        current = session.commands.current
        if current is not None and current.begun and not current.over and current.asked.record:
            found.append(current.command)
    texts = [replace(one, text=one.text[:TEXT_IN_HISTORY]) for one in found]
    parts = pages(texts)
    for number, page in enumerate(parts, 1):
        await call.say(messages.SomeCommands(commands=tuple(page), more=number < len(parts)))


def _check(asked: messages.ExecCommand) -> None:
    if not _EXEC_ID.fullmatch(asked.exec_id):
        raise BadInput("a command's id is 8 to 40 letters, digits and dashes")
    if "\0" in asked.text or any("\0" in word for word in (*asked.argv, *asked.env.values(), asked.cwd or "")):
        raise BadInput("a NUL byte in the command, which no shell can take", code="nul-byte")
    bad = next((name for name in asked.env if not _NAME.fullmatch(name)), None)
    if bad is not None:
        raise BadInput(f"{bad!r} is not the name of a variable", code="bad-env")
    if asked.stdin not in ("null", "spool", "tty"):
        raise BadInput(f"stdin is {asked.stdin!r}")
    for seconds in (asked.timeout_s, asked.kill_after_s, asked.wait_prompt_s):
        if seconds is not None and not 0 <= seconds <= 10 * 365 * 86400:
            raise BadInput(f"{seconds} seconds", code="bad-duration")


def _shell(
    app: Supervisor, call: Call, text: str, own_manager: str, exec_id: str
) -> tuple[SupervisedSession, Commands]:
    """The session and its commands; one that has ended only for a command that was run in it."""
    session = app.registry.find(text, own_manager)
    commands = session.commands
    if commands is not None and commands.find(exec_id) is not None:
        return session, commands
    if session.closed:
        raise NoSuchSession(f"the session {text!r} has ended", code="session-ended")
    input_wait.refuse(app, call, session, "a command cannot be run in the session that asks for it")
    if commands is None:
        raise Conflict(
            f"{no_shell(session, text)}; nothing was typed. 'orchctl send {text}' types into any program, "
            "'orchctl spawn bash' starts a shell",
            code="not-at-prompt",
        )
    return session, commands


def no_shell(session: SupervisedSession, text: str) -> str:
    """Why there is no prompt in a session: what runs there."""
    words = shlex.join(session.spec.command)
    shown = words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"
    reads = " on pipes" if session.spec.backend == "pipe" else ""
    reads = " with a stdin that was handed over" if session.spec.stdin == "handed" else reads
    return f"{text} runs a program ({shown}){reads}, not an interactive shell"


def _short(running: Running) -> Command:
    command = running.command
    return replace(command, text=command.text[:TEXT_IN_HISTORY])
