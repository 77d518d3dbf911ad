"""Every message, written once for both ends. Units are in the names; new fields have defaults and
old ones are never renamed or reused.

`session` is what the user typed (id, name, prefix, @last); the supervisor resolves it, with
`own_manager`, the manager of whoever asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from orchctl.model.session import Session
from orchctl.model.supervisor import KillReport, SupervisorStatus
from orchctl.protocol.commands import (
    CommandBegins,
    CommandEnds,
    DetachCommand,
    ExecCommand,
    GetHistory,
    PutSpool,
    SomeCommands,
)
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
    "CommandBegins",
    "CommandEnds",
    "DetachCommand",
    "ExecCommand",
    "GetHistory",
    "Prune",
    "Pruned",
    "PutSpool",
    "ReadEvents",
    "ReadOutput",
    "SomeCommands",
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
    backend: str = "pty"
    restart: str = "no"
    timeout_s: float | None = None
    idle_s: float | None = None
    bind_pid: int | None = None
    bind_ticks: int = 0
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
    enter: bool = False  # and then what Enter is there
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptSession:
    """What Ctrl-C does, by signal and not by typing."""

    kind: ClassVar[str] = "session.interrupt"

    session: str
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlSession:
    """`signal` to its program, `resize` to columns and rows, `pause` or `unpause`; answered when it is done."""

    kind: ClassVar[str] = "session.control"

    session: str
    action: str
    own_manager: str = "user"
    signal: int = 0
    cols: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartSession:
    """End a session's run, if it has one, and start another. `env` is used where the first run's was not kept."""

    kind: ClassVar[str] = "session.restart"

    session: str
    run: int
    env: dict[str, str]
    own_manager: str = "user"
    grace_s: float = 5.0


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
class RestartSupervisor:
    """Have this supervisor and this zygote replaced by new ones, which `executable`, a Python, starts.

    The connection is lost on the way; asked again, whoever is neither of the two answers that it is done.
    """

    kind: ClassVar[str] = "supervisor.restart"

    pid: int
    zygote: int
    executable: str


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
    | ControlSession
    | RestartSession
    | KillSessions
    | KillByManager
    | ExecCommand
    | PutSpool
    | DetachCommand
    | GetHistory
    | WaitFor
    | GetStatus
    | StopSupervisor
    | RestartSupervisor
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
