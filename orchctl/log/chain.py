"""Events as a chain: each line carries the hash of the one before it. Pure.

An event is a journal line whose object has `seq`, `time` and `prev`. Events lie in segment files, each named
by the seq of its first line, and that line is a checkpoint, so that nothing older has to be read at a start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from orchctl.log import journal
from orchctl.log.journal import Record

ZERO = "0" * 32  # what the first event of all carries
FIRST = 1  # its seq; so "everything behind 0" is everything
CHECKPOINT = "checkpoint"
SUFFIX = ".jnl"
DIGITS = 20

BAD_LINE = "bad-line"
BROKEN_CHAIN = "broken-chain"
MISSING_EVENTS = "missing-events"
TORN_TAIL = "torn-tail"

Problem = tuple[str, str]  # one of the four above, and what it is about


def digest(text: bytes) -> str:
    """The hash of a line's JSON text."""
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def link(event: Record, *, seq: int, prev: str, now: float) -> tuple[Record, bytes, str]:
    """The event with its place in the chain, its line, and the hash that the next one carries."""
    linked = {"seq": seq, "time": now, **event}
    linked["seq"], linked["prev"] = seq, prev  # whatever the event itself says
    line = journal.encode(linked)
    return linked, line, digest(journal.text_of(line))


def event_of(line: bytes) -> Record | None:
    """The event in a line without its newline; None where it is damaged, or no event."""
    event = journal.record_of(line)
    if event is None or type(event.get("seq")) is not int or type(event.get("prev")) is not str:
        return None
    return event if type(event.get("time")) in (int, float) else None


def is_checkpoint(event: Record) -> bool:
    """Whether it is the journal's own, which says how far each session is told; a harness has others."""
    return event.get("type") == CHECKPOINT and isinstance(event.get("told"), dict)


def name(seq: int) -> str:
    """The segment file that begins with event `seq`."""
    return f"{seq:0{DIGITS}d}{SUFFIX}"


def starts(files: Iterable[str]) -> list[int]:
    """The first seqs of the segments among `files`, in order."""
    digits = (file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX))
    return sorted(int(seq) for seq in digits if len(seq) == DIGITS and seq.isascii() and seq.isdigit())


class Follower:
    """Follows lines in order, and says of each what is wrong with it.

    It begins with what is due, `seq`, and with the hash of the line before, or None where nobody knows it. What
    stands behind bad lines cannot be checked against them: each of them counts for one event.
    """

    def __init__(self, seq: int, head: str | None) -> None:
        self.seq = seq
        self._head = head
        self._bad = 0

    def follow(self, line: bytes) -> Problem | None:
        """The next line, without its newline; a wrong one is told once, and the next is measured by it."""
        event = event_of(line)
        if event is None:
            self._bad += 1
            return BAD_LINE, "this is no event"
        problem = self._compare(event["seq"], event["prev"])
        self.seq, self._head, self._bad = event["seq"] + 1, digest(journal.text_of(line)), 0
        return problem

    def _compare(self, seq: int, prev: str) -> Problem | None:
        if seq < self.seq:
            return BROKEN_CHAIN, f"this is event {seq} where {self.seq} is due"
        if seq > self.seq + self._bad:
            return MISSING_EVENTS, f"events {self.seq} to {seq - 1} are not there"
        if seq == self.seq and self._head not in (None, prev):
            return BROKEN_CHAIN, f"event {seq} does not follow from the line before it"
        return None
