"""Sessions as people see them in tables: columns, ages, sizes, colours of states."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import click

from orchctl.cli.output import BAD, STATES, aligned, paint
from orchctl.session.lease_state import Lease
from orchctl.session.model import Session, State

HEAD = ("ID", "NAME", "MANAGER", "STATE", "TIME", "COMMAND")
SORTS: dict[str, Callable[[Session], tuple[object, ...]]] = {
    "created": lambda session: (session.created_at,),
    "name": lambda session: (session.name is None, session.name or ""),
    "manager": lambda session: (session.managed_by, session.created_at),
    "state": lambda session: (list(State).index(session.state), session.created_at),
    "time": lambda session: (-(session.uptime or 0.0),),
    "ended": lambda session: (session.ended_at is None, session.ended_at or 0.0),
    "cpu": lambda session: (-(session.cpu or 0.0),),
    "memory": lambda session: (-(session.memory or 0),),
    "output": lambda session: (-session.output.next_offset,),
}


def in_order(sessions: Iterable[Session], key: str) -> list[Session]:
    """Sorted by one of `SORTS`; what is equal stays oldest first."""
    return sorted(sorted(sessions, key=lambda one: one.created_at), key=SORTS[key])


def row(session: Session) -> list[str]:
    """One line of `list`."""
    return [
        session.id[:8],
        session.name or "-",
        session.managed_by,
        state_of(session),
        age(session.uptime or 0.0),
        command_of(session),
    ]


def state_of(session: Session) -> str:
    """With what matters beside it: an exit status, or what keeps it."""
    if session.state is State.CLOSED:
        end = session.end_reason.value if session.exit_status is None and session.end_reason else session.exit_status
        return f"closed ({end})"
    beside = [name for name in ("paused", "degraded") if getattr(session, name)]
    beside += ["stalled"] if session.stalled else []
    return f"{session.state.value} ({', '.join(beside)})" if beside else session.state.value


def colour_of(session: Session) -> int:
    """Of its state."""
    bad = session.exit_status not in (None, 0) or session.stalled is not None or session.degraded
    return BAD if bad else STATES[session.state.value]


def show_sessions(sessions: Sequence[Session], *, colour: bool, width: int = 1 << 30) -> list[str]:
    """The table of `list`; the state in colour."""
    if not sessions:
        return []
    head, *lines = aligned(HEAD, [row(session) for session in sessions], width=width)
    start = head.index("STATE")
    for number, session in enumerate(sessions):
        state = state_of(session)
        if lines[number][start : start + len(state)] == state:
            painted = paint(state, colour_of(session), on=colour)
            lines[number] = lines[number][:start] + painted + lines[number][start + len(state) :]
    return [head, *lines]


def echo_lines(lines: Iterable[str]) -> None:
    """Each on its own line."""
    for line in lines:
        click.echo(line, color=True)


def command_of(session: Session) -> str:
    """As it would be typed into a shell."""
    import shlex

    return shlex.join(session.command)


def age(seconds: float) -> str:
    """`42s`, `5m`, `3h`, `2d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def size(count: float | None) -> str:
    """`512B`, `1.5K`, `20M`."""
    if count is None:
        return "-"
    for unit in ("B", "K", "M", "G"):
        if count < 1024 or unit == "G":
            return f"{count:.0f}{unit}" if count >= 10 or unit == "B" else f"{count:.1f}{unit}"
        count /= 1024
    raise AssertionError


def stamp(at: float | None) -> str | None:
    """Local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at is not None else None


def lease_of(lease: Lease | None) -> str:
    """Who may type, in one line."""
    if lease is None:
        return "free"
    at = f" at {lease.terminal}" if lease.terminal else ""
    left = f", {age(lease.expires_at - time.time())} left" if lease.expires_at is not None else ""
    back = f", then {lease.returns_to}" if lease.returns_to else ""
    return f"{lease.holder}  {lease.who}{at}{' (away)' if lease.away else ''}{left}{back}"
