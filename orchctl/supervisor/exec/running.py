"""One command under way: what was asked, what is known by now, and who watches."""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import Any

from orchctl.errors import Conflict, OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.protocol.messages import ExecCommand
from orchctl.session.command import Command, CommandStatus
from orchctl.shell.execution import End, Escalation
from orchctl.supervisor.change import News
from orchctl.supervisor.exec.deadline import deadline

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
    inputs: int = 0  # how many had been sent to the pair when the prompt was looked at
    drawing: bool = False  # its marks tell that the shell draws its prompt
    drawn_at: int | None = None  # where the prompt begins by its marks
    drawing_at: float = 0.0  # since when that is known
    held_at: float | None = None  # since when a step that is due waits for it
    doubted: bool = False  # a program was seen in front after that: it may have been made by hand
    told: End | None = None  # the end that its marks tell, which the kernel has not confirmed
    told_at: float = 0.0
    back: int = 0  # how many looks running have seen the shell back since then
    looks: int = 0  # how many there were since then
    lost: int = 0  # how many looks running have seen an empty line where ours was typed
    newlines: str = ""  # how the terminal mapped them at that end
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
            self.left_at = time.monotonic() + patience_s
        self.news.tell()

    def interrupted(self, program: bool) -> None:
        """It is about to get a signal of ours; whether a program does, and not the shell."""
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
