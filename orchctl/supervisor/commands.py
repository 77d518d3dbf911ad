"""The commands of one session: one after another in order of arrival, each finished by its marks.

All that is needed to finish a command is on disk before it is typed. A new supervisor reads it,
looks in the log for what has happened meanwhile, and goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchctl.core import shells
from orchctl.core.escalation import Escalation
from orchctl.core.execution import INTERRUPTED, End, Execution
from orchctl.core.lease_state import key_of
from orchctl.core.marks import Mark, MarkScanner
from orchctl.core.shell import TAG, Newline, Order
from orchctl.errors import Conflict, OrchctlError
from orchctl.keeper import wire
from orchctl.model.command import Command, CommandStatus
from orchctl.model.values import from_plain, to_plain
from orchctl.protocol.messages import ExecCommand
from orchctl.store.commands import CommandStore
from orchctl.supervisor.guard import guarded
from orchctl.supervisor.news import either
from orchctl.supervisor.overtime import Overtime
from orchctl.supervisor.prompt import Prompt, newline_mapping, ticks
from orchctl.supervisor.running import COME_BACK_S, Running

if TYPE_CHECKING:
    from orchctl.supervisor.session import SupervisedSession

log = logging.getLogger(__name__)
LINE_TRIES = 3  # a line that a late interrupt threw away is typed again
SCAN_BYTES = 1 << 18
PARSE_S = 10.0  # a text that takes longer to parse is run without an end of its own


class Commands:
    """The queue, the history, and the one command that runs."""

    def __init__(self, session: SupervisedSession, store: CommandStore) -> None:
        self._session = session
        self.store = store
        self._shell = shells.named(session.spec.shell or "")
        self._prompt = Prompt(session, self._shell)
        self._overtime = Overtime(session.pair)
        self._waiting: deque[Running] = deque()
        self._arrived = asyncio.Event()
        self._by_id: dict[str, Running] = {}
        self.current: Running | None = None
        self.history: list[Command] = []
        self.last_end = 0  # where the output of the last command ended
        self._number = 0
        self._restore()

    # what handlers ask for

    def submit(self, asked: ExecCommand) -> Running:
        """Queue a command, or find the one that was asked for before."""
        known = self._by_id.get(asked.exec_id)
        if known is not None:
            return known
        self._number += 1
        text = asked.text or shlex.join(asked.argv)
        command = Command(
            session=self._session.spec.id, id=asked.exec_id, number=self._number, text=text, who=asked.own_manager
        )
        running = Running(asked, command)
        running.viewer = key_of(asked.viewer) if asked.viewer else ""
        running.lease_until = time.monotonic() + asked.lease_wait_s
        self._by_id[asked.exec_id] = running
        self._waiting.append(running)
        self._arrived.set()
        return running

    def find(self, exec_id: str) -> Running | None:
        """A command by its id."""
        return self._by_id.get(exec_id)

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return self.current is None and not self._waiting

    async def at_prompt(self) -> bool:
        """Whether the shell waits for a command."""
        return (await self._prompt.look()).ready

    # the one task

    async def tend(self, tasks: asyncio.TaskGroup) -> None:
        """Run what comes, until the session is over."""
        tasks.create_task(guarded("the first prompt", self._prompt.first()))
        while self._waiting or not (self._session.closed or self._session.pair.gone.is_set()):
            ticket = self._session.news.ticket
            self._arrived.clear()
            if self._waiting:
                await self._run(self._waiting[0])
                self._waiting.popleft()
                continue
            await either(ticket, self._arrived)

    async def _run(self, running: Running) -> None:
        self.current = running
        try:
            if not running.begun:
                await self._begin(running)
            await self._finish(running)
        except OrchctlError as error:
            self._fail(running, error)
        except OSError as error:
            self._fail(running, OrchctlError(f"the command could not be written down: {error.strerror}"))
        finally:
            self.current = None
            if running.over:  # one that the next supervisor finishes may still need them
                self.store.remove(*(f"{prefix}{running.asked.exec_id}" for prefix in ("c", "i", "t", TAG)))

    async def _begin(self, running: Running) -> None:
        """Wait for the prompt, put everything in place, and only then write down that it begins."""
        asked, leases = running.asked, self._session.leases
        await leases.admit(running.viewer, wait_s=max(0.0, running.lease_until - time.monotonic()))
        at = await self._prompt.wait(running)
        running.prompts, running.begin_offset, running.ticks = at.prompts, at.offset, ticks()
        if asked.timeout_s is not None:
            running.escalation = Escalation(time.monotonic() + asked.timeout_s, asked.kill_after_s)
        else:
            running.escalation = Escalation(None, asked.kill_after_s)
        text = self._text(asked)
        running.command = replace(
            running.command,
            text=text if asked.spooled else running.command.text,
            cwd=at.cwd,
            started_at=time.time(),
            newlines=at.newlines,
            start_offset=at.offset,
        )
        complete = "v" not in at.flags and await self._is_complete(text, at.flags)
        self._put_files(asked, text, complete=complete, flags=at.flags)
        self._journal("begin", running)
        running.begun = True
        running.safe_offset = running.begin_offset
        running.news.tell()

    def _text(self, asked: ExecCommand) -> str:
        """What the shell is to run; a spool with NUL bytes holds words, each ended by one."""
        spooled = self.store.read_text(f"t{asked.exec_id}") if asked.spooled else ""
        words = spooled.split("\0")[:-1] if "\0" in spooled else asked.argv
        return self._shell.quote_argv(words) if words else spooled or asked.text

    async def _is_complete(self, text: str, flags: str) -> bool:
        """Whether the shell takes the text as it is, so that a line after it would be a new command."""
        if not self._shell.needs_parsing(text, flags):
            return True
        path = self.store.put("parse", text)
        try:
            async with asyncio.timeout(PARSE_S):
                quiet = asyncio.subprocess.DEVNULL
                words = self._shell.parser(self._session.spec.command, path)
                parser = await asyncio.create_subprocess_exec(
                    *words, stdin=quiet, stdout=quiet, stderr=quiet, cwd=self._session.spec.cwd
                )
                return await parser.wait() == 0
        except (OSError, TimeoutError):
            return False
        finally:
            self.store.remove("parse")  # a command that is not recorded is not to be found here either

    def _put_files(self, asked: ExecCommand, text: str, *, complete: bool, flags: str) -> None:
        exec_id = asked.exec_id
        spool = f"{self.store.shell}/i{exec_id}"
        order = Order(
            nonce=self._session.spec.nonce,
            folder=self.store.shell,
            exec_id=exec_id,
            text=text,
            stdin={"null": "/dev/null", "spool": spool}.get(asked.stdin),
            env=asked.env,
            cwd=asked.cwd,
            apart=(f"{self.store.shell}/o{exec_id}", f"{self.store.shell}/e{exec_id}") if asked.apart else None,
            complete=complete,
            flags=flags,
        )
        files = self._shell.one_command(order)
        if asked.stdin == "spool":
            self.store.put_part(f"i{exec_id}", 0, b"")
        self.store.put(f"c{exec_id}", files.command)
        self.store.put(f"{TAG}{exec_id}", files.wrapper)

    async def _finish(self, running: Running) -> None:
        """Follow the log from where the command was typed to where it ended."""
        scanner = MarkScanner(self._session.spec.nonce, running.begin_offset)
        execution = Execution(running.asked.exec_id, running.prompts, self._shell.exit_code, self._shell.lead_bytes)
        output = self._session.open_log()
        offset, tries = running.begin_offset, 0
        self._session.readers.at(running.asked.exec_id, offset)
        try:
            while True:
                ticket, closed = self._session.news.ticket, self._session.closed
                data = output.read(offset, SCAN_BYTES)
                offset += len(data)
                end = self._scan(running, scanner, execution, data)
                if end is not None:
                    await self._ended(running, end, output.span(max(0, end.end - 2), end.end))
                    return
                if data:  # a command may write faster than this reads, and is not to hold up time or others
                    await self._overtime.check(running)
                    await asyncio.sleep(0)
                    continue
                if (gap := output.gap(offset)) is not None:  # more than anybody keeps came while nobody looked
                    offset = gap.end
                    scanner = MarkScanner(self._session.spec.nonce, offset)
                    continue
                if execution.unheard:
                    raise _marks_gone()
                if closed:
                    self._shell_ended(running, execution, offset)
                    return
                if execution.began_at is None and (tries == 0 or execution.dropped):
                    tries += 1
                    if tries > LINE_TRIES:
                        raise Conflict("the shell does not run what is typed", code="not-at-prompt")
                    execution.dropped = False
                    await self._type(running, tries)
                    continue
                if execution.prompt_at is not None:
                    await self._prompt.play()
                if tries and await self._prompt.unmarked(running):
                    await self._unmarked(running, execution, offset)
                    return
                self._session.pair.watch(offset)
                await self._overtime.wait(running, ticket)
        finally:
            self._session.readers.gone(running.asked.exec_id)
            output.close()

    def _scan(self, running: Running, scanner: MarkScanner, execution: Execution, data: bytes) -> End | None:
        end = None
        for piece in scanner.feed(data):
            if isinstance(piece, Mark) and end is None:
                end = execution.take(piece)
        if execution.output_at is not None and running.output_at is None:
            running.output_at = execution.output_at
            running.command = replace(running.command, start_offset=execution.output_at)
        if end is None and data:
            # the newline a shell writes when a command was interrupted, and what it draws before its prompt's mark
            held = (2 if running.signalled else 0) + self._shell.lead_bytes
            certain = scanner.safe_offset if execution.prompt_at is None else execution.prompt_at
            running.safe_offset = max(running.safe_offset, certain - held)
            running.news.tell()
        return end

    async def _type(self, running: Running, attempt: int) -> None:
        line = os.fsencode(self._shell.typed_line(self.store.shell, running.asked.exec_id)) + b"\n"
        once = f"{running.asked.exec_id}/{attempt}".encode()[-16:].rjust(16, b"\0")
        epoch = await self._session.leases.admit(running.viewer)
        _, outcome = await self._session.pair.type(once, line, epoch)
        if outcome == wire.TYPED_STALE:
            raise self._session.leases.refusal()

    # ends

    async def _ended(self, running: Running, end: End, last: bytes) -> None:
        if running.timed_out:
            await self._overtime.sweep(running)
        cut = 2 if last == b"\r\n" and self._newline_is_the_shells(running, end) else 0
        seen = await self._session.pair.look() if not self._session.closed else None
        if seen is not None and newline_mapping(seen) == "raw":
            running.command = replace(running.command, newlines="raw")
        running.output_at = end.start
        await self._session.safety.settle()
        self._close(
            running,
            exit_code=124 if running.timed_out else end.exit_code,
            status=CommandStatus.TIMEOUT if running.timed_out else CommandStatus.EXITED,
            completion=end.completion,
            ran=end.ran,
            start_offset=end.start,
            end_offset=max(end.start, end.end - cut),
        )

    def _newline_is_the_shells(self, running: Running, end: End) -> bool:
        """Whether the shell itself ended the line, because of a signal of ours."""
        when = self._shell.newline_on_interrupt
        if when is Newline.AFTER_PROGRAM:
            return running.program_signalled and end.exit_code == INTERRUPTED
        return when is Newline.AT_PROMPT and running.signalled and end.completion == "prompt"

    async def _unmarked(self, running: Running, execution: Execution, offset: int) -> None:
        """The shell is seen to wait for input, and no mark came: the command took our marks away."""
        start = execution.output_at or execution.began_at or running.begin_offset
        if running.timed_out:
            await self._ended(running, End(124, "kernel", start, offset, ran=True), b"")
            return
        raise _marks_gone()

    def _shell_ended(self, running: Running, execution: Execution, offset: int) -> None:
        """The shell itself ended: its wait status is the answer."""
        status = self._session.view(with_output=False).exit_status
        start = execution.output_at or execution.began_at or running.begin_offset
        running.output_at = start
        self._close(
            running,
            exit_code=124 if running.timed_out else status,
            status=CommandStatus.TIMEOUT
            if running.timed_out
            else (CommandStatus.EXITED if status is not None else CommandStatus.ERROR),
            completion="process",
            error=None if status is not None else "the session is lost",
            start_offset=start,
            end_offset=offset,
        )

    def _close(self, running: Running, **fields: Any) -> None:
        ended_at = time.time()
        running.command = replace(
            running.command, ended_at=ended_at, duration_s=ended_at - running.command.started_at, **fields
        )
        running.safe_offset = running.command.end_offset or running.safe_offset
        self.last_end = running.command.end_offset or self.last_end
        self._journal("end", running)
        if running.asked.record:
            self.history.append(running.command)
        running.news.tell()
        self._session.news.tell()

    def _fail(self, running: Running, error: OrchctlError) -> None:
        """It was never run, or nobody can tell how it went."""
        running.failure = error
        if running.begun:
            self._close(running, status=CommandStatus.ERROR, error=error.message)
        running.news.tell()

    def _journal(self, kind: str, running: Running) -> None:
        command = running.command if running.asked.record else replace(running.command, text="")
        self.store.append({"type": kind, "command": to_plain(command), **running.record()})
        self._session.tell()

    def _restore(self) -> None:
        """The history; and a command that was begun and not ended is gone on with."""
        open_ones: dict[str, dict[str, Any]] = {}
        for record in self.store.read().records:
            command = from_plain(Command, record["command"])
            self._number = max(self._number, command.number)
            if record["type"] == "begin":
                open_ones[command.id] = record
                continue
            open_ones.pop(command.id, None)
            asked = ExecCommand(session=command.session, exec_id=command.id, record=record["record"])
            ended = Running(replace(asked, apart=record["apart"]), command, begun=True, output_at=command.start_offset)
            ended.safe_offset = command.end_offset or command.start_offset
            self.last_end = command.end_offset or self.last_end
            self._by_id[command.id] = ended
            if record["record"]:
                self.history.append(command)
        for record in open_ones.values():
            self._resume(record)

    def _resume(self, record: dict[str, Any]) -> None:
        command = from_plain(Command, record["command"])
        asked = ExecCommand(
            session=command.session,
            exec_id=command.id,
            apart=record["apart"],
            record=record["record"],
            detach=record["detach"],
            kill_after_s=record["kill_after_s"],
        )
        running = Running(asked, command, begun=True, prompts=record["prompts"], ticks=record["ticks"])
        running.begin_offset = running.safe_offset = record["begin_offset"]
        running.viewer = record.get("viewer", "")
        at = record["timeout_at"]
        begins_at = time.monotonic() + at - time.time() if at is not None else None
        running.escalation = Escalation(begins_at, asked.kill_after_s)
        running.leave(patience_s=COME_BACK_S)
        self._by_id[command.id] = running
        self._waiting.append(running)


def _marks_gone() -> Conflict:
    return Conflict(
        "the shell is at its prompt again, but without its marks nobody can tell how the command ended",
        code="marks-gone",
    )
