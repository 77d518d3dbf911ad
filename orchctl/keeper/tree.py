"""The processes below a keeper, found in /proc, and signals to all of them.

The keeper is a subreaper: whoever loses its parent becomes its child, so nothing escapes this walk
by leaving the process group, the session or its parents.
"""

from __future__ import annotations

import contextlib
import os
import signal

ZYGOTE = "orchctl-zygote"


def children(pid: int) -> list[int]:
    """The direct children of `pid`, which must be this process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:  # a kernel without this file
        return [child for child, (parent, _) in _all().items() if parent == pid]


def descendants(root: int, *, leave_out: int) -> list[int]:
    """Every process below `root` but one child of it, parents before their children."""
    below = _below({pid: parent for pid, (parent, _) in _all().items()})
    found = [pid for pid in below.get(root, []) if pid != leave_out and not is_daemon(pid)]
    for pid in found:
        found += [child for child in below.get(pid, []) if not is_daemon(child)]
    return found


def is_daemon(pid: int) -> bool:
    """Whether it is a zygote: one that was started from inside a session is below it, and still nothing of it."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read() == f"{ZYGOTE}\n" and os.path.samefile(f"/proc/{pid}/exe", "/proc/self/exe")
    except OSError:
        return False


def of_session(leader: int) -> list[int]:
    """Every process of the terminal session that `leader` leads or led, and what is below them, in that order."""
    everybody = _all()
    below = _below({pid: parent for pid, (parent, _) in everybody.items()})
    own = {pid for pid, (_, session) in everybody.items() if session == leader}
    found = [pid for pid in own if everybody[pid][0] not in own]
    for pid in found:
        found += [child for child in below.get(pid, []) if child not in found]
    return found


def send(pids: list[int], *signals: signal.Signals) -> None:
    """Each signal to each process; those that are gone, or not ours to signal, are passed over."""
    for pid in pids:
        for number in signals:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _below(parents: dict[int, int]) -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        below.setdefault(parent, []).append(pid)
    return below


def _all() -> dict[int, tuple[int, int]]:
    """Parent and terminal session of every process that is not a mere entry waiting to be reaped."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{entry}/stat", "rb") as file,
            ):
                state, parent, _, session = file.read().rpartition(b")")[2].split()[:4]
                if state != b"Z":
                    found[int(entry)] = int(parent), int(session)
    return found
