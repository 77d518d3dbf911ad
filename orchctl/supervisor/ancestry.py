"""Who descends from whom, by /proc."""

from __future__ import annotations


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether `pid` is `ancestor` or below it; a process that cannot be seen is not."""
    for _ in range(1000):  # no tree is deeper, and a race must not make a loop
        if pid == ancestor:
            return True
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if pid <= 1:
            return False
    return False
