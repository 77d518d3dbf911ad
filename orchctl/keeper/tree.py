"""The processes below a keeper, found in /proc, and signals to all of them.

The keeper is a subreaper: whoever loses its parent becomes its child, so nothing escapes this walk
by leaving the process group, the session or its parents.
"""

from __future__ import annotations

import contextlib
import os
import signal


def children(pid: int) -> list[int]:
    """The direct children of `pid`, which must be this process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:  # a kernel without this file
        return [child for child, parent in _parents().items() if parent == pid]


def descendants(root: int, *, leave_out: int) -> list[int]:
    """Every process below `root` but one child of it, parents before their children."""
    below: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        below.setdefault(parent, []).append(pid)
    found = [pid for pid in below.get(root, []) if pid != leave_out]
    for pid in found:
        found += below.get(pid, [])
    return found


def send(pids: list[int], *signals: signal.Signals) -> None:
    """Each signal to each process; those that are gone, or not ours to signal, are passed over."""
    for pid in pids:
        for number in signals:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _parents() -> dict[int, int]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{entry}/stat", "rb") as file,
            ):
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    found[int(entry)] = int(parent)
    return found
