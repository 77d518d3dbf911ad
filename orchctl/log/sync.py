"""Making a session's log safe from power loss, once a second and in nobody's way.

The mover writes on and drops segments meanwhile. Segments are synced oldest first, then their names, then the
journals; what is final is sealed with its hash; and only then is anything called durable.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from itertools import zip_longest

from orchctl.log import segments
from orchctl.log.disk import REAL, Disk
from orchctl.log.journal import Record, append, records
from orchctl.session import layout

HASH_BYTES = 16
BLOCK_BYTES = 1 << 20  # read at once for a hash: bounds the memory, and hashing lets other threads run


class Syncer:
    """One session's, below `folder`; never two calls at once. After power loss the log is recovered first."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._folder = folder
        self._out = f"{folder}/{layout.OUTPUT}"
        self.sealed: dict[int, int] = {}  # sizes, by the segment's start
        self.suspects: dict[int, str] = {}  # errors; these are never synced again
        for record in records(f"{folder}/{layout.SEALS}", disk):
            if record.get("type") == "sealed":
                self.sealed[record["start"]] = record["size"]
            elif record.get("type") == "suspect":
                self.suspects[record["start"]] = record["error"]
        self._synced = dict(self.sealed)  # sizes as they were before the last good sync
        self._names: list[int] | None = None  # of the segments, as the directory was synced with
        self._journals: dict[str, int] = {}  # sizes as synced
        self._unsaid: list[Record] = []  # for seals.jnl, once there is room for it
        self._unreported: list[tuple[int, str]] = []
        self.durable = self._safe_end(sorted(self.sealed.keys() | self.suspects.keys()))

    def sync(self, *, closed: bool = False) -> list[tuple[int, str]]:
        """Make safe what grew, and say which segments have become suspect, and why; `closed`: nobody writes any more.

        `OSError` when a directory or one of the pair's journals cannot be synced: nothing more is durable then.
        """
        starts = segments.starts(self._disk.names(self._out))
        for start, following in zip_longest(starts, starts[1:]):
            whole = start in self.sealed and start + self.sealed[start] == following
            if not whole and start not in self.suspects:
                self._sync_segment(start, final=closed or following is not None)
        if starts != self._names:
            self._disk.sync_folder(self._out)
            self._forget_all_but(starts)
        self._sync_journals(layout.SPEC, layout.JOURNAL, layout.COMMANDS, layout.HARNESS)
        if self._say_seals():
            self.durable = max(self.durable, self._safe_end(starts))
        reported, self._unreported = self._unreported, []
        return reported

    @property
    def said(self) -> bool:
        """Whether all seals are written; a full disk makes them wait."""
        return not self._unsaid

    def _sync_segment(self, start: int, *, final: bool) -> None:
        try:
            fd = self._disk.open(f"{self._out}/{segments.name(start)}")
        except FileNotFoundError:  # retention was faster
            return
        try:
            size = self._disk.size(fd)  # before the sync: what comes while it runs is not safe yet
            if size != self._synced.get(start):
                self._disk.sync(fd)
                self._synced[start] = size
            if final and size != self.sealed.get(start):
                self._seal(start, size, self._hash(fd, size))  # now, because later it may be gone
        except OSError as error:
            self._suspect(start, error)
        finally:
            self._disk.close(fd)

    def _sync_journals(self, *names: str) -> None:
        sizes = {}
        for name in names:
            try:
                fd = self._disk.open(f"{self._folder}/{name}")
            except FileNotFoundError:
                continue
            try:
                sizes[name] = self._disk.size(fd)
                if sizes[name] != self._journals.get(name):
                    self._disk.sync(fd)
            finally:
                self._disk.close(fd)
        if not sizes.keys() <= self._journals.keys():  # a new journal is no safer than its name
            self._disk.sync_folder(self._folder)
        self._journals |= sizes

    def _seal(self, start: int, size: int, digest: str) -> None:
        self.sealed[start] = size
        self._unsaid.append({"type": "sealed", "start": start, "size": size, "blake2b": digest})

    def _hash(self, fd: int, size: int) -> str:
        found, offset = hashlib.blake2b(digest_size=HASH_BYTES), 0
        while block := self._disk.read(fd, min(BLOCK_BYTES, size - offset), offset):
            found.update(block)
            offset += len(block)
        return found.hexdigest()

    def _suspect(self, start: int, error: OSError) -> None:
        """The kernel calls pages clean that it could not write: a second sync would only seem to succeed."""
        text = error.strerror or type(error).__name__
        self.suspects[start] = text
        self._unsaid.append({"type": "suspect", "start": start, "error": text})
        self._unreported.append((start, text))

    def _say_seals(self) -> bool:
        """Whether all is said; a disk without room for it is asked again with the next sync."""
        try:
            while self._unsaid:
                append(f"{self._folder}/{layout.SEALS}", self._unsaid[0], self._disk)
                del self._unsaid[0]
            self._sync_journals(layout.SEALS)
        except OSError:
            return False
        return True

    def _safe_end(self, starts: list[int]) -> int:
        """Up to the first suspect, or to the end of the last segment that was synced."""
        end = 0
        for start in starts:
            if start in self.suspects:
                break
            end = max(end, start + self._synced.get(start, 0))
        return end

    def _forget_all_but(self, starts: list[int]) -> None:
        self._names = starts
        self._synced = {start: self._synced[start] for start in starts if start in self._synced}
        self.sealed = {start: self.sealed[start] for start in starts if start in self.sealed}


class Safety:
    """Of one session."""

    def __init__(self, folder: str, *, strict: bool) -> None:
        self._folder = folder
        self.strict = strict  # nothing is shown before it is safe
        self._syncer: Syncer | None = None
        self._turn = asyncio.Lock()

    @property
    def durable(self) -> int:
        """Output before this is safe."""
        return self._syncer.durable if self._syncer is not None else 0

    @property
    def sealed(self) -> bool:
        """Whether everything that was sealed is written down."""
        return self._syncer is not None and self._syncer.said

    async def sync(self, *, closed: bool = False) -> list[tuple[int, str]]:
        """All that grew; the segments that have become suspect, and why."""
        async with self._turn:
            return await asyncio.to_thread(self._sync, closed)

    async def settle_all(self) -> None:
        """The same for all of it, its directory's own name included."""
        if self.strict:
            await self.settle()
            await asyncio.to_thread(REAL.sync_folder, os.path.dirname(self._folder))

    async def settle(self, end: int | None = None) -> None:
        """Where that was asked for: wait until everything, or the output up to `end`, is safe."""
        if not self.strict:
            return
        async with self._turn:
            if self._syncer is None or end is None or self._syncer.durable < end:
                await asyncio.to_thread(self._sync, False)

    def _sync(self, closed: bool) -> list[tuple[int, str]]:
        if self._syncer is None:
            self._syncer = Syncer(REAL, self._folder)
        return self._syncer.sync(closed=closed)
