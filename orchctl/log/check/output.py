"""Checks a session's output: that every byte that was written is there once, and is what was sealed.

A segment that has no seal yet has nothing to be compared with: a bit that flips in it cannot be found. Where a
segment has a seal, its sealed size counts in the chain, so that one damage is one finding.
"""

from __future__ import annotations

import itertools
from dataclasses import field

from orchctl.lazy_dataclass import dataclass
from orchctl.log import segments, time_index
from orchctl.log.check.findings import Files
from orchctl.log.check.session import Lines, Story, number
from orchctl.log.recovery import QUARANTINE
from orchctl.log.segments import Segment
from orchctl.session import layout


@dataclass(slots=True)
class Seals:
    """What `seals.jnl` tells of each segment, by its first byte; `due` if it should tell of all of them."""

    sealed: dict[int, tuple[int, str]] = field(default_factory=dict)
    suspect: dict[int, str] = field(default_factory=dict)
    due: bool = False


def read_seals(lines: Lines, *, due: bool) -> Seals:
    """The last word on a segment counts."""
    found = Seals(due=due)
    for record in lines.records:
        start, size = number(record, "start"), number(record, "size")
        if start is None:
            continue
        if record.get("type") == "suspect":
            found.suspect[start] = str(record.get("error"))
        elif record.get("type") == "sealed" and size is not None:
            found.sealed[start] = size, str(record.get("blake2b"))
    return found


class OutputCheck:
    """One session's segments and what lies beside them, listed after `seals` and `before` were read.

    So what is sealed was there by then, and the output of a session that had ended was whole.
    """

    def __init__(self, files: Files, seals: Seals, before: Story) -> None:
        self._files = files
        self._seals = seals
        self._before = before
        self._names = files.names(layout.OUTPUT)
        self._quarantined = files.names(_path(QUARANTINE)) if QUARANTINE in self._names else []
        self.sizes: dict[int, int] = {}
        for start in segments.starts(self._names):
            self._look_at(start)

    def check(self, story: Story) -> None:
        """Say what is wrong; `story` was read last, and tells of everything that retention has taken meanwhile."""
        floor = story.dropped_end if story.sure else min(self.sizes, default=story.dropped_end)
        chain = self._chain(floor)
        self._check_chain(chain, floor)
        self._check_end(chain, floor)
        self._check_seals(floor)
        self._check_strangers()
        self._check_indexes(chain)

    def _look_at(self, start: int) -> None:
        """Read a sealed segment, and take the size of another; one that is gone is left to the chain."""
        path = layout.segment(start)
        if start not in self._seals.sealed:
            size = self._files.size(path)
            if size is not None:
                self.sizes[start] = size
            return
        wanted_size, wanted = self._seals.sealed[start]
        found = self._files.digest(path)
        if found is None:
            if not self._files.missing(path):
                self.sizes[start] = 0
            return
        size, digest = found
        self.sizes[start] = size
        if wanted_size == 0:
            return  # of a run that wrote nothing: the next one goes on in it
        if size != wanted_size:
            self._files.say(path, "wrong-size", f"it has {size} bytes, and was sealed with {wanted_size}")
        elif digest != wanted:
            self._files.say(path, "wrong-bytes", f"its {size} bytes are not those that were sealed")

    def _chain(self, floor: int) -> list[Segment]:
        """The segments that should be there, as large as they should be; those that are sealed and gone are said."""
        sizes = dict(self.sizes)
        for start, (size, _) in self._seals.sealed.items():
            if start not in sizes:
                if start + size <= max(start, floor) or segments.name(start) in self._quarantined:
                    continue
                detail = f"bytes {start} to {start + size} were sealed, and are gone"
                self._files.say(layout.segment(start), "missing-output", detail)
            sizes[start] = size
        return [Segment(start, size) for start, size in sorted(sizes.items())]

    def _check_chain(self, chain: list[Segment], floor: int) -> None:
        """What was dropped reaches up to `floor`; from there on there is no hole, and no byte is there twice."""
        if chain and chain[0].start > floor:
            self._missing(floor, chain[0].start)
        for first, end in segments.holes(chain):
            if end > floor:
                self._missing(max(first, floor), end)
        for before, after in itertools.pairwise(chain):
            if after.start < before.end:
                detail = f"the segment of byte {before.start} reaches to {before.end}, into that of {after.start}"
                self._files.say(layout.OUTPUT, "overlap", detail)

    def _check_end(self, chain: list[Segment], floor: int) -> None:
        final = self._before.final_offset
        end = max([floor, *(segment.end for segment in chain)])
        if final is None:
            if not chain and not segments.starts(self._names) and self._before.started and not self._before.ended:
                self._files.say(layout.OUTPUT, "missing-output", f"there is no segment; bytes from {floor} on are gone")
        elif end < final:
            self._files.say(layout.OUTPUT, "output-short", f"the log ends at {end}, and {final} bytes were written")
        elif end > final:
            self._files.say(layout.OUTPUT, "output-long", f"the log ends at {end}, and only {final} bytes were written")

    def _missing(self, first: int, end: int) -> None:
        self._files.say(layout.OUTPUT, "missing-output", f"bytes {first} to {end} are missing")

    def _check_seals(self, floor: int) -> None:
        bare = [start for start, size in self.sizes.items() if size and start >= floor]
        bare = [start for start in bare if start not in self._seals.sealed and start not in self._seals.suspect]
        if bare and self._seals.due:
            detail = f"the session is over, and {len(bare)} segments have no seal, the first that of byte {bare[0]}"
            self._files.say(layout.SEALS, "missing-seal", detail)
        for start, error in self._seals.suspect.items():
            if start in self.sizes:
                detail = f"the disk failed to sync it ({error}); bytes of it may be lost"
                self._files.say(layout.segment(start), "suspect", detail)

    def _check_strangers(self) -> None:
        for name in [name for name in self._quarantined if not name.endswith(time_index.SUFFIX)]:
            size = self._files.size(_path(f"{QUARANTINE}/{name}"))
            if size is not None:
                detail = f"{size} bytes from behind a hole that a power cut made"
                self._files.say(_path(f"{QUARANTINE}/{name}"), "quarantine", detail)
        for name in self._names:
            if name != QUARANTINE and segments.start_of(_as_segment(name)) is None:
                self._files.say(_path(name), "unknown-file", "nothing of orchctl's has such a name")

    def _check_indexes(self, chain: list[Segment]) -> None:
        """Each as far as its segment should reach: to the next one, or to where the output ended or has got by now."""
        ends = [after.start for after in chain[1:]]
        for segment, end in itertools.zip_longest(chain, ends):
            path = _path(time_index.name(segment.start))
            data = self._files.read(path) if time_index.name(segment.start) in self._names else None
            if data is None:
                continue
            last = end if end is not None else self._before.final_offset
            if last is None:
                last = segment.start + (self._files.size(layout.segment(segment.start)) or segment.size)
            torn_is_fine = end is None and self._before.final_offset is None
            problem = index_problem(data, segment.start, last, torn_is_fine=torn_is_fine)
            if problem:
                self._files.say(path, "bad-index", f"{problem}; it can be made again")


def index_problem(data: bytes, start: int, end: int, *, torn_is_fine: bool) -> str:
    """The first thing that is wrong with the index of the bytes from `start` to `end`; empty if nothing is."""
    before = start
    for at in range(0, len(data), time_index.RECORD_BYTES):
        record = data[at : at + time_index.RECORD_BYTES]
        if len(record) < time_index.RECORD_BYTES:
            return "" if torn_is_fine else f"the last record is torn: bytes {at} to {len(data)}"
        moments = time_index.decode(record).moments
        if not moments:
            return f"the record at byte {at} is damaged"
        offset = moments[0].offset
        if not start <= offset < end:
            return f"the record at byte {at} tells of byte {offset}, and the segment has {start} to {end}"
        if offset < before:
            return f"the record at byte {at} goes back to {offset} from {before}"
        before = offset
    return ""


def _as_segment(name: str) -> str:
    return name.removesuffix(time_index.SUFFIX) + segments.SUFFIX if name.endswith(time_index.SUFFIX) else name


def _path(name: str) -> str:
    return f"{layout.OUTPUT}/{name}"
