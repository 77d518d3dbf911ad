"""Which processes there are, by the kernel's word: /proc and the journals on disk; nobody of ours is asked."""

from __future__ import annotations

import contextlib
import os

from orchctl.log import journal
from tests.world import World


def _text(path: str) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read()
    return b""


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, from the state on; empty if there is none."""
    return _text(f"/proc/{pid}/stat").rpartition(b")")[2].decode("ascii").split()


def lives(pid: int) -> bool:
    """Whether it is there and is no zombie."""
    fields = stat(pid)
    return bool(fields) and fields[0] not in "ZX"


def started(pid: int) -> int:
    """In ticks since boot: tells a process from another that has its number later."""
    fields = stat(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def named(world: World, name: str) -> list[int]:
    """The daemons of a state directory with that name, the newest last."""
    root = os.fsencode(world.state)
    found = [
        pid
        for pid in _pids()
        if _text(f"/proc/{pid}/comm").strip() == name.encode() and root in _text(f"/proc/{pid}/cmdline").split(b"\0")
    ]
    return sorted((pid for pid in found if lives(pid)), key=started)


def supervisors(world: World) -> list[int]:
    """The processes that run the supervisor's module there, the newest last."""
    root = os.fsencode(world.state)
    found = []
    for pid in _pids():
        words = _text(f"/proc/{pid}/cmdline").split(b"\0")
        if b"orchctl.supervisor" in words and root in words and lives(pid):
            found.append(pid)
    return sorted(found, key=started)


def has_loaded(pid: int, library: str) -> bool:
    """Whether a process runs with that library."""
    return os.fsencode(library) in _text(f"/proc/{pid}/maps")


def zygotes(world: World) -> list[int]:
    """Also those that were taken over from; the newest last."""
    return named(world, "orchctl-zygote")


def children(pid: int) -> list[int]:
    """Of a process with one thread."""
    return [int(word) for word in _text(f"/proc/{pid}/task/{pid}/children").split()]


def pair(world: World, session: str) -> tuple[int, int] | None:
    """The keeper and the mover of a session, if both live, by the session's journal and the kernel."""
    data = _text(f"{world.state}/sessions/{session}/run.jnl")
    records = [one for one in journal.decode(data).records if one["type"] in ("started", "degraded")]
    keepers = [int(one["keeper"]) for one in records if "keeper" in one]  # a conversation has none
    if not keepers or not lives(keepers[-1]):
        return None
    movers = [pid for pid in children(keepers[-1]) if _text(f"/proc/{pid}/comm") == b"orchctl-mover\n" and lives(pid)]
    return (keepers[-1], movers[0]) if len(movers) == 1 else None


def of_session(session: str) -> list[int]:
    """Every process that was started in a session: they inherit its number in their environment."""
    wanted = b"ORCHCTL_SESSION=" + session.encode()
    return [pid for pid in _pids() if wanted in _text(f"/proc/{pid}/environ").split(b"\0") and lives(pid)]
