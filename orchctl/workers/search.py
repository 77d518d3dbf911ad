"""`search` as a process: reads logs block by block, and writes findings as they are found."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from orchctl.errors import OrchctlError
from orchctl.log.commands import TypedLog
from orchctl.log.reader import OutputLog
from orchctl.log.session_files import SessionStore
from orchctl.log.time_index import Timeline
from orchctl.plain import from_plain
from orchctl.search import lines
from orchctl.search.lines import LineSearch
from orchctl.search.pattern import Find, Needle
from orchctl.session.search import Count, Line, Search
from orchctl.session.stream import Chunk, Gap
from orchctl.shell.marks import MarkCutter
from orchctl.shell.typed_lines import Typed, TypedLines

BLOCK_BYTES = 1 << 16  # fits into a processor's cache; and the memory of larger ones goes back to the kernel each time
HELD_S = 0.05  # findings that come closer to each other go together, in one block
HELD_BYTES = 1 << 16
MANY_BYTES = 64 << 20  # from here on a faster search is worth the time that it takes to load


def main(asked: dict[str, Any]) -> None:
    """Search the sessions that are named, in their order, and say what is found."""
    wanted = from_plain(Search, asked["search"])
    store = SessionStore(asked["sessions_dir"])
    out, used = _Out(), False
    find = finder(sum(one["bytes"] for one in asked["sessions"]))
    needles = {terminal: Needle(wanted, returns=terminal, find=find) for terminal in (True, False)}
    for number, one in enumerate(asked["sessions"]):
        try:
            terminal = one["backend"] == "pty"
            spec = store.read_spec(one["id"]) if terminal else None
            log = Log(
                store.folder(one["id"]),
                wanted,
                terminal=terminal,
                needle=needles[terminal],
                used=used,
                shell=None if spec is None else spec.shell,
            )
            for finding in log.findings():
                if finding is None:
                    out.flush()
                else:
                    out.say(number, finding)
            used = log.used
        except (OSError, OrchctlError) as error:
            reason = error.message if isinstance(error, OrchctlError) else error.strerror or str(error)
            out.say(number, reason)
    out.say(0, None)
    out.flush()


class Log:
    """One session's log as it is now; what is written meanwhile is not looked at."""

    def __init__(
        self,
        folder: str,
        wanted: Search,
        *,
        terminal: bool,
        needle: Needle | None = None,
        used: bool = False,
        block_bytes: int = BLOCK_BYTES,
        shell: str | None = None,
    ) -> None:
        self._folder = folder
        self._log = OutputLog(folder)
        self._wanted = wanted
        self._terminal = terminal
        self._block_bytes = block_bytes
        self._needle = needle or Needle(wanted, returns=terminal)
        self._typed = None if shell is None else TypedLog(folder, shell)
        self.used = used

    def findings(self) -> Iterator[Line | Gap | Count | None]:
        """All there are, in order; None after each block."""
        end = self._log.end
        if self._typed is not None:
            self._typed.look()
        offset, number = self._start(end)
        search = LineSearch(self._wanted, self._needle, number=number, used=self.used)
        text = self._text_from(offset)
        for piece in self._pieces(offset, end):
            if isinstance(piece, Gap):
                yield from search.feed(text.end())
                yield from search.end()
                yield piece
            else:
                yield from search.feed(text.feed(piece) if self._terminal else [piece])
            yield None
            if search.done:
                break
        else:
            yield from search.feed(text.end())
            yield from search.end()
        self.used = search.used
        self._log.close()
        if self._wanted.count:
            yield Count(search.found)

    def _pieces(self, offset: int, end: int) -> Iterator[Chunk | Gap]:
        while offset < end:
            data = self._log.read(offset, min(self._block_bytes, end - offset))
            if data:
                yield Chunk(offset, data)
                offset += len(data)
                continue
            gap = self._log.gap(offset)
            if gap is None:
                return
            yield gap
            offset = gap.end

    def _start(self, end: int) -> tuple[int, int]:
        """Where to begin, and the number of the line there: with the line that was being written at that time."""
        if self._wanted.since is None:
            return 0, 1
        since = Timeline(self._folder).offset_at(self._wanted.since, end)
        offset = self._log.start_of_last_lines(1, since) if since else 0
        if since and self._log.read(since - 1, 1) == b"\n":
            offset = since
        return offset, self._number_at(offset) if self._wanted.numbers else 1

    def _number_at(self, offset: int) -> int:
        """As a search of everything would count."""
        pieces = (piece for piece in self._pieces(0, offset) if isinstance(piece, Chunk))
        if not self._terminal:
            return 1 + sum(piece.data.count(b"\n") for piece in pieces)
        text = self._text_from(0)
        return 1 + sum(one.data.count(b"\n") for piece in pieces for one in text.feed(piece))

    def _text_from(self, offset: int) -> _Text:
        known = [] if self._typed is None else self._typed.lines[self._typed.after(offset, self._log) :]
        return _Text(known)


class _Text:
    """A log as people read it: with commands in the place of the lines that were typed for them, and without marks."""

    def __init__(self, known: list[Typed]) -> None:
        self._lines, self._cutter = TypedLines(), MarkCutter()
        for one in known:
            self._lines.know(one)

    def feed(self, chunk: Chunk) -> list[Chunk]:
        return [part for shown in self._lines.feed(chunk) for part in self._cutter.feed(shown)]

    def end(self) -> list[Chunk]:
        return [part for shown in self._lines.end() for part in self._cutter.feed(shown)] + self._cutter.end()


class _Out:
    """Findings on stdout: at once, or with others that come within a moment."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._bytes = 0
        self._flushed_at = 0.0

    def say(self, session: int, finding: lines.Finding) -> None:
        data = lines.encode(session, finding)
        self._held.append(data)
        self._bytes += len(data)
        if self._bytes > HELD_BYTES or time.monotonic() - self._flushed_at > HELD_S:
            self.flush()

    def flush(self) -> None:
        if not self._held:
            return
        data = memoryview(b"".join(self._held))
        while data:
            data = data[os.write(1, data) :]
        self._held, self._bytes, self._flushed_at = [], 0, time.monotonic()


def finder(total_bytes: int) -> Find:
    """The C library's search, where there is much to search: several times as fast as Python's own."""
    if total_bytes < MANY_BYTES:
        return bytes.find
    try:
        import ctypes

        memmem = ctypes.CDLL(None).memmem
    except (ImportError, OSError, AttributeError):
        return bytes.find
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

    def find(data: bytes, text: bytes, start: int, end: int) -> int:
        base = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0  # `data` lives until we return
        found = memmem(base + start, end - start, text, len(text)) if end > start else None
        return -1 if found is None else int(found) - base

    return find
