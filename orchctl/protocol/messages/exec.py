"""Messages about commands in a live shell."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.command import Command, CommandWait


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecCommand:
    """Run a command in a session's live shell; answered by its output and then `CommandEnds`.

    The asker chooses the id: asked again, the same command is found and not run twice. `text` is shell text,
    `argv` words that must arrive unchanged; `spooled` says that the text was put in place before, being large.
    `stdin` is `null`, `spool` or `tty`. `offset` is where to go on after a lost connection.
    """

    kind: ClassVar[str] = "command.exec"

    session: str
    exec_id: str
    own_manager: str = "user"
    text: str = ""
    argv: tuple[str, ...] = ()
    spooled: bool = False
    stdin: str = "null"
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    apart: bool = False
    record: bool = True
    detach: bool = False
    offset: int | None = None
    timeout_s: float | None = None
    kill_after_s: float = 2.0
    wait_prompt_s: float | None = None
    viewer: str = ""  # the secret of whoever asks, where it may hold the lease
    lease_wait_s: float = 0.0  # for another who holds it
    once: str | None = None  # to an agent: said once, however often it is asked for with this name
    wait_input: bool = True  # to an agent: come back only when its turn has ended, also if it waits for a human
    tell_waits: bool = False  # send `CommandWaits` each second until the command has begun


@dataclass(frozen=True, slots=True, kw_only=True)
class PutSpool:
    """Put a part of a command's `stdin` or `text` in place, before the command is asked for."""

    kind: ClassVar[str] = "command.spool"

    session: str
    exec_id: str
    what: str
    offset: int
    data_b64: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachCommand:
    """Let a command go on without anybody waiting for it."""

    kind: ClassVar[str] = "command.detach"

    session: str
    exec_id: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptCommand:
    """Take a command out of the queue if it has not begun; else interrupt it, or with `detach` let it go on alone.

    The supervisor decides which, so that an interrupt never reaches the command of another caller.
    """

    kind: ClassVar[str] = "command.interrupt"

    session: str
    exec_id: str
    own_manager: str = "user"
    detach: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GetHistory:
    """The commands of a session."""

    kind: ClassVar[str] = "command.history"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInterrupted:
    """What an interrupt did: `withdrawn` (the command never runs), `interrupted`, `detached`, or `over`: nothing."""

    kind: ClassVar[str] = "command.interrupted"

    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWaits:
    """Why the command has not begun; sent only to those who ask with `tell_waits`."""

    kind: ClassVar[str] = "command.waits"

    wait: CommandWait


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandBegins:
    """The command's output follows in data frames."""

    kind: ClassVar[str] = "command.begins"

    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnds:
    """The command is over, and all of its output was sent."""

    kind: ClassVar[str] = "command.ends"

    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeCommands:
    """A part of a history; `more` parts follow."""

    kind: ClassVar[str] = "commands"

    commands: tuple[Command, ...]
    more: bool = False
