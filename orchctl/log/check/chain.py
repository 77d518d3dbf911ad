"""Whether the event journal is what it was: the chain itself, and a head that somebody noted elsewhere. Reads only.

An edit, a deletion or a changed order in the middle breaks the chain. A cut from the end, or a chain that was written
anew, shows only in a noted head: that is why it is worth noting one on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchctl.log import chain, journal
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader

Line = dict[str, Any]
MISSING = "missing-head"


def check_chain(root: str, head: str | None) -> list[Line]:
    """One line for each record that does not follow, and one with the summary; two looks, as it may be written to."""
    first = _look(root, head)
    if len(first) == 1:
        return first
    again = _look(root, head)
    seen = {(line["seq"], line["kind"]) for line in first[:-1]}
    kept = [line for line in again[:-1] if (line["seq"], line["kind"]) in seen]
    return [*kept, {"summary": {**again[-1]["summary"], "findings": len(kept)}}]


def _look(root: str, head: str | None) -> list[Line]:
    reader = EventReader(REAL, f"{root}/events")
    walk = _Walk(reader, head)
    findings = [*walk.findings(), *walk.compare()]
    summary = {"first_seq": walk.first, "last_seq": walk.last, "head": walk.head, "findings": len(findings)}
    return [*findings, {"summary": summary}]


class _Walk:
    """One look at all that is kept; `noted` is `HASH` or `SEQ:HASH`."""

    def __init__(self, reader: EventReader, noted: str | None) -> None:
        self._reader = reader
        number, _, self._noted = (noted or "").rpartition(":")
        self._noted_seq = int(number) if number else None
        self._found = False  # the noted hash
        self._there: str | None = None  # the hash of the record that was noted
        self._before: str | None = None  # the hash that the first record carries
        self.first: int | None = None
        self.last: int | None = None
        self.head = chain.ZERO

    def findings(self) -> Iterator[Line]:
        follower: chain.Follower | None = None
        starts = self._reader.starts()
        for start in starts:
            if follower is None:
                follower = chain.Follower(start, chain.ZERO if start == chain.FIRST else None)
            elif start != follower.seq:
                yield _finding(follower.seq, chain.MISSING_EVENTS, f"the next file begins with record {start}")
            size = self._reader.size(start)  # first: what is written meanwhile is not torn
            read = 0
            for line in self._reader.lines(start):
                due, read = follower.seq, read + len(line) + 1
                problem = follower.follow(line)
                self._note(line)
                if problem is not None:
                    event = chain.event_of(line)
                    yield _finding(event["seq"] if event is not None else due, *problem)
            if read < size:
                yield _finding(follower.seq, chain.TORN_TAIL, f"{size - read} bytes are no whole record")

    def compare(self) -> Iterator[Line]:
        """What the head that was noted does not agree with; asked after the findings."""
        if not self._noted:
            return
        if self.first is None or self.last is None:
            if self._noted != chain.ZERO:
                yield _finding(self._noted_seq or 0, MISSING, "the journal is empty, and a head was noted")
        elif self._noted_seq is not None:
            yield from self._compare_at(self._noted_seq, self.first, self.last)
        elif not self._found and self._noted != self._before:
            kept = f"records {self.first} to {self.last} are kept, and none has the hash {self._noted}"
            yield _finding(self.last, MISSING, f"{kept}; it was changed, cut off, or is no longer kept")

    def _compare_at(self, seq: int, first: int, last: int) -> Iterator[Line]:
        if seq > last:
            yield _finding(seq, MISSING, f"the journal ends with record {last}, and {seq} was noted")
        elif seq < first - 1:
            yield _finding(seq, MISSING, f"record {seq} is no longer kept; the oldest is {first}")
        elif (self._before if seq == first - 1 else self._there) != self._noted:
            yield _finding(seq, "wrong-head", f"record {seq} is not what it was when its hash was noted")

    def _note(self, line: bytes) -> None:
        event = chain.event_of(line)
        if event is None:
            return
        self.head, self.last = chain.digest(journal.text_of(line)), event["seq"]
        self._found = self._found or self.head == self._noted
        if self.last == self._noted_seq:
            self._there = self.head
        if self.first is None:
            self.first, self._before = event["seq"], event["prev"]


def _finding(seq: int, kind: str, detail: str) -> Line:
    return {"seq": seq, "kind": kind, "detail": detail}
