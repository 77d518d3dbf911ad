"""Who descends from whom, by /proc, and what a process above said of the session."""

from __future__ import annotations

from collections.abc import Iterator

DEEPEST = 1000  # no tree is deeper, and a race must not make a loop


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether `pid` is `ancestor` or below it; a process that cannot be seen is not."""
    return ancestor in lineage(pid)


def lineage(pid: int) -> Iterator[int]:
    """A process and those above it, up to the last that can be seen."""
    for _ in range(DEEPEST):
        yield pid
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        if pid <= 1:
            return


def told_below(pid: int, ancestor: int, name: str) -> str | None:
    """The variable as the process was started with it, else as the nearest one above it was, below `ancestor`."""
    start = f"{name}=".encode()
    for one in lineage(pid):
        if one == ancestor:
            return None
        try:
            with open(f"/proc/{one}/environ", "rb") as file:
                found = next((entry for entry in file.read().split(b"\0") if entry.startswith(start)), None)
        except OSError:  # gone, or somebody else's
            continue
        if found is not None:
            return found[len(start) :].decode("utf-8", "replace")
    return None
