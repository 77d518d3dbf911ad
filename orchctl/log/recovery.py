"""Taking stock of a log whose writer is gone without a word: a crash of keeper and mover, or power loss.

Bytes that were not synced may be missing. What was sealed is there, unless retention dropped it: so a hole in
front of a seal is retention's, which drops from the front, or a suspect segment's, and stays a gap. The first
hole behind the seals is where the log ends. Nothing is deleted, and no address below a seal is given out again.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchctl.lazy_dataclass import dataclass
from orchctl.log import segments, time_index
from orchctl.log.disk import Disk
from orchctl.log.journal import append, mend, records
from orchctl.log.segments import Segment
from orchctl.log.sync import Syncer
from orchctl.session import layout

QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Recovered:
    """Where the log goes on, how much of it is safe now (all, unless the disk fails), and what was put aside."""

    end: int
    durable: int
    quarantined: tuple[str, ...] = ()


def recover(disk: Disk, folder: str, *, now: float) -> Recovered:
    """Cut the log of a session at its first hole, and torn lines off its journals; twice is as good as once."""
    out = f"{folder}/{layout.OUTPUT}"
    for name in (layout.JOURNAL, layout.COMMANDS, layout.HARNESS):
        mend(f"{folder}/{name}", disk)
    syncer = Syncer(disk, folder)
    sealed_end = max((start + size for start, size in syncer.sealed.items()), default=0)
    names = disk.names(out)
    found = [Segment(start, _size(disk, f"{out}/{segments.name(start)}")) for start in segments.starts(names)]
    kept = _standing(found, sealed_end)
    quarantined = _quarantine(disk, out, names, found[len(kept) :])
    end = kept[-1].end if kept else 0
    if (kept and kept[-1].size and kept[-1].start in syncer.suspects) or end < sealed_end:
        end = max(end, sealed_end)
        disk.close(disk.open(f"{out}/{segments.name(end)}", create=True))
    _record_front(disk, folder, kept[0].start if kept else end, now)
    syncer.sync()
    return Recovered(end, syncer.durable, quarantined)


def _standing(found: Sequence[Segment], sealed_end: int) -> list[Segment]:
    """Up to the first hole that is not in front of a seal."""
    safe = sum(segment.start <= sealed_end for segment in found)
    gapped = max(0, safe - 1)
    return [*found[:gapped], *segments.whole(found[gapped:])]


def _quarantine(disk: Disk, out: str, names: list[str], lost: Sequence[Segment]) -> tuple[str, ...]:
    """Put segments behind a hole aside, with the times of their bytes, so that their names are free."""
    folder = f"{out}/{QUARANTINE}"
    if lost:
        disk.make_folder(folder)
    moved = []
    for segment in lost:
        name = segments.name(segment.start)
        index = name.removesuffix(segments.SUFFIX) + time_index.SUFFIX
        for file in (index, name) if index in names else (name,):
            disk.rename(f"{out}/{file}", f"{folder}/{file}")
        moved.append(name)
    if moved or QUARANTINE in names:  # a recovery before this one may have been cut short
        disk.sync_folder(folder)  # before the directory they come from, or they might be in neither
    return tuple(moved)


def _record_front(disk: Disk, folder: str, first: int, now: float) -> None:
    """Power loss can take the record of what retention dropped, and not bring the bytes back."""
    journal = f"{folder}/{layout.JOURNAL}"
    dropped = [record for record in records(journal, disk) if record.get("type") == "dropped"]
    told = max((record["end"] for record in dropped), default=0)
    if first > told:
        append(journal, {"type": "dropped", "time": now, "first": told, "end": first}, disk)


def _size(disk: Disk, path: str) -> int:
    fd = disk.open(path)
    try:
        return disk.size(fd)
    finally:
        disk.close(fd)
