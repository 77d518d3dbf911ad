"""What `supervisor status` tells."""

from __future__ import annotations

from orchctl.lazy_dataclass import dataclass


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
    """What a kill did: the sessions it ended, and processes that would not go."""

    ended: tuple[str, ...] = ()
    already_ended: tuple[str, ...] = ()
    survivors: tuple[int, ...] = ()
