"""Every message, written once for both ends. Units are in the names; new fields have defaults and
old ones are never renamed or reused.

`session` is what the user typed (id, name, prefix, @last); the supervisor resolves it, with
`own_manager`, the manager of whoever asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from orchctl.model.command import Command
from orchctl.model.session import Session
from orchctl.model.supervisor import KillReport, SupervisorStatus
from orchctl.protocol.kept import (
    Prune,
    Pruned,
    ReadEvents,
    ReadOutput,
    SomeEvents,
    StreamBegins,
    StreamEnds,
    StreamGap,
    StreamTime,
)

__all__ = [
    "Prune",
    "Pruned",
    "ReadEvents",
    "ReadOutput",
    "SomeEvents",
    "StreamBegins",
    "StreamEnds",
    "StreamGap",
    "StreamTime",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnSession:
    """Start a session. The asker chooses the id, so that asking again after a lost answer starts no second one.

    `env` is the asker's own environment, `given` what the user set on top of it.
    """

    kind: ClassVar[str] = "session.spawn"

    session_id: str
    command: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    given: dict[str, str] = field(default_factory=dict)
    name: str | None = None
    managed_by: str = "user"
    cols: int = 80
    rows: int = 24
    umask: int = 0o022
    limits: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSessions:
    """All live sessions, or those under a manager; ended ones too if asked."""

    kind: ClassVar[str] = "session.list"

    managed_by: str | None = None
    ended_too: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSession:
    """One session in full."""

    kind: ClassVar[str] = "session.get"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSession:
    """Answered when the session is closed."""

    kind: ClassVar[str] = "session.wait"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendInput:
    """Type bytes into a session. `once` names this input: repeated with the same name it is typed once."""

    kind: ClassVar[str] = "input.send"

    session: str
    data_b64: str
    once: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptSession:
    """What Ctrl-C does, by signal and not by typing."""

    kind: ClassVar[str] = "session.interrupt"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class KillSessions:
    """End sessions, forcibly once the grace period is over; answered when they are proven gone."""

    kind: ClassVar[str] = "session.kill"

    sessions: tuple[str, ...]
    own_manager: str = "user"
    grace_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KillByManager:
    """End every session of a manager and below it (`exact`: of it alone)."""

    kind: ClassVar[str] = "manager.kill"

    manager: str
    exact: bool = False
    grace_s: float = 5.0


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
class GetHistory:
    """The commands of a session."""

    kind: ClassVar[str] = "command.history"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFor:
    """Answered when one of the conditions holds: `exit`, `command`, `prompt`, or `quiet` for so long."""

    kind: ClassVar[str] = "session.wait-for"

    session: str
    conditions: tuple[str, ...]
    own_manager: str = "user"
    quiet_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GetStatus:
    """Who and where the supervisor is."""

    kind: ClassVar[str] = "supervisor.status"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSupervisor:
    """End the supervisor: refused while sessions live, unless they are to be killed or left running."""

    kind: ClassVar[str] = "supervisor.stop"

    kill: bool = False
    leave: bool = False
    grace_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It is done, and there is nothing more to say."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It could not be done: the error's class, its stable code, and words for people."""

    kind: ClassVar[str] = "failed"

    error: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSession:
    """The answer about one session."""

    kind: ClassVar[str] = "session"

    session: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeSessions:
    """A part of a listing; `more` parts follow."""

    kind: ClassVar[str] = "sessions"

    sessions: tuple[Session, ...]
    more: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The condition that holds now."""

    kind: ClassVar[str] = "fired"

    condition: str
    session: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What a kill did."""

    kind: ClassVar[str] = "killed"

    report: KillReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The supervisor's answer about itself."""

    kind: ClassVar[str] = "status"

    status: SupervisorStatus


Request = (
    SpawnSession
    | ListSessions
    | GetSession
    | WaitSession
    | ReadOutput
    | ReadEvents
    | Prune
    | SendInput
    | InterruptSession
    | KillSessions
    | KillByManager
    | ExecCommand
    | PutSpool
    | DetachCommand
    | GetHistory
    | WaitFor
    | GetStatus
    | StopSupervisor
)
Answer = (
    Done
    | Failed
    | OneSession
    | SomeSessions
    | CommandBegins
    | CommandEnds
    | SomeCommands
    | Fired
    | Killed
    | Status
    | StreamBegins
    | StreamGap
    | StreamTime
    | StreamEnds
    | SomeEvents
    | Pruned
)
Message = Request | Answer
