"""What sessions use: processor time, memory and storage traffic of all their processes.

Which processes are a session's is found in one walk over /proc; psutil, loaded when first asked, measures those alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from orchctl import procfs
from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import Session, Traffic

if TYPE_CHECKING:
    import psutil

_KEEPER, _OURS = "orchctl-keeper", ("orchctl-mover", "orchctl-zygote")  # as the kernel knows them by name


@dataclass(frozen=True, slots=True)
class _Figures:
    cpu_s: float = 0.0  # of its own
    ended_s: float = 0.0  # of children that were waited for
    memory_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


def measure(sessions: Iterable[Session]) -> list[Session]:
    """The same sessions with what they use now; those that have ended use nothing that could be measured."""
    parents = _parents()
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    return [_measured(session, parents, children) for session in sessions]


def _parents() -> dict[int, int]:
    found = {pid: procfs.stat(pid) for pid in procfs.pids()}
    return {pid: int(fields[procfs.PARENT]) for pid, fields in found.items() if len(fields) > procfs.PARENT}


def _measured(session: Session, parents: dict[int, int], children: dict[int, list[int]]) -> Session:
    if not session.is_alive or session.pid not in parents:
        return session
    keeper = parents[session.pid]
    tops, ended_s = [session.pid], 0.0
    if procfs.name(keeper) == _KEEPER:  # what left the program's tree came back to it, a subreaper
        tops, ended_s = children[keeper], _figures(keeper).ended_s
    tree = _below([pid for pid in tops if procfs.name(pid) not in _OURS], children)
    figures = [_figures(pid) for pid in tree]
    return replace(
        session,
        cpu=round(ended_s + sum(one.cpu_s + one.ended_s for one in figures), 2),
        memory=sum(one.memory_bytes for one in figures),
        io=Traffic(
            read_bytes=sum(one.read_bytes for one in figures), written_bytes=sum(one.written_bytes for one in figures)
        ),
        processes=len(tree),
    )


def _below(tops: list[int], children: dict[int, list[int]]) -> list[int]:
    found, waiting = [], list(tops)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def _figures(pid: int) -> _Figures:
    """Nothing of a process that is gone; no traffic of one that is not ours to look at."""
    import psutil  # late: most supervisors are never asked

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times, memory = process.cpu_times(), process.memory_info()
    except psutil.Error:
        return _Figures()
    read_bytes, written_bytes = _traffic(process)
    return _Figures(
        cpu_s=times.user + times.system,
        ended_s=times.children_user + times.children_system,
        memory_bytes=memory.rss,
        read_bytes=read_bytes,
        written_bytes=written_bytes,
    )


def _traffic(process: psutil.Process) -> tuple[int, int]:
    import psutil

    try:
        counted = process.io_counters()
    except (psutil.Error, OSError, RuntimeError, NotImplementedError):
        return 0, 0
    return counted.read_bytes, counted.write_bytes


def environment_of(session: Session) -> dict[str, str] | None:
    """What its program was started with; None when it is gone, or not ours to look at."""
    if not session.is_alive or session.pid is None:
        return None
    words = procfs.environment(session.pid)
    if words is None:
        return None
    pairs = (os.fsdecode(word).partition("=") for word in words if b"=" in word)
    return {name: value for name, _, value in pairs}
