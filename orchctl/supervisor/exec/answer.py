"""How a caller is answered while its command waits, runs and ends: output as it comes, then how it ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from orchctl.errors import OrchctlError
from orchctl.log.commands import apart_files
from orchctl.log.reader import OutputLog
from orchctl.protocol import messages
from orchctl.protocol.frames import DATA_LIMIT_BYTES
from orchctl.session.command import Command, CommandWait
from orchctl.session.lease_state import key_of
from orchctl.supervisor.change import set_within
from orchctl.supervisor.exec.queue import Commands
from orchctl.supervisor.exec.running import CALLER_GONE_S, Running, ShellSession, WaitNotice
from orchctl.supervisor.exec.running import interrupt as interrupt_front
from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.request import Call, send_range, wait_for_files

TEXT_SHOWN = 4096  # characters of a command's text; all of it is in commands.jnl
APART_AGAIN_S = 0.05  # plain files give no event when they grow
BEGIN_S = 2.0  # from the begin of a command to its start in the shell, as a rule a few milliseconds


async def run(call: Call, session: ShellSession, commands: Commands, asked: messages.ExecCommand) -> None:
    """Run a command, or come back to it."""
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


async def _admit(session: ShellSession, commands: Commands, asked: messages.ExecCommand, notice: WaitNotice) -> None:
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


async def _watch(call: Call, session: ShellSession, commands: Commands, running: Running, offset: int | None) -> None:
    if running.failure is not None and not running.begun:
        raise running.failure
    await call.say(messages.CommandBegins(command=shown(running)))
    if running.asked.detach and not running.over:
        await call.say(messages.CommandEnds(command=shown(running)))
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
    await call.say(messages.CommandEnds(command=shown(running)))


async def _send(call: Call, session: ShellSession, log: OutputLog, running: Running, offset: int | None) -> None:
    """Output as it becomes certain that it is output."""
    while True:
        ticket, over = running.news.ticket, running.over
        if over and not running.command.ran:
            await call.say(messages.CommandBegins(command=shown(running)))
        if running.output_at is not None and not (running.command.ran is False and not over):
            at = max(offset or 0, running.output_at)
            offset = await send_range(call, session, log, at, running.safe_offset)
            if over and offset < running.safe_offset:
                raise _output_gone()
        if over:
            return
        if ticket is running.news.ticket:
            await ticket.wait()


async def _send_apart(call: Call, session: ShellSession, commands: Commands, running: Running) -> None:
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
        await set_within(ticket, APART_AGAIN_S)


def _output_gone() -> OrchctlError:
    return OrchctlError("the command's output is no longer kept", code="output-gone")


async def interrupt(pair: PairLink, commands: Commands, asked: messages.InterruptCommand) -> str:
    """Take a command out of the queue, or interrupt it if it has begun: decided here, in one step."""
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
    await interrupt_front(pair, running.interrupted, lambda: not running.over)
    return "interrupted"


async def _has_started(running: Running) -> bool:
    """Wait until the shell runs it, because before that the shell would take an interrupt; False: it is over."""
    await running.news.until(lambda: running.output_at is not None or running.over, BEGIN_S)
    return not running.over


def shown(running: Running) -> Command:
    """A command without the rest of a long text."""
    command = running.command
    return replace(command, text=command.text[:TEXT_SHOWN])
