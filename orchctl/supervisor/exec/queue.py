"""The commands of one session: one after another in order of arrival, each finished by its marks.

All that is needed to finish a command is on disk before it is typed. A new supervisor reads it,
looks in the log for what has happened meanwhile, and goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import shlex
import signal
import time
from collections import deque
from dataclasses import replace
from typing import Any

from orchctl.errors import Conflict, OrchctlError
from orchctl.log.commands import CommandStore, apart_files
from orchctl.plain import from_plain, to_plain
from orchctl.protocol.messages import ExecCommand
from orchctl.session import layout
from orchctl.session.command import Command, CommandStatus, CommandWait
from orchctl.session.lease_state import key_of
from orchctl.shell import detect
from orchctl.shell.base import TAG, Order
from orchctl.shell.execution import Escalation
from orchctl.supervisor.change import News, either
from orchctl.supervisor.clock import boot_id, boot_s
from orchctl.supervisor.exec.follower import CommandFollower
from orchctl.supervisor.exec.pipes import CommandPipes
from orchctl.supervisor.exec.prompt import Place, Prompt, ticks
from orchctl.supervisor.exec.running import ANY_INPUTS, COME_BACK_S, Running, ShellSession, begins_at, interrupt

log = logging.getLogger(__name__)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # a disk that takes no more, for now
TEXT_TOLD = 200  # characters of a command's text, to those who wait behind it
WITHDRAWN_KEPT = 1000  # ids of commands that were taken out before they arrived: a moment lies between the two
FOLLOW_AGAIN_S = (0.05, 0.1, 0.2, 0.4, *[1.0] * 20)  # after the log could not be read; then somebody has to be told
PARSE_S = 10.0  # a text that takes longer to parse is run without an end of its own


class Commands:
    """The queue, the history, and the one command that runs."""

    def __init__(self, session: ShellSession, store: CommandStore) -> None:
        self._session = session
        self.store = store
        self._shell = detect.named(session.spec.shell or "")
        self.prompt = Prompt(session, self._shell)
        self.pipes = CommandPipes(session.pair, store)
        self._follower = CommandFollower(session, self._shell, self.prompt, self.pipes)
        # to be put once: others may have made them
        self._kept = self._shell.kept_files(session.spec.nonce, store.shell)
        self._waiting: deque[Running] = deque()
        self._arrived = asyncio.Event()
        self._by_id: dict[str, Running] = {}
        self._withdrawn: deque[str] = deque(maxlen=WITHDRAWN_KEPT)
        self.withdrawals = News()
        self._unwritten: list[Running] = []  # whose end a full disk has not taken
        self._apart_of_before: list[Running] = []  # whose output a supervisor before this one left
        self.current: Running | None = None
        self.history: list[Command] = []
        self._number = 0
        self._restore()

    # what handlers ask for

    def submit(self, asked: ExecCommand) -> Running:
        """Queue a command, or find the one that was asked for before."""
        known = self._by_id.get(asked.exec_id)
        if known is not None:
            return known
        self.check_withdrawn(asked.exec_id)
        self._number += 1
        text = asked.text or shlex.join(asked.argv)
        command = Command(
            session=self._session.spec.id, id=asked.exec_id, number=self._number, text=text, who=asked.own_manager
        )
        running = Running(asked, command)
        running.viewer = key_of(asked.viewer) if asked.viewer else ""
        running.lease_until = boot_s() + asked.lease_wait_s
        self._by_id[asked.exec_id] = running
        self._waiting.append(running)
        self._arrived.set()
        return running

    def withdraw(self, exec_id: str) -> bool:
        """Take a command out of the queue; False if it has begun. One that arrives later is refused.

        Nothing is awaited between this decision and its effect, nor between the last look at it in `_begin` and the
        record of the begin: a command is either taken out or has begun.
        """
        running = self._by_id.get(exec_id)
        if running is not None and (running.begun or running.over):
            return False
        self._withdrawn.append(exec_id)
        if running is not None:
            if running is not self.current:
                self._waiting = deque(waiting for waiting in self._waiting if waiting is not running)
            self._fail(running, _withdrawn())
        self.withdrawals.tell()
        return True

    def check_withdrawn(self, exec_id: str) -> None:
        """Refuse a command that was taken out before it was in the queue."""
        if exec_id in self._withdrawn:
            raise _withdrawn()

    def waits(self, running: Running) -> CommandWait:
        """What a command waits for."""
        current = self.current
        if current is None or current is running:
            if held := self._session.leases.obstacle(running.viewer):
                return CommandWait(what="lease", reason=held)
            return CommandWait(what="prompt", reason=running.waits_for.partition(";")[0])
        waiting = list(self._waiting)
        return CommandWait(
            what="command",
            number=current.command.number,
            text=current.command.text[:TEXT_TOLD] if current.asked.record else "",
            running_s=max(0.0, time.time() - current.command.started_at) if current.begun else None,
            ahead=next((at for at, other in enumerate(waiting) if other is running), 1),
        )

    def find(self, exec_id: str) -> Running | None:
        """A command by its id."""
        return self._by_id.get(exec_id)

    @property
    def told(self) -> list[Command]:
        """The history, and what runs now; not those that are to leave no trace."""
        current = self.current
        runs = current is not None and current.begun and not current.over and current.asked.record
        return [*self.history, current.command] if current is not None and runs else list(self.history)

    async def interrupt(self) -> None:
        """What is in front, whether or not that is a command of ours."""
        if (current := self.current) is None:
            self._session.pair.signal(signal.SIGINT)
        else:
            await interrupt(self._session.pair, current.interrupted, lambda: self.going(current))

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return self.current is None and not self._waiting

    async def at_prompt(self) -> bool:
        """Whether the shell waits for a command."""
        return (await self.prompt.settled()).ready

    def going(self, running: Running) -> bool:
        """Whether a command is under way, and its shell does not yet draw the prompt that follows."""
        return not (running.over or running.drawing or self.prompt.has_left(running))

    # the one task

    async def tend(self) -> None:
        """Run what comes, until the session is over."""
        while self._apart_of_before:
            self.pipes.forget_later(self._apart_of_before.pop(), COME_BACK_S)
        while self._waiting or not (self._session.closed or self._session.pair.gone.is_set()):
            ticket = self._session.news.ticket
            self._arrived.clear()
            if self._waiting:
                if not self._waiting[0].over:  # else an error came between its end and here
                    await self._run(self._waiting[0])
                self._waiting.popleft()
                continue
            await either(ticket, self._arrived)

    async def _run(self, running: Running) -> None:
        self.current = running
        try:
            if not running.begun:
                await self._begin(running)
            self._close(running, **await self._followed(running))
        except OrchctlError as error:
            self._fail(running, running.failure or error)
            if error.code == "caller-gone":  # a caller that comes back after all asks for it anew
                self._by_id.pop(running.asked.exec_id, None)
            if running.piped and running.begun:
                await self.pipes.drop(running)
        except OSError as error:
            code = "no-space" if error.errno in FULL else None
            what = "output cannot be read" if running.begun else "files cannot be written"
            self._fail(running, OrchctlError(f"the command's {what}: {error.strerror}", code=code))
        finally:
            self.current = None
            self._tidy(running)

    def _tidy(self, running: Running) -> None:
        """Remove the files of a command that is over; those that cannot be removed now go with the session."""
        if not running.over:  # the next supervisor finishes it, and may still need them
            return
        if running.asked.apart:
            self.pipes.forget_later(running, COME_BACK_S if running.begun else 0)
        fifos = (layout.STDOUT_FIFO, layout.STDERR_FIFO)
        with contextlib.suppress(OSError):
            self.store.remove(*(f"{prefix}{running.asked.exec_id}" for prefix in ("c", "i", "t", *fifos)))
            if running.failure is not None:  # else its shell may be about to read them; the next command removes them
                self.store.remove_typed()

    async def _followed(self, running: Running) -> dict[str, Any]:
        """How it ended. While its files cannot be read it goes on all the same, and so do we after a pause."""
        for pause_s in FOLLOW_AGAIN_S:
            try:
                return await self._follower.follow(running)
            except OSError as error:
                if error.errno in FULL:
                    raise
                log.warning("session %s: a command is followed again after: %s", self._session.spec.id, error)
            running.inputs = ANY_INPUTS  # it may be typed already, and is not typed twice
            await asyncio.sleep(pause_s)
        return await self._follower.follow(running)

    async def _begin(self, running: Running) -> None:
        """Wait for the prompt, put everything in place, and only then write down that it begins."""
        asked = running.asked
        running.check_wanted()
        await self._admitted(running)
        at = await self.prompt.wait(running)
        running.prompts, running.begin_offset, running.ticks = at.prompts, at.offset, ticks()
        running.inputs = at.inputs
        running.began_boot_s = boot_s()
        running.line = self._typed_line(asked)
        if asked.timeout_s is not None:
            running.escalation = Escalation(boot_s() + asked.timeout_s, asked.kill_after_s)
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
        complete = await self._is_complete(text, at.flags)
        running.check_wanted()  # nothing is awaited from here to the begin
        running.piped = asked.apart and self._session.pair.drains_pipes
        self._put_files(asked, text, at, piped=running.piped, complete=complete)
        self._journal("begin", running)
        running.begun = True
        running.safe_offset = running.begin_offset
        running.news.tell()

    async def _admitted(self, running: Running) -> None:
        """Wait for the lease, for as long as anybody waits for the command."""
        wait_s = max(0.0, running.lease_until - boot_s())
        if not self._session.leases.obstacle(running.viewer):
            await self._session.leases.admit(running.viewer, wait_s=wait_s)
            return
        admitting = asyncio.ensure_future(self._session.leases.admit(running.viewer, wait_s=wait_s))
        try:
            while True:
                ticket = running.news.ticket
                running.check_wanted()
                news = asyncio.ensure_future(ticket.wait())
                await asyncio.wait((admitting, news), return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if admitting.done():
                    await admitting
                    return
        finally:
            admitting.cancel()

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
                    *words, stdin=quiet, stdout=quiet, stderr=asyncio.subprocess.PIPE, cwd=self._session.spec.cwd
                )
                _, warnings = await parser.communicate()  # among them one of a here-document without its end
                return parser.returncode == 0 and not ("<<" in text and warnings)
        except (OSError, TimeoutError):
            return False
        finally:
            self.store.remove("parse")  # a command that is not recorded is not to be found here either

    def _put_files(self, asked: ExecCommand, text: str, at: Place, *, piped: bool, complete: bool) -> None:
        exec_id = asked.exec_id
        make = self.store.make_pipes if piped else self.store.make_files
        self.store.remove_typed()
        for name, kept in self._kept.items():
            self.store.put(name, kept)
        self._kept = {}
        spool = f"{self.store.shell}/i{exec_id}"
        order = Order(
            nonce=self._session.spec.nonce,
            folder=self.store.shell,
            exec_id=exec_id,
            text=text,
            stdin={"null": "/dev/null", "spool": spool}.get(asked.stdin),
            env=asked.env,
            cwd=asked.cwd,
            apart=make(exec_id) if asked.apart else None,
            complete=complete,
            flags=at.flags,
            status=at.aftermath.status,
            pipestatus=at.aftermath.pipestatus,
            last_word=at.aftermath.last_word,
            at_prompt=at.aftermath.at_prompt,
        )
        files = self._shell.one_command(order)
        if asked.stdin == "spool":
            self.store.put_part(f"i{exec_id}", 0, b"")
        if files.command:
            self.store.put(f"c{exec_id}", files.command)
        if files.last:
            self.store.put(f"b{exec_id}", files.last)
        self.store.put(f"{TAG}{exec_id}", files.wrapper)

    def _typed_line(self, asked: ExecCommand) -> str:
        return self._shell.typed_line(self.store.shell, asked.exec_id, own_stdin=asked.stdin != "null")

    # ends

    def _close(self, running: Running, **fields: Any) -> None:
        ended_at = time.time()
        began_boot_s = running.began_boot_s
        lasted_s = ended_at - running.command.started_at if began_boot_s is None else boot_s() - began_boot_s
        running.command = replace(running.command, ended_at=ended_at, duration_s=max(0.0, lasted_s), **fields)
        running.safe_offset = running.command.end_offset or running.safe_offset
        self.prompt.last_end = running.command.end_offset or self.prompt.last_end
        try:
            self._journal("end", running)
        except (
            OSError
        ) as error:  # what is known is told; a supervisor that does not find the record reads the log again
            log.warning("session %s: the end of a command waits for room: %s", self._session.spec.id, error.strerror)
            self._unwritten.append(running)
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
        while self._unwritten:
            self._append("end", self._unwritten[0])
            self._unwritten.pop(0)
        self._append(kind, running)
        with contextlib.suppress(OSError):  # it is on record; upkeep tells it
            self._session.tell()

    def _append(self, kind: str, running: Running) -> None:
        command = running.command if running.asked.record else replace(running.command, text="")
        self.store.append({"type": kind, "command": to_plain(command), **running.record()})

    def _restore(self) -> None:
        """The history; and a command that was begun and not ended is gone on with."""
        open_ones: dict[str, dict[str, Any]] = {}
        for record in self.store.read().records:
            if record["type"] not in ("begin", "end"):  # of a later version
                continue
            command = from_plain(Command, record["command"])
            self._number = max(self._number, command.number)
            if record["type"] == "begin":
                open_ones[command.id] = record
                continue
            open_ones.pop(command.id, None)
            asked = ExecCommand(session=command.session, exec_id=command.id, record=record["record"])
            ended = Running(replace(asked, apart=record["apart"]), command, begun=True, output_at=command.start_offset)
            ended.safe_offset = command.end_offset or command.start_offset
            ended.kept = record["apart"] and self.store.has(*apart_files(command.id))
            if ended.kept:
                self._apart_of_before.append(ended)
            self.prompt.last_end = command.end_offset or self.prompt.last_end
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
        running.piped = record.get("piped", False)
        running.began_boot_s = record.get("began_boot_s") if record.get("boot") == boot_id() else None
        running.line = record.get("line") or self._typed_line(asked)
        running.escalation = Escalation(begins_at(record), asked.kill_after_s)
        running.inputs = ANY_INPUTS  # it may be typed already, and is not typed twice
        running.leave(patience_s=COME_BACK_S)
        self._by_id[command.id] = running
        self._waiting.append(running)


def _withdrawn() -> Conflict:
    return Conflict("the command was taken out of the queue before it began", code="withdrawn")
