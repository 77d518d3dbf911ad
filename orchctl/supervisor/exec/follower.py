"""Follows one command in its session's log, from where its line is typed to where it ended.

The marks in the log tell the end (`shell/execution.py`); the kernel confirms it, because a command can make marks
itself. Each step reads on, or types the line, or waits for news:

    read a piece of the log      → scan it for marks
    an end is told               → look at the terminal; confirmed: the command is over
    the session is closed        → the shell itself ended, and its status is the answer
    the line was not run yet     → type it, or type it again once it is certain that it was lost
    no mark, but a shell at rest → the command took the marks away
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import replace
from typing import Any

from orchctl.errors import Conflict
from orchctl.lazy_dataclass import dataclass
from orchctl.log.reader import OutputLog
from orchctl.pair import wire
from orchctl.session.command import CommandStatus
from orchctl.shell.base import Newline, Shell
from orchctl.shell.execution import INTERRUPTED, End, Ending, Execution
from orchctl.shell.marks import Mark, MarkScanner, statuses
from orchctl.supervisor.exec.pipes import CommandPipes
from orchctl.supervisor.exec.prompt import DRAWING_S, Prompt, newline_mapping
from orchctl.supervisor.exec.running import ANY_INPUTS, Overtime, Running, ShellSession

LINE_TRIES = 3  # a line that a late interrupt threw away is typed again
SCAN_BYTES = 1 << 18
Fields = dict[str, Any]  # of the command, once it is over


@dataclass(slots=True)
class _Trail:
    """How far the log of one command was followed, and what that told."""

    scanner: MarkScanner
    execution: Execution
    ending: Ending
    output: OutputLog
    offset: int
    tries: int = 0  # how often its line was typed


class CommandFollower:
    """Of one session."""

    def __init__(self, session: ShellSession, shell: Shell, prompt: Prompt, pipes: CommandPipes) -> None:
        self._session = session
        self._shell = shell
        self._prompt = prompt
        self._pipes = pipes
        self._overtime = Overtime(session.pair, prompt.has_left)

    async def follow(self, running: Running) -> Fields:
        """Have the line typed if need be, and wait for the end of the command; what is known of it then."""
        scanner = MarkScanner(self._session.spec.nonce, running.begin_offset)
        execution = Execution(running.asked.exec_id, running.prompts, self._shell.exit_code, self._shell.lead_bytes)
        with contextlib.closing(self._session.open_log()) as output:
            trail = _Trail(scanner, execution, Ending(execution), output, running.begin_offset)
            self._session.readers.at(running.asked.exec_id, trail.offset)
            try:
                while (over := await self._go_on(running, trail)) is None:
                    pass
                return over
            finally:
                self._session.readers.gone(running.asked.exec_id)

    async def _go_on(self, running: Running, trail: _Trail) -> Fields | None:
        """One step along the log; None while the command is not over."""
        ticket, closed = self._session.news.ticket, self._session.closed
        execution, ending, output = trail.execution, trail.ending, trail.output
        if await self._read_on(running, trail):
            return None
        if ending.told is not None and (closed or await self._confirmed(running, trail)):
            return await self._ended(running, ending.told, output)
        if closed:
            await self._pipes.store(running)
            return self._shell_ended(running, execution, trail.offset)
        if execution.began_at is None and (trail.tries == 0 or execution.dropped or execution.unheard):
            return await self._type_or_give_up(running, trail, ticket)
        if execution.prompt_at is not None or ending.told is not None:
            await self._prompt.play()
        if trail.tries and ending.told is None and await self._prompt.unmarked(running):
            return await self._unmarked(running, execution, output, trail.offset)
        if ending.told is None and self._prompt.is_locked_up(running):
            raise Conflict(
                f"{self._shell.name} hangs in a lock of its own since it was interrupted; the session is not usable",
                code="stuck",
            )
        await self._pause(running, ticket, trail.offset)
        return None

    async def _read_on(self, running: Running, trail: _Trail) -> bool:
        """Take a piece of the log; whether there was one."""
        data = trail.output.read(trail.offset, SCAN_BYTES)
        trail.offset += len(data)
        self._scan(running, trail, data)
        if data:  # a command may write faster than this reads, and is not to hold up time or others
            await self._overtime.check(running)
            await asyncio.sleep(0)
            return True
        if (gap := trail.output.gap(trail.offset)) is None:
            return False
        trail.offset = gap.end  # more than anybody keeps came while nobody looked
        trail.scanner = MarkScanner(self._session.spec.nonce, trail.offset)
        return True

    async def _type_or_give_up(self, running: Running, trail: _Trail, ticket: asyncio.Event) -> Fields | None:
        """The line is not typed yet, or a prompt came and it was not run."""
        execution = trail.execution
        if trail.tries and not await self._prompt.is_lost(running, trail.offset):
            await self._pause(running, ticket, trail.offset)
            return None
        if trail.tries and running.signalled:  # by whoever interrupted it, or by its time
            at = execution.dropped_at or trail.offset
            return await self._ended(running, End(INTERRUPTED, "prompt", at, at, ran=False), trail.output)
        if execution.unheard:
            raise _marks_gone()
        trail.tries += 1
        if trail.tries > LINE_TRIES:
            raise Conflict("the shell does not run what is typed", code="not-at-prompt")
        execution.dropped = False
        await self._type(running, trail.tries)
        return None

    async def _pause(self, running: Running, ticket: asyncio.Event, offset: int) -> None:
        """Until there is news, a step is due, or the terminal is to be looked at again."""
        self._session.pair.watch(offset)
        await self._overtime.wait(running, ticket)

    async def _confirmed(self, running: Running, trail: _Trail) -> bool:
        """Whether the shell is seen at its prompt after the end that was told; the first look also tells newlines."""
        ending, told = trail.ending, trail.ending.told
        try:
            seen = await self._session.pair.look()
        except Conflict:
            return self._session.closed
        if running.told is not told:
            running.told, running.told_at, running.back, running.looks = told, time.monotonic(), 0, 0
            running.newlines = newline_mapping(seen)
        if data := trail.output.read(trail.offset, SCAN_BYTES):  # all that was written before the look
            trail.offset += len(data)
            self._scan(running, trail, data)
        if ending.told is not told or len(data) == SCAN_BYTES:
            return False
        if ending.sure:
            return True
        if told is not None and _may_be_by_hand(running, told) and seen["front"] != seen["child"]:
            running.doubted = True  # a prompt's mark is the last thing before the prompt: no program comes after it
        return self._prompt.is_back(running, seen, followed=ending.followed)

    def _scan(self, running: Running, trail: _Trail, data: bytes) -> None:
        scanner, execution, ending = trail.scanner, trail.execution, trail.ending
        for piece in scanner.feed(data):
            if isinstance(piece, Mark):
                before = ending.told
                ending.take(piece, interrupted=running.signalled)
                if ending.told is not before and piece.kind == "P":
                    running.prompt_statuses = statuses(piece)
        if execution.output_at is not None and running.output_at is None:
            running.output_at = execution.output_at
            running.command = replace(running.command, start_offset=execution.output_at)
        drawn_at = _drawn_at(ending.told, execution.prompt_at)
        if drawn_at != running.drawn_at:
            running.drawn_at, running.drawing_at, running.doubted = drawn_at, time.monotonic(), False
        late = time.monotonic() > running.drawing_at + DRAWING_S
        running.drawing = drawn_at is not None and not late and not running.doubted
        if data or not running.drawing:
            # the newline a shell writes when a command was interrupted, and what it draws before its prompt's mark
            held = (2 if running.signalled else 0) + self._shell.lead_bytes
            certain = drawn_at if drawn_at is not None and running.drawing else scanner.safe_offset
            if certain - held > running.safe_offset:
                running.safe_offset = certain - held
                running.news.tell()

    async def _type(self, running: Running, attempt: int) -> None:
        if running.piped:
            await self._session.pair.open_pipes(running.asked.exec_id)
        line = os.fsencode(running.line) + b"\n"
        once = f"{running.asked.exec_id}/{attempt}".encode()[-16:].rjust(16, b"\0")
        while True:
            epoch = await self._session.leases.admit(running.viewer)
            if running.inputs in (self._session.pair.inputs, ANY_INPUTS):  # nobody typed since the prompt was looked at
                break
            running.inputs = (await self._prompt.wait(running)).inputs
        running.signalled = running.program_signalled = False  # what was interrupted before is not this
        try:
            _, outcome = await self._session.pair.type(once, line, epoch)
        except Conflict as error:
            if error.code != "maybe-typed":  # then its marks tell, and a line that was lost is typed again
                raise
            return
        if outcome == wire.TYPED_STALE:
            raise self._session.leases.refusal()

    async def _ended(self, running: Running, end: End, output: OutputLog) -> Fields:
        if running.timed_out:
            await self._overtime.sweep(running)
        await self._pipes.store(running)
        last = output.span(max(0, end.end - 2), end.end)
        cut = 2 if last == b"\r\n" and self._newline_is_the_shells(running, end) else 0
        if running.newlines == "raw":
            running.command = replace(running.command, newlines="raw")
        running.output_at = end.start
        await self._session.safety.settle()
        return dict(  # noqa: C408 - as they are named
            exit_code=124 if running.timed_out else end.exit_code,
            status=CommandStatus.TIMEOUT if running.timed_out else CommandStatus.EXITED,
            completion=end.completion,
            ran=end.ran,
            error=running.short or None,
            pipestatus=_pipestatus(running, end),
            start_offset=end.start,
            end_offset=max(end.start, end.end - cut),
        )

    def _newline_is_the_shells(self, running: Running, end: End) -> bool:
        """Whether the shell itself ended the line, because of a signal of ours."""
        when = self._shell.newline_on_interrupt
        if when is Newline.AFTER_PROGRAM:
            return running.program_signalled and end.exit_code == INTERRUPTED
        return when is Newline.AT_PROMPT and running.signalled and end.completion == "prompt"

    async def _unmarked(self, running: Running, execution: Execution, output: OutputLog, offset: int) -> Fields:
        """The shell is seen to wait for input, and no mark came: the command took our marks away."""
        start = execution.output_at or execution.began_at or running.begin_offset
        if running.timed_out:
            end = End(124, "kernel", start, execution.prompt_at or offset, ran=True)
            return await self._ended(running, end, output)
        raise _marks_gone()

    def _shell_ended(self, running: Running, execution: Execution, offset: int) -> Fields:
        """The shell itself ended: its wait status is the answer."""
        status = self._session.run.exit_status
        start = execution.output_at or execution.began_at or running.begin_offset
        running.output_at = start
        return dict(  # noqa: C408 - as they are named
            exit_code=124 if running.timed_out else status,
            status=CommandStatus.TIMEOUT
            if running.timed_out
            else (CommandStatus.EXITED if status is not None else CommandStatus.ERROR),
            completion="process",
            error=(running.short or None) if status is not None else "the session is lost",
            start_offset=start,
            end_offset=offset,
        )


def _drawn_at(told: End | None, prompt_at: int | None) -> int | None:
    """Where the prompt that the shell draws begins, as far as marks tell; after one by hand the next one counts."""
    if told is None or (told.completion == "prompt" and prompt_at is not None):
        return prompt_at
    return told.end


def _may_be_by_hand(running: Running, told: End) -> bool:
    """Whether a command may have made the prompt's mark that told its end; one after an interrupt of ours counts.

    A further interrupt, already on its way, has the shell draw its prompt again, with the programs that this takes.
    """
    return told.completion == "prompt" and not (running.signalled and told.exit_code == INTERRUPTED)


def _pipestatus(running: Running, end: End) -> tuple[int, ...] | None:
    """Of a command that was cut off only its prompt can tell; of a pipe it cannot, because it sees our own line."""
    if end.completion != "prompt" or end.pipestatus is not None or "|" in running.command.text:
        return end.pipestatus
    return running.prompt_statuses if running.prompt_statuses == (end.exit_code,) else None


def _marks_gone() -> Conflict:
    return Conflict(
        "the shell is at its prompt again, but without its marks nobody can tell how the command ended",
        code="marks-gone",
    )
