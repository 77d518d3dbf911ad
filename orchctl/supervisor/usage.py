"""What sessions use: processor time, memory and storage traffic of all their processes, read from /proc at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import Session, Traffic

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KEEPER, _OURS = b"orchctl-keeper", (b"orchctl-mover", b"orchctl-zygote")  # as the kernel knows them by name
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class _Process:
    name: bytes
    parent: int
    own_ticks: int
    ended_ticks: int  # of children that were waited for
    memory_bytes: int


def measure(sessions: Iterable[Session]) -> list[Session]:
    """The same sessions with what they use now; those that have ended use nothing that could be measured."""
    known = _processes()
    children: dict[int, list[int]] = {}
    for pid, process in known.items():
        children.setdefault(process.parent, []).append(pid)
    return [_measured(session, known, children) for session in sessions]


def _measured(session: Session, known: dict[int, _Process], children: dict[int, list[int]]) -> Session:
    if not session.is_alive or session.pid not in known:
        return session
    keeper = known.get(known[session.pid].parent)
    tops, ended = [session.pid], 0
    if keeper is not None and keeper.name == _KEEPER:  # what left the program's tree came back to it, a subreaper
        tops, ended = children[known[session.pid].parent], keeper.ended_ticks
    tree = _below([pid for pid in tops if known[pid].name not in _OURS], children)
    ticks = ended + sum(known[pid].own_ticks + known[pid].ended_ticks for pid in tree)
    traffic = [_io(pid) for pid in tree]
    return replace(
        session,
        cpu=round(ticks / _TICKS_PER_S, 2),
        memory=sum(known[pid].memory_bytes for pid in tree),
        io=Traffic(read_bytes=sum(read for read, _ in traffic), written_bytes=sum(written for _, written in traffic)),
        processes=len(tree),
    )


def _below(tops: list[int], children: dict[int, list[int]]) -> list[int]:
    found, waiting = [], list(tops)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def _processes() -> dict[int, _Process]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (process := _look(int(entry))) is not None:
            found[int(entry)] = process
    return found


def _look(pid: int) -> _Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            front, _, rest = file.read().rpartition(b")")
    except OSError:
        return None
    fields = rest.split()
    if len(fields) < 22:
        return None
    return _Process(
        name=front.partition(b"(")[2],
        parent=int(fields[1]),
        own_ticks=int(fields[11]) + int(fields[12]),
        ended_ticks=int(fields[13]) + int(fields[14]),
        memory_bytes=int(fields[21]) * _PAGE_BYTES,
    )


def _io(pid: int) -> tuple[int, int]:
    try:
        with open(f"/proc/{pid}/io", "rb") as file:
            told = dict(line.split(b": ") for line in file.read().splitlines())
        return int(told[b"read_bytes"]), int(told[b"write_bytes"])
    except (OSError, ValueError, KeyError):
        return 0, 0


def environment_of(session: Session) -> dict[str, str] | None:
    """What its program was started with; None when it is gone, or not ours to look at."""
    if not session.is_alive or session.pid is None:
        return None
    try:
        with open(f"/proc/{session.pid}/environ", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return None
    pairs = (os.fsdecode(word).partition("=") for word in words if b"=" in word)
    return {name: value for name, _, value in pairs}
