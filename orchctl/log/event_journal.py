"""Writing the event journal: one writer, which gives each event its number and its place in the chain.

A start reads the newest segment only; older ones are looked at where its checkpoint is damaged. What failed to
be written never happened: the file is cut back, and the next append goes on as if it had not been tried.
"""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Sequence
from typing import Any

from orchctl.log import chain, journal
from orchctl.log.disk import Disk
from orchctl.log.event_reader import EventReader
from orchctl.log.journal import Record

NEW = ".new"  # a segment gets its name when its checkpoint is safe, so that no reader ever sees one without


class EventStore:
    """The journal in `folder`; all but `sync` is for one thread."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        *,
        segment_bytes: int = 16 << 20,
        keep_bytes: int = 256 << 20,
        keep_s: float = 30 * 86400,
    ) -> None:
        self.next_seq = chain.FIRST
        self.head = chain.ZERO
        self.told: dict[str, tuple[int, int]] = {}  # session → bytes of run.jnl and of commands.jnl
        self.bad_lines = 0
        self._disk = disk
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._keep_bytes = keep_bytes
        self._keep_s = keep_s
        self._reader = EventReader(disk, folder)
        self._starts: list[int] = []
        self._fd, self._end = -1, 0
        self._torn = False  # bytes behind `_end` are of a write that failed
        self._worn = False  # its checkpoint is damaged: the next append begins a new segment
        self._suspect = False  # a sync failed: the same, and it is never synced again
        self._grew = True  # since the last sync began
        self._in_use = threading.Lock()  # the descriptor, by a sync or by who closes it
        self._take_over()

    @property
    def first_seq(self) -> int:
        """The oldest event that is kept, or the next one where there is none."""
        return self._starts[0] if self._starts else self.next_seq

    def append(self, events: Sequence[Record], now: float) -> list[Record]:
        """Write events, all at once; as they were written, with `seq`, `time` and `prev`."""
        if not events:
            return []
        if self._torn:
            self._cut()
        if self._fd < 0 or self._worn or self._suspect or self._end >= self._segment_bytes:
            self._roll(now)
        linked, lines, head = [], [], self.head
        for seq, event in enumerate(events, self.next_seq):
            record, line, head = chain.link(event, seq=seq, prev=head, now=now)
            linked.append(record)
            lines.append(line)
        self._write(b"".join(lines))
        self.next_seq, self.head = self.next_seq + len(linked), head
        for record in linked:
            self._note(record)
        return linked

    def keep(self, keep_bytes: int, keep_s: float) -> None:
        """So many bytes, and for so long, from the next `retain` on."""
        self._keep_bytes, self._keep_s = keep_bytes, keep_s

    @property
    def safe(self) -> bool:
        """Whether there is nothing to sync; in doubt there is."""
        return not self._grew and not self._suspect

    def forget(self, session: str) -> None:
        """It is over, and its last word is written: checkpoints no longer speak of it."""
        self.told.pop(session, None)

    def sync(self) -> None:
        """Make what was appended safe from power loss; from any thread. After an error the next segment begins."""
        with self._in_use:
            if self._suspect:
                raise OSError(errno.EIO, "this segment could not be synced before", self._folder)
            self._grew = False  # before it: what is appended meanwhile is synced next time
            if self._fd < 0:
                return
            try:
                self._disk.sync(self._fd)
            except OSError:
                self._suspect = True
                raise

    def retain(self, now: float) -> tuple[int, int] | None:
        """Drop the oldest segments that are too old or too many; the range of seqs that went, its end excluded."""
        sizes = [self._reader.size(start) for start in self._starts[:-1]]
        total, count = sum(sizes) + self._end, 0
        while count < len(sizes) and (total > self._keep_bytes or self._began(count + 1, now - self._keep_s)):
            total -= sizes[count]
            count += 1
        if count == 0:
            return None
        dropped = self._starts[0], self._starts[count]
        for start in self._starts[:count]:
            self._disk.unlink(self._reader.path(start))
        del self._starts[:count]
        return dropped

    def close(self) -> None:
        """Let the file go."""
        with self._in_use:
            if self._fd >= 0:
                self._disk.close(self._fd)
            self._fd = -1

    def _began(self, index: int, time: float) -> bool:
        """Whether a segment began by then; all that is in the one before it is older."""
        event = self._reader.first_event(self._starts[index])
        return event is not None and event["time"] <= time

    def _roll(self, now: float) -> None:
        """Begin a segment: the old one is safe first, then the new one with its checkpoint, then its name."""
        if not self._suspect:
            self.sync()
        told = {session: list(sizes) for session, sizes in self.told.items()}
        checkpoint = {"type": chain.CHECKPOINT, "told": told}
        _, line, head = chain.link(checkpoint, seq=self.next_seq, prev=self.head, now=now)
        fd = self._new_segment(self._reader.path(self.next_seq), line)
        with self._in_use:
            if self._fd >= 0:
                self._disk.close(self._fd)
            self._fd, self._end = fd, len(line)
            self._worn = self._suspect = False
        if self.next_seq not in self._starts[-1:]:  # one that was left without a whole line is replaced
            self._starts.append(self.next_seq)
        self.next_seq, self.head = self.next_seq + 1, head

    def _new_segment(self, path: str, line: bytes) -> int:
        fd = self._disk.open(path + NEW, create=True)
        try:
            self._disk.truncate(fd, 0)
            self._write_at(fd, line, 0)
            self._disk.sync(fd)
            self._disk.rename(path + NEW, path)
            self._disk.sync_folder(self._folder)
        except OSError:
            self._disk.close(fd)
            raise
        return fd

    def _write(self, data: bytes) -> None:
        self._torn = True
        try:
            self._write_at(self._fd, data, self._end)
        except OSError:
            with contextlib.suppress(OSError):  # the next append tries it again
                self._cut()
            raise
        self._torn = False
        self._end += len(data)
        self._grew = True

    def _write_at(self, fd: int, data: bytes, offset: int) -> None:
        while data:
            count = self._disk.write(fd, data, offset)
            data, offset = data[count:], offset + count

    def _cut(self) -> None:
        self._disk.truncate(self._fd, self._end)
        self._torn = False

    def _take_over(self) -> None:
        """Learn from the newest segment, or from those back to the last whole checkpoint, where it all stands."""
        self._disk.make_folder(self._folder)
        names = self._disk.names(self._folder)
        for name in names:
            if name.endswith(NEW):
                self._disk.unlink(f"{self._folder}/{name}")
        self._starts = chain.starts(names)
        if not self._starts:
            return
        replay = [(self._starts[-1], self._recover(self._reader.path(self._starts[-1])))]
        for start in reversed(self._starts[:-1]):
            if _begins_with_checkpoint(*replay[-1]):
                break
            replay.append((start, self._reader.lines(start)))
        self._worn = not _begins_with_checkpoint(*replay[0])
        for start, lines in reversed(replay):
            self.next_seq = max(self.next_seq, start)
            for line in lines:
                self._recall(line, start)

    def _recover(self, path: str) -> list[bytes]:
        """Open the newest segment; its lines, after a torn or bad one at the very end is cut off."""
        self._fd = self._disk.open(path, write=True)
        size = self._disk.size(self._fd)
        lines = self._reader.lines(self._starts[-1])
        self._end = sum(len(line) + 1 for line in lines)
        if self._end == size and lines and chain.event_of(lines[-1]) is None:
            self._end -= len(lines.pop()) + 1
        if self._end < size:
            self._cut()
            self._disk.sync(self._fd)
        return lines

    def _recall(self, line: bytes, start: int) -> None:
        event = chain.event_of(line)
        if event is None or event["seq"] < start:  # the latter if files were exchanged
            self.bad_lines += 1
            self.next_seq += 1  # it was an event that somebody may have read: its number is not given again
            return
        self.next_seq = max(self.next_seq, event["seq"] + 1)
        self.head = chain.digest(journal.text_of(line))
        self._note(event)

    def _note(self, event: Record) -> None:
        session = event.get("session")
        if chain.is_checkpoint(event):
            self.told = {one: sizes for one, value in event["told"].items() if (sizes := _sizes(value))}
        elif isinstance(session, str) and (sizes := _sizes(event.get("told"))):
            self.told[session] = sizes


def _begins_with_checkpoint(start: int, lines: list[bytes]) -> bool:
    event = chain.event_of(lines[0]) if lines else None
    return event is not None and event["seq"] == start and chain.is_checkpoint(event)


def _sizes(value: Any) -> tuple[int, int] | None:
    if not isinstance(value, list | tuple) or len(value) != 2 or any(type(size) is not int for size in value):
        return None
    return value[0], value[1]
