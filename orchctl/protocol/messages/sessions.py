"""Messages about sessions: which there are, starting and ending them; and the answers that others share."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import KillReport, Selection, Session


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
    labels: dict[str, str] = field(default_factory=dict)
    if_exists: str = "error"  # when a live session has the name: also `reuse` and `skip` give that one
    remove: bool = False
    standing: dict[str, str] = field(default_factory=dict)  # what of the asker's cannot be handed over
    echo: bool = True  # whether its terminal shows what is typed, from the start
    profile: str | None = None  # of an agent: how its harness is run
    model: str | None = None
    permission: str | None = None  # `ask`, `allow` or `deny`
    resume: str | None = None  # the server's own name of a conversation that goes on
    prompt: str | None = None  # said to it as soon as it takes prompts
    stdin: str = "open"  # or `null`, or `handed`: a descriptor that comes with the frame's first byte (SCM_RIGHTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSessions:
    """All live sessions, or those under a manager; ended ones too if asked."""

    kind: ClassVar[str] = "session.list"

    managed_by: str | None = None
    ended_too: bool = False
    usage: bool = False  # and what they use
    waiting: bool = False  # and whether they wait for input


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectSessions:
    """Those named, and those that all of the conditions choose; with no condition and no name, none.

    A kind of its own: a supervisor that does not know it must not answer with all there are.
    """

    kind: ClassVar[str] = "session.select"

    selection: Selection
    ended_too: bool = False
    own_manager: str = "user"
    usage: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSession:
    """One session in full."""

    kind: ClassVar[str] = "session.get"

    session: str
    own_manager: str = "user"
    env: bool = False  # and its environment


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSession:
    """Another name for a live session, or none."""

    kind: ClassVar[str] = "session.rename"

    session: str
    name: str | None
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSession:
    """Set and remove labels of a live session."""

    kind: ClassVar[str] = "session.label"

    session: str
    labels: dict[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    own_manager: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSession:
    """Answered when the session is closed."""

    kind: ClassVar[str] = "session.wait"

    session: str
    own_manager: str = "user"


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
    signal: int = 0  # asked for with this signal first, instead of HUP and TERM


@dataclass(frozen=True, slots=True, kw_only=True)
class KillByManager:
    """End every session of a manager and below it (`exact`: of it alone)."""

    kind: ClassVar[str] = "manager.kill"

    manager: str
    exact: bool = False
    grace_s: float = 5.0
    own_manager: str = "user"


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
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeSessions:
    """A part of a listing; `more` parts follow."""

    kind: ClassVar[str] = "sessions"

    sessions: tuple[Session, ...]
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What a kill did."""

    kind: ClassVar[str] = "killed"

    report: KillReport
