"""Taking away what is kept no longer: the output of sessions that are over, or all of them."""

from __future__ import annotations

import os

from orchctl.log import segments, time_index
from orchctl.log.disk import REAL, Disk
from orchctl.log.journal import append
from orchctl.log.reader import OutputLog
from orchctl.session import layout


def drop_output(folder: str, now: float, disk: Disk = REAL) -> int:
    """Empty the log of a session that nobody writes any more; how many bytes went.

    The range is written down first. An empty segment stays, whose name says where the log had come to.
    """
    out = f"{folder}/{layout.OUTPUT}"
    extent = OutputLog(folder, disk).extent()
    if extent.kept_bytes == 0:
        return 0
    append(f"{folder}/{layout.JOURNAL}", _dropped(extent.first_offset, extent.next_offset, now), disk)
    starts = segments.starts(disk.names(out))
    disk.close(disk.open(f"{out}/{segments.name(extent.next_offset)}", create=True))
    for start in starts:
        disk.unlink(f"{out}/{segments.name(start)}")
        disk.unlink(f"{out}/{time_index.name(start)}")
    return extent.kept_bytes


def output_bytes(folder: str) -> int:
    """How much output of a session is on disk."""
    return OutputLog(folder).extent().kept_bytes


def ended_at(folder: str) -> float:
    """When the last word on a session was written; 0 where there is none."""
    try:
        return os.stat(f"{folder}/{layout.ENDED}").st_mtime
    except FileNotFoundError:
        return 0.0


def _dropped(first: int, end: int, now: float) -> dict[str, object]:
    return {"type": "dropped", "time": now, "first": first, "end": end}
