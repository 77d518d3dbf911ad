"""One attempt of a session: its states as a table, how it ends, and whether another one follows. Pure.

A pair of state and input that is not in the table is a bug, never a shrug. `Run` is folded from the records of
`run.jnl`; the restart policy says when the next attempt begins.

The end of an attempt, in the order of its records. Whoever dies between two of them is replaced by somebody who goes on
with the next, so that no status is lost and none is invented:

    record     written by             when                             tells
    kill       supervisor or keeper   an end is asked for, or is due   the reason; the first one counts
    status     keeper, or the zygote  before the program is reaped     how the program ended
    exit       keeper                 the log is drained               the same, and where the output ends
    unproven   keeper                 after a promotion                processes that may be the session's
    empty      keeper                 no process is left               that; the mover may still wait for the disk
    lost       keeper or supervisor   nobody can know the status       where the output ends
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import field
from typing import Any

from orchctl.errors import BadInput, Internal
from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import EndReason, State


class Input(enum.Enum):
    """What can happen to a run."""

    STARTED = "started"
    READY = "ready"
    CHILD_ENDED = "child-ended"
    LOST = "lost"


TRANSITIONS: dict[tuple[State, Input], State] = {
    (State.IDLE, Input.STARTED): State.BOOTSTRAPPING,
    (State.IDLE, Input.LOST): State.CLOSED,  # its keeper died before it could tell
    (State.IDLE, Input.CHILD_ENDED): State.CLOSED,  # the record of its start is damaged
    (State.BOOTSTRAPPING, Input.READY): State.LIVE,
    (State.BOOTSTRAPPING, Input.CHILD_ENDED): State.CLOSED,  # it died before its first prompt
    (State.BOOTSTRAPPING, Input.LOST): State.CLOSED,
    (State.LIVE, Input.CHILD_ENDED): State.CLOSED,
    (State.LIVE, Input.LOST): State.CLOSED,
}


def advance(state: State, happened: Input) -> State:
    """The state after `happened`."""
    try:
        return TRANSITIONS[state, happened]
    except KeyError:
        raise Internal(f"a run that is {state.value} cannot be told: {happened.value}") from None


def end_reason(*, signal: int | None, kill_reason: str | None) -> EndReason:
    """Why a reaped run is over: what we asked for wins over how the program took it."""
    if kill_reason is not None:
        return _KILLS.get(kill_reason, EndReason.KILLED)
    return EndReason.SIGNALED if signal is not None else EndReason.EXITED


_KILLS = {"timeout": EndReason.TIMEOUT, "idle-timeout": EndReason.IDLE_TIMEOUT}


_POLICY = re.compile(r"no|always|on-failure(?::([1-9]\d{0,5}))?")
FIRST_S, LONGEST_S = 0.2, 60.0
STEADY_S = 10.0  # a run that lasted so long begins the waiting anew


def check(policy: str) -> str:
    """`policy`, if it is one."""
    if not _POLICY.fullmatch(policy):
        raise BadInput(f"{policy!r} is not a restart policy: no, on-failure[:N] or always", code="bad-restart")
    return policy


def again(policy: str, status: int | None, kill_reason: str | None, runs: int) -> bool:
    """Whether another run follows; never after a kill, and `on-failure:N` allows N restarts in all."""
    if kill_reason is not None or policy == "no":
        return False
    if policy == "always":
        return True
    limit = (_POLICY.fullmatch(policy) or [None, None])[1]
    return status != 0 and (limit is None or runs <= int(limit))


def wait_s(quick_runs: int) -> float:
    """How long to wait after so many runs in a row that ended soon."""
    return float(min(LONGEST_S, FIRST_S * 2 ** min(20, max(0, quick_runs - 1))))


Record = dict[str, Any]


@dataclass(slots=True)
class Run:
    """What the pair has told so far."""

    cols: int | None = None
    rows: int | None = None
    number: int = 0  # 0 before the first
    start_offset: int = 0  # where its output begins
    state: State = State.IDLE
    started_at: float | None = None
    started_boot: tuple[str, float] | None = None  # the same as boot id and seconds since boot; conversations only
    ended_at: float | None = None
    pid: int | None = None
    ticks: int | None = None  # when that process was started: with its pid, that names it for ever
    keeper: int | None = None  # the newest one that is known
    status: int | None = None  # how the program ended, noted before its output was drained
    exit_code: int | None = None
    signal: int | None = None
    end_reason: EndReason | None = None
    final_offset: int | None = None
    output_open: bool = False
    kill_reason: str | None = None  # the first one
    paused: bool = False
    degraded: bool = False
    survivors: tuple[int, ...] = ()
    survivals: int = 0  # how often survivors were named
    unproven: tuple[int, ...] = ()  # processes that may be its own, and do not say whose they are
    empty: bool = False  # nothing of what it started is left
    failure: tuple[str, int] | None = None
    input_ended: str | None = None  # by the request of that name; None while what is typed reaches it
    prompts: bool = False  # a shell of ours: live from its first prompt on
    prompted_once: bool = False
    name: str | None = None  # what it was called later than at its start
    labels: dict[str, str] = field(default_factory=dict)

    def apply(self, record: Record) -> None:
        """Take one record in; a type from the future is passed over. A start after the end is a new run."""
        if record.get("type") == "started" and self.state is State.CLOSED:
            self.__init__(  # type: ignore[misc]
                cols=self.cols,
                rows=self.rows,
                number=self.number,
                prompts=self.prompts,
                name=self.name,
                labels=self.labels,
            )
        rule = _RULES.get(record.get("type", ""))
        if rule is not None:
            rule(self, record)

    @property
    def exit_status(self) -> int | None:
        """What a shell would say; None while unknown."""
        return 128 + self.signal if self.signal is not None else self.exit_code

    def prompted(self) -> None:
        """Its shell has shown a prompt."""
        self.prompted_once = True
        if self.state is State.BOOTSTRAPPING:
            self.state = advance(self.state, Input.READY)

    def lose(self, now: float, final_offset: int) -> None:
        """Nobody was left to tell its end. What was noted before counts; an exit code is never invented.

        The reason of a kill is kept too: a session that ran into its time limit did so, whatever its status was.
        """
        if self.status is not None:
            self.end(now, final_offset, self.status)
            return
        self.state = advance(self.state, Input.LOST)
        self.ended_at, self.final_offset = now, final_offset
        killed = self.kill_reason is not None
        self.end_reason = end_reason(signal=None, kill_reason=self.kill_reason) if killed else EndReason.LOST

    def end(self, now: float, final_offset: int, status: int) -> None:
        """The program ended; `status` is as os.waitstatus_to_exitcode gives it: negative for a signal."""
        self.state = advance(self.state, Input.CHILD_ENDED)
        self.exit_code, self.signal = (status, None) if status >= 0 else (None, -status)
        self.end_reason = end_reason(signal=self.signal, kill_reason=self.kill_reason)
        self.ended_at, self.final_offset = now, final_offset


def _started(run: Run, record: Record) -> None:
    run.state = advance(run.state, Input.STARTED)
    run.started_at, run.pid, run.keeper = record["time"], record["pid"], record.get("keeper")
    run.ticks = record.get("ticks")
    if "boot" in record:
        run.started_boot = record["boot"], record["boot_s"]
    run.number, run.start_offset = run.number + 1, record.get("offset", 0)
    if not run.prompts or run.prompted_once:
        run.state = advance(run.state, Input.READY)  # a plain command is ready as soon as it runs


def _failed(run: Run, record: Record) -> None:
    run.failure = (record["step"], record["errno"])


def _resized(run: Run, record: Record) -> None:
    run.cols, run.rows = record["cols"], record["rows"]


def _input_ended(run: Run, record: Record) -> None:
    run.input_ended = str(record.get("once", ""))


def _prompted(run: Run, _: Record) -> None:
    run.prompted()


def _renamed(run: Run, record: Record) -> None:
    run.name = record["name"]


def _labelled(run: Run, record: Record) -> None:
    run.labels = dict(record["labels"])


def _kill(run: Run, record: Record) -> None:
    if run.kill_reason is None and run.state is not State.CLOSED:
        run.kill_reason = record.get("reason", "asked")


def _paused(run: Run, record: Record) -> None:
    run.paused = record["type"] == "paused"


def _degraded(run: Run, record: Record) -> None:
    run.degraded, run.keeper = True, record.get("keeper", run.keeper)


def _survivors(run: Run, record: Record) -> None:
    run.survivors = tuple(record["pids"])
    run.survivals += 1


def _unproven(run: Run, record: Record) -> None:
    run.unproven = tuple(record["pids"])


def _empty(run: Run, _: Record) -> None:
    run.empty = True


def _status(run: Run, record: Record) -> None:
    run.status = record["status"]


def _exit(run: Run, record: Record) -> None:
    run.end(record["time"], record["offset"], record["status"])
    run.output_open = record["open"]


def _closed(run: Run, record: Record) -> None:
    """A conversation is over: it has no exit code."""
    run.state = advance(run.state, Input.CHILD_ENDED)
    failed = record.get("reason") == "failed"
    run.end_reason = EndReason.FAILED if failed else end_reason(signal=None, kill_reason=run.kill_reason)
    run.ended_at, run.final_offset = record["time"], record["offset"]


def _lost(run: Run, record: Record) -> None:
    run.lose(record["time"], record["offset"])


_RULES: dict[str, Callable[[Run, Record], None]] = {
    "started": _started,
    "failed": _failed,
    "prompted": _prompted,
    "resized": _resized,
    "input-ended": _input_ended,
    "renamed": _renamed,
    "labelled": _labelled,
    "kill": _kill,
    "paused": _paused,
    "unpaused": _paused,
    "degraded": _degraded,
    "survivors": _survivors,
    "unproven": _unproven,
    "empty": _empty,
    "status": _status,
    "exit": _exit,
    "closed": _closed,
    "lost": _lost,
}
