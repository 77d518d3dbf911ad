"""A session as everybody sees it, the supervisor's status, and what a caller selects or waits for. Pure values."""

from __future__ import annotations

import enum
from dataclasses import field, replace

from orchctl.lazy_dataclass import dataclass
from orchctl.session.agent import AgentState
from orchctl.session.lease_state import Lease


class State(enum.StrEnum):
    """Where a run stands; `session/run.py` holds the moves."""

    IDLE = "idle"
    BOOTSTRAPPING = "bootstrapping"
    LIVE = "live"
    CLOSED = "closed"


class Waiting(enum.StrEnum):
    """Whether it waits for input: for a line or a key, for a secret, for a command; or not, or nobody can tell."""

    YES = "yes"
    PASSWORD = "password"  # noqa: S105
    PROMPT = "prompt"
    NO = "no"
    UNKNOWN = "unknown"


class EndReason(enum.StrEnum):
    """Why a run is over."""

    EXITED = "exited"
    SIGNALED = "signaled"
    KILLED = "killed"
    TIMEOUT = "timeout"
    IDLE_TIMEOUT = "idle-timeout"
    LOST = "lost"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Which bytes of a session's output there are; offsets count from its first byte, for ever."""

    first_offset: int = 0
    next_offset: int = 0
    kept_bytes: int = 0
    dropped_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes that a session's processes have had the kernel read from and write to storage."""

    read_bytes: int = 0
    written_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session; times are Unix time with fractions."""

    id: str
    name: str | None = None
    backend: str = "pty"
    managed_by: str = "user"
    cols: int | None = None
    rows: int | None = None
    cwd: str = "/"
    command: tuple[str, ...] = ()
    shell: str | None = None  # the kind of shell it is, where `exec` can run commands in it
    stdin: str = "open"  # or `null` (/dev/null), `handed` (that of whoever started it), `ended` (`send --eof`)
    env: dict[str, str] | None = None  # shown only when asked for
    repo: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    run: int = 1
    restart: str = "no"
    state: State = State.IDLE
    is_alive: bool = False
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    end_reason: EndReason | None = None
    output_open: bool = False
    paused: bool = False
    degraded: bool = False  # a process of ours that kept it was killed: how it ends may stay unknown
    leftover: tuple[int, ...] = ()  # processes that go on after its program has ended
    timeout_s: float | None = None
    idle_s: float | None = None
    bind_pid: int | None = None
    remove: bool = False  # it goes with its files once it has ended
    uptime: float | None = None  # seconds that its run has lasted
    cpu: float | None = None  # seconds of processor time of all it runs, if measured
    memory: int | None = None  # resident bytes
    io: Traffic | None = None
    processes: int | None = None
    waiting: Waiting = Waiting.UNKNOWN  # for input; looked at only when asked for
    stalled: str | None = None  # why its output cannot be written just now; the program waits
    output: Output = field(default_factory=Output)
    lease: Lease | None = None  # who may type now, if not everybody
    agent: AgentState | None = None  # of a harness session

    def without_output(self) -> Session:
        """The same after its output was taken away."""
        end = self.output.next_offset
        return replace(self, output=Output(first_offset=end, next_offset=end, kept_bytes=0, dropped_bytes=end))

    @property
    def exit_status(self) -> int | None:
        """What a shell would say: the exit code, 128+N for signal N, None while unknown."""
        return 128 + self.signal if self.signal is not None else self.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorStatus:
    """The supervisor that answers, or `running: false`; `degraded` says why one that should run does not start."""

    running: bool
    pid: int | None = None
    zygote: int | None = None
    version: str | None = None
    protocol: int | None = None
    started_at: float | None = None
    sessions: int = 0
    socket: str = ""
    state_dir: str = ""
    chain_head: str | None = None  # of the event journal: noted elsewhere, it shows later whether anything was changed
    problems: tuple[str, ...] = ()
    degraded: str | None = None
    config: str | None = None  # the file with the settings; null where config-path does not say which


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartReport:
    """Who was replaced by whom; `old_pid` is null where none ran."""

    old_pid: int | None
    pid: int | None
    zygote: int | None
    version: str | None
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KillReport:
    """What a kill did: the sessions it ended, and processes that would not go.

    `unproven` are processes that may belong to one of the sessions: its keeper was killed before, so that nothing tells
    whose they are. They were not signalled.
    """

    ended: tuple[str, ...] = ()
    already_ended: tuple[str, ...] = ()
    survivors: tuple[int, ...] = ()
    unproven: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Sessions by id, name, prefix or `@last`; or those, of all or of managers, for which conditions hold.

    `everything` chooses all there are. A selection that says nothing chooses none.
    """

    sessions: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()  # each with all below it
    labels: dict[str, str] = field(default_factory=dict)
    repo: str | None = None
    everything: bool = False

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.sessions or self.open)

    @property
    def single(self) -> bool:
        """Whether it names one session and says nothing else."""
        return len(self.sessions) == 1 and not self.open

    @property
    def open(self) -> bool:
        """Whether sessions that do not exist yet may belong to it."""
        return bool(self.managers or self.labels or self.repo is not None or self.everything)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """The condition that holds, as it was asked for, and the session then; for `output=…` also what matched."""

    condition: str
    session: Session
    match: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Which of the patterns was found first, what matched, and the text before it.

    `dropped_bytes` counts what came still earlier and was let go, so that memory is bounded.
    """

    index: int
    match: bytes
    before: bytes
    groups: tuple[bytes | None, ...] = ()
    dropped_bytes: int = 0
