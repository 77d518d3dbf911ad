"""What must hold of a log whatever happens to it, kept beside the real files and compared with them.

P  A process crash loses no byte and doubles none: the log and the pipe are all that was produced.
W  After power loss the log is a beginning of what it was, no shorter than what was called durable. Missing are only
   bytes that retention had dropped, or that a failed sync had made suspect.
J  A journal holds whole records, in order, and all that were synced; after a process crash all that were written.
R  What is missing at the front is on record as dropped: recovery makes up for a record that power loss took.
S  What was sealed has the bytes that it was sealed with.
M  No offset below what was called durable is given out a second time.
Q  What recovery put aside stays there.

If names are not `ordered`, segments that were never durable may be missing at the front as well; and if power fails
just after retention took the very segment in which the durable part ended, W and M hold up to the start of that
segment only, which is the end of the seals.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from orchctl.log import journal, segments
from orchctl.log.journal import Record
from orchctl.log.recovery import QUARANTINE, Recovered
from orchctl.log.segments import Segment
from orchctl.log.sync import Syncer
from orchctl.session import layout
from tests.log.simulated_disk import NEVER, SimulatedDisk

SESSION = "s"
OUT = f"{SESSION}/{layout.OUTPUT}"
ASIDE = f"{OUT}/{QUARANTINE}"

Found = list[tuple[int, bytes]]  # segments: their starts and bytes


class Violated(AssertionError):
    """Something that must hold does not."""


def must(holds: object, otherwise: str) -> None:
    """Complain unless it holds."""
    if not holds:
        raise Violated(otherwise)


class JournalPromise:
    """What was given to one journal."""

    def __init__(self) -> None:
        self.given: dict[int, Record] = {}
        self.written: list[int] = []  # the append returned, and no power loss took it
        self.safe = 0  # how many of those were synced

    def check(self, records: list[Record], *, power_lost: bool) -> None:
        """Compare; what power loss took is forgotten."""
        found = [record for record in records if "n" in record]
        numbers = [record["n"] for record in found]
        must(numbers == sorted(set(numbers)), "J: records are doubled or out of order")
        must(all(self.given[record["n"]] == record for record in found), "J: a record is not what was written")
        kept = self.written[: self.safe] if power_lost else self.written
        must(set(kept) <= set(numbers), "J: a record is lost")
        self.written = [number for number in self.written if number in numbers]


class Promises:
    """What was given to the log, and what was said of it."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk
        self.stream = bytearray()  # by offset: all that was produced
        self.journals = {name: JournalPromise() for name in (layout.JOURNAL, layout.COMMANDS)}
        self.dropped_end = 0  # retention was asked to drop what is before
        self.suspects: set[int] = set()
        self.durable = 0
        self._sealed_end = 0
        self._gaps: list[tuple[int, int]] = []  # that recovery has left
        self._quarantined: set[str] = set()

    def acknowledge(self, durable: int, syncer: Syncer) -> None:
        """So much was called durable."""
        must(durable <= len(self.stream) - len(self._disk.pipe), "W: more is called durable than was written")
        if durable > self.durable:  # so the seals are written as well
            self.durable = durable
            self._sealed_end = max([self._sealed_end, *(start + size for start, size in syncer.sealed.items())])

    def check_closed(self, syncer: Syncer) -> None:
        """The session is over, and all is synced."""
        unsealed = {start for start, _ in self._segments()} - syncer.sealed.keys()
        must(unsealed <= self.suspects, "S: the log of a session that is over is not sealed")

    def check(self, end: int, *, power_lost: bool) -> None:
        """Somebody has taken over, and goes on at `end`."""
        found = self._segments()
        limit = self.durable if power_lost and self._disk.habits.scattered else NEVER
        must(end == self._check_bytes(found, limit), "M: the writer goes on elsewhere")
        for name, one in self.journals.items():
            one.check(self._read(name), power_lost=power_lost)
        self._check_front(found[0][0])
        self._check_seals(found)
        aside = self._disk.folders[ASIDE].names if ASIDE in self._disk.folders else {}
        must(self._quarantined <= aside.keys(), "Q: what was put aside is gone")
        if power_lost:
            sure = self._disk.habits.ordered or self.durable > self.dropped_end
            promised = self.durable if sure else min(self.durable, self._sealed_end)
            must(end >= promised, "W: what was durable is lost")
        else:
            must(end == len(self.stream) - len(self._disk.pipe), "P: bytes are lost or doubled")

    def resume(self, recovered: Recovered, syncer: Syncer) -> None:
        """A new program writes behind what survived."""
        found = self._segments()
        self.stream = bytearray(recovered.end)
        for start, data in found:
            self.stream[start : start + len(data)] = data
        self.dropped_end = found[0][0]
        self._gaps = segments.holes([Segment(start, len(data)) for start, data in found])
        self._quarantined |= set(recovered.quarantined)
        self.durable = min(self.durable, recovered.end)
        self._sealed_end = min(self._sealed_end, recovered.end)
        self.acknowledge(recovered.durable, syncer)
        for one in self.journals.values():
            one.safe = len(one.written)

    def _check_bytes(self, found: Found, limit: int) -> int:
        end = 0
        for start, data in found:
            must(start >= end, "W: segments overlap")
            must(start == end or self._excused(end, start), "W: bytes are missing")
            end = start + len(data)
            if start not in self.suspects:
                wanted = self.stream[start : min(end, limit)]
                must(data[: max(0, limit - start)] == wanted, "W: bytes are not what was written")
        return end

    def _excused(self, first: int, end: int) -> bool:
        """Whether these bytes may be missing."""
        reached = max(first, self.dropped_end)
        if first == 0 and not self._disk.habits.ordered and reached >= self.durable:
            return True
        suspect = ((start, start + segments.SMALLEST) for start in self.suspects)
        for gap_first, gap_end in sorted([*self._gaps, *suspect]):
            if gap_first <= reached:
                reached = max(reached, gap_end)
        return end <= reached

    def _check_front(self, first: int) -> None:
        dropped = [record for record in self._read(layout.JOURNAL) if record["type"] == "dropped"]
        told = max((record["end"] for record in dropped), default=0)
        must(first <= told, "R: bytes are missing at the front, and not on record")

    def _check_seals(self, found: Found) -> None:
        sealed = {record["start"]: record for record in self._read(layout.SEALS) if record["type"] == "sealed"}
        for start, data in found:
            if start in sealed:
                digest = hashlib.blake2b(data[: sealed[start]["size"]], digest_size=16).hexdigest()
                must(digest == sealed[start]["blake2b"], "S: a sealed segment was changed")

    def _segments(self) -> Found:
        starts = segments.starts(self._disk.folders[OUT].names)
        return [(start, self._disk.file(f"{OUT}/{segments.name(start)}") or b"") for start in starts]

    def _read(self, name: str) -> list[Record]:
        return _records(self._disk.file(f"{SESSION}/{name}") or b"")


@lru_cache(maxsize=16)
def _records(data: bytes) -> list[Record]:
    return journal.decode(data).records
