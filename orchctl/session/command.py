"""A command run in a session's shell, as its history tells it."""

from __future__ import annotations

import enum

from orchctl.lazy_dataclass import dataclass


class CommandStatus(enum.StrEnum):
    """How far a command is, or how it went."""

    RUNNING = "running"
    EXITED = "exited"
    TIMEOUT = "timeout"
    ERROR = "error"
    NEEDS_INPUT = "needs-input"  # an agent waits for a human, and goes on then


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; offsets are those of its output in the session's log.

    `completion` says how its end was known: `marks` by its own end mark, `prompt` because the shell
    prompted again, `process` because the shell itself ended. `ran` is false when the text did not
    even parse. `newlines` is `mapped` while the terminal maps newlines and nothing else, else `raw`.
    `pipestatus` has the status of each part of the last pipe, where the shell can tell them.
    """

    session: str
    id: str
    number: int
    text: str
    who: str = "user"
    cwd: str | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    duration_s: float | None = None
    exit_code: int | None = None
    status: CommandStatus = CommandStatus.RUNNING
    completion: str | None = None
    ran: bool = True
    newlines: str = "mapped"
    start_offset: int = 0
    end_offset: int | None = None
    error: str | None = None
    pipestatus: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWait:
    """Why a command has not begun: it waits for a `command`, the `lease` or the `prompt`. Or why it does not go on:
    for `space` on the disk, until that is said without a reason.

    Of the command that is in its way: `number`, `text`, and for how long it runs, if it has begun; `ahead` counts
    those that come before this one. Of the others: the `reason`.
    """

    what: str
    number: int = 0
    text: str = ""
    running_s: float | None = None
    ahead: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a command did: its exit code, every byte it wrote, and how its end was known.

    `output` has stdout and stderr in one stream, as they reached the terminal; for a command that
    was run with pipes `output` is its stdout and `errors` its stderr.
    """

    command: Command
    output: bytes = b""
    errors: bytes = b""
    newlines: str = "mapped"
    truncated: bool = False
    gaps: tuple[tuple[int, int], ...] = ()  # offsets of output that retention took before it could be read

    @property
    def exit_code(self) -> int | None:
        """The command's own; 124 after a time-out; None if nobody can tell."""
        return self.command.exit_code

    @property
    def pipestatus(self) -> tuple[int, ...] | None:
        """Of each part of the last pipe, as bash, zsh and fish tell it; None elsewhere, and after an interrupt."""
        return self.command.pipestatus

    @property
    def status(self) -> str:
        """`exited`, `timeout`, `error`, or `running` for one that was detached."""
        return self.command.status.value

    @property
    def completion(self) -> str | None:
        """How the end was known: `marks`, `prompt` or `process`."""
        return self.command.completion

    @property
    def duration_s(self) -> float | None:
        """From start to end."""
        return self.command.duration_s

    @property
    def offsets(self) -> tuple[int, int | None]:
        """Where its output lies in the session's log."""
        return self.command.start_offset, self.command.end_offset
