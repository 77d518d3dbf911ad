"""One command under way: what was asked, what is known by now, and who watches."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, Protocol

from orchctl.errors import Conflict, OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.log.reader import OutputLog
from orchctl.protocol.messages import CommandWaits, ExecCommand
from orchctl.session.command import Command, CommandStatus, CommandWait
from orchctl.shell.execution import End, Escalation, Step
from orchctl.supervisor.change import News, either, set_within
from orchctl.supervisor.clock import boot_id, boot_s
from orchctl.supervisor.lease import LeasedSession, Leases
from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.request import Call, LogSession


class ShellSession(LeasedSession, LogSession, Protocol):
    """A session whose shell runs commands."""

    news: News
    leases: Leases

    @property
    def pair(self) -> PairLink: ...
    def open_log(self) -> OutputLog: ...
    def tell(self) -> None: ...
    def prompted(self) -> None: ...


def deadline(at: float | None) -> dict[str, Any]:
    """The fields of a record for a moment in seconds since boot; None: there is no limit."""
    if at is None:
        return {"timeout_at": None, "boot": boot_id()}
    return {"timeout_at": time.time() + at - boot_s(), "timeout_boot_s": at, "boot": boot_id()}


def begins_at(record: dict[str, Any]) -> float | None:
    """The same moment in seconds since boot."""
    if record.get("timeout_boot_s") is not None and record.get("boot") == boot_id():
        return float(record["timeout_boot_s"])
    at = record.get("timeout_at")
    return boot_s() + at - time.time() if at is not None else None


SETTLE_S = 0.01
SETTLE_LIMIT_S = 0.15  # a shell that starts one program after another is never the same twice
AFTER_S = (0.02, 0.05, 0.1, 0.15)


async def interrupt(pair: PairLink, about: Callable[[bool], None], going: Callable[[], bool] = lambda: False) -> None:
    """Interrupt what is in front; `about` hears before it, and again if a program got it and not the shell itself.

    A command that is still `going` is looked after for a moment.
    """
    with contextlib.suppress(Conflict):  # the session ended meanwhile, and the command with it
        await _interrupt(pair, about, going)


async def _interrupt(pair: PairLink, about: Callable[[bool], None], going: Callable[[], bool]) -> None:
    seen = await _settled(pair)
    front = _image(seen)
    going()  # what it tells afterwards may depend on what it saw before
    await _signal(pair, about, seen)
    for wait_s in AFTER_S:
        if not going():
            return
        await asyncio.sleep(wait_s)  # another process's start is no event
        seen = await pair.look()
        if _image(seen) != front and _is_program(seen):
            await asyncio.sleep(SETTLE_S)  # it may be the prompt's, and its mark on its way
            if not going():
                return
            front = _image(seen)
            await _signal(pair, about, seen)


async def _signal(pair: PairLink, about: Callable[[bool], None], before: dict[str, Any]) -> None:
    """What was in front `before` may not be there any more when the signal comes: the answer tells whom it reached."""
    about(False)
    reached = (await pair.signal_told(signal.SIGINT)).get("signalled")
    if (before["front"] if reached is None else reached) != before["child"]:
        about(True)


async def _settled(pair: PairLink) -> dict[str, Any]:
    until = time.monotonic() + SETTLE_LIMIT_S
    last = await pair.look()
    while time.monotonic() < until:
        await asyncio.sleep(SETTLE_S)
        now = await pair.look()
        if _image(now) == _image(last):
            break
        last = now
    return last


def _is_program(seen: dict[str, Any]) -> bool:
    return bool(seen["front"] != seen["child"])


def _image(seen: dict[str, Any]) -> tuple[int, int]:
    """Which program is in front: the copy of a shell that is about to become it is another one."""
    return seen["front"], seen.get("image", 0)


LOOK_AGAIN_S = 0.05
FIRST_LOOK_S = 0.001  # whether the shell is at its prompt is looked at again soon, and then less often
HOLD_S = 10.0  # a prompt that takes longer to draw may be none
SWEEP_S = 0.1  # after an interrupt, a shell is on its way to its prompt by then, and what it runs there is its own
LOOK_AT_TERMINAL_S = 0.2  # whether the shell is back without a mark gives no event


class Overtime:
    """Of one session."""

    def __init__(self, pair: PairLink, has_left: Callable[[Running], bool] = lambda _: False) -> None:
        self._pair = pair
        self._has_left = has_left  # whether the shell is on its way to its prompt, though no mark tells it

    async def check(self, running: Running) -> None:
        """Take the next step against a command that is past its time, or whose caller is gone."""
        now = boot_s()
        if running.left_at is not None and now >= running.left_at:
            running.escalation.begin(now)
        if running.sweep_with:
            await self._sweep_if_due(running, now)
        # a shell that is interrupted while it draws its prompt begins to draw it anew
        elif running.escalation.wait_s(now) == 0 and not self._draws(running, now):
            await self._escalate(running, running.escalation.due(now))

    async def _sweep_if_due(self, running: Running, now: float) -> None:
        """A command that the interrupt has ended needs no more: what runs by now may be the prompt's."""
        if now < running.sweep_at:
            return
        number, running.sweep_with = running.sweep_with, 0
        if not self._draws(running, now):
            with contextlib.suppress(Conflict):
                await self._pair.sweep(running.ticks, number)

    def _draws(self, running: Running, now: float) -> bool:
        if not (running.drawing or self._has_left(running)):
            return False
        running.held_at = now if running.held_at is None else running.held_at
        return now < running.held_at + HOLD_S

    async def wait(self, running: Running, ticket: asyncio.Event) -> None:
        """For news, or until the next step is due."""
        await self.check(running)
        now = boot_s()
        waits = [running.escalation.wait_s(now), running.left_at and max(0.0, running.left_at - now)]
        if running.sweep_with:
            waits = [max(0.0, running.sweep_at - now)]
        limit = min((wait for wait in waits if wait is not None), default=LOOK_AT_TERMINAL_S)
        limit = min(limit, LOOK_AT_TERMINAL_S) + 0.01
        if running.told is not None or running.lost:
            limit = min(limit, FIRST_LOOK_S * 2 ** min(running.looks, 8))
            running.looks += 1
        await either(ticket, running.news.ticket, limit_s=limit)

    async def _escalate(self, running: Running, step: Step) -> None:
        if step is Step.NOTHING:
            return
        running.timed_out = True

        def about(program: bool) -> None:
            self._has_left(running)  # it can tell only of a file that it has seen open
            running.interrupted(program)

        await interrupt(self._pair, about)
        if step in (Step.TERMINATE, Step.KILL):
            running.sweep_with = signal.SIGTERM if step is Step.TERMINATE else signal.SIGKILL
            running.sweep_at = boot_s() + SWEEP_S
        if step is Step.GIVE_UP and self._pair.stalled:
            raise OrchctlError(
                f"the output cannot be stored ({self._pair.stalled}), and how the command ended is not known",
                code="no-space",
            )
        if step is Step.GIVE_UP:
            raise Conflict("the shell did not come back after the time-out; the session is not usable", code="stuck")

    async def sweep(self, running: Running) -> None:
        """What a timed-out command left running ends with it."""
        until = boot_s() + running.asked.kill_after_s
        number = signal.SIGTERM
        try:
            while await self._pair.sweep(running.ticks, number):
                await asyncio.sleep(LOOK_AGAIN_S)  # the kernel gives no event for the end of another's children
                number = signal.SIGKILL if boot_s() >= until else signal.Signals.SIGTERM
                if boot_s() >= until + 2:
                    return
        except Conflict:
            return  # the session ended, and everything with it


CALLER_GONE_S = 5.0  # a caller that is gone for so long takes its command along
ANY_INPUTS = -1  # how many inputs the pair had does not matter
COME_BACK_S = 30.0  # after a change of supervisors, callers need a moment


@dataclass(slots=True)
class Running:
    """Shared by the task that runs it and the calls that watch it."""

    asked: ExecCommand
    command: Command
    news: News = field(default_factory=News)
    begun: bool = False
    prompts: int = 0  # how many prompts there had been when it was typed
    begin_offset: int = 0  # where the log ended when it was typed
    line: str = ""  # what is typed for it
    look_at: float = 0.0  # when the terminal is to be looked at again
    still_offset: int = -1  # how much had been written at the last look
    still: int = 0  # how many looks running have seen the shell wait for input
    locked: int = 0  # how many looks running have seen it wait for a lock of its own
    inputs: int = 0  # how many had been sent to the pair when the prompt was looked at
    drawing: bool = False  # its marks tell that the shell draws its prompt
    drawn_at: int | None = None  # where the prompt begins by its marks
    drawing_at: float = 0.0  # since when that is known
    held_at: float | None = None  # since when a step that is due waits for it
    sweep_with: int = 0  # the signal that what it started is to get, if it does not end by an interrupt
    sweep_at: float = 0.0  # when
    doubted: bool = False  # a program was seen in front after that: it may have been made by hand
    told: End | None = None  # the end that its marks tell, which the kernel has not confirmed
    told_at: float = 0.0
    back: int = 0  # how many looks running have seen the shell back since then
    looks: int = 0  # how many there were since then
    lost: int = 0  # how many looks running have seen an empty line where ours was typed
    newlines: str = ""  # how the terminal mapped them at that end
    prompt_statuses: tuple[int, ...] | None = None  # that the prompt which told the end has seen
    file_seen: bool = False  # the shell was seen to have the command's file open
    ticks: int = 0  # when that was, in clock ticks since boot
    began_boot_s: float | None = None  # when it was begun, in seconds since boot
    output_at: int | None = None
    safe_offset: int = 0
    signalled: bool = False
    program_signalled: bool = False  # and what was in front was not the shell itself
    timed_out: bool = False
    viewer: str = ""  # the key of whoever asked for it, if it may hold the lease
    lease_until: float = 0.0  # how long it waits for another who does
    piped: bool = False  # its stdout and stderr are FIFOs that the mover drains, not files that it writes itself
    short: str = ""  # why some of what it wrote to them is missing
    kept: bool = True  # what it wrote to them can still be read
    waits_for: str = ""  # why the prompt cannot take it yet
    failure: OrchctlError | None = None
    viewers: int = 0
    left_at: float | None = None
    escalation: Escalation = field(default_factory=lambda: Escalation(None, 0))

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.failure is not None or self.command.status is not CommandStatus.RUNNING

    @property
    def unwanted(self) -> bool:
        """Whether it has not begun and is not to begin: it was taken out of the queue, or nobody waits for it."""
        return not self.begun and (self.failure is not None or (self.viewers == 0 and not self.asked.detach))

    def check_wanted(self) -> None:
        """Go no further with a command that nobody wants any more."""
        if self.unwanted:
            raise self.failure or Conflict("the caller is gone", code="caller-gone")

    def enter(self) -> None:
        """Somebody watches."""
        self.viewers += 1
        self.left_at = None

    def leave(self, *, patience_s: float = CALLER_GONE_S) -> None:
        """One watches no more; the last one takes the command along, after a while."""
        self.viewers = max(0, self.viewers - 1)
        if self.viewers == 0 and not self.asked.detach:
            self.left_at = boot_s() + patience_s
        self.news.tell()

    def interrupted(self, program: bool) -> None:
        """It is about to get a signal of ours, or a program of it got one, and not the shell."""
        self.signalled = True
        self.program_signalled = self.program_signalled or program

    def detach(self) -> None:
        """Let it go on, whoever leaves."""
        self.asked = replace(self.asked, detach=True)
        self.left_at = None

    def record(self) -> dict[str, Any]:
        """What the next supervisor needs to finish it."""
        return {
            "prompts": self.prompts,
            "begin_offset": self.begin_offset,
            "line": self.line,
            "ticks": self.ticks,
            "apart": self.asked.apart,
            "piped": self.piped,
            "record": self.asked.record,
            "detach": self.asked.detach,
            "viewer": self.viewer,
            "kill_after_s": self.asked.kill_after_s,
            "began_boot_s": self.began_boot_s,
            **deadline(self.escalation.begins_at),
        }


TELL_S = 1.0  # most commands begin earlier, and nobody needs to hear about those


class WaitNotice:
    """Of one call; says nothing to a caller that did not ask for it."""

    def __init__(self, call: Call, *, wanted: bool) -> None:
        self._call = call
        self._due_at = boot_s() + TELL_S if wanted else None

    async def wait(self, *events: asyncio.Event) -> None:
        """Until one of the events, or until the caller is to be told again."""
        left_s = None if self._due_at is None else max(0.0, self._due_at - boot_s())
        await (set_within(events[0], left_s) if len(events) == 1 else either(*events, limit_s=left_s))

    async def tell(self, what: Callable[[], CommandWait]) -> None:
        """If it is time."""
        if self._due_at is not None and boot_s() >= self._due_at:
            self._due_at = boot_s() + TELL_S
            await self._call.say(CommandWaits(wait=what()))
