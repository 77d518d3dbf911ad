"""Matching lines in blocks of a log, and the frames in which a worker sends what it found. Pure."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator
from itertools import chain

from orchctl.search.pattern import Needle
from orchctl.session.search import Count, Line, Search
from orchctl.session.stream import Chunk, Gap

LINE_BYTES = 4 << 20
OVERLAP_BYTES = 1 << 16  # a match of that length at least is found also where a long line was divided
CONTEXT_BYTES = 16 << 20  # of lines before, no more is held


class LineSearch:
    """One log, from `number` lines into it on; `used` says whether anything was shown before, of another one."""

    def __init__(self, asked: Search, needle: Needle, *, number: int = 1, used: bool = False) -> None:
        self._asked = asked
        self._needle = needle
        self._window = _Window(number)
        self._at = 0  # the first byte that was not searched, in the window
        self._shown_to = -1  # after the last line that was shown
        self._after = 0  # lines still to be shown
        self._passing = False  # over the rest of a line that is too long
        self._divided = -1  # where in the window a later piece of such a line begins
        self._waiting: list[Chunk] = []  # for the window: a line that has no end yet
        self._waiting_bytes = 0
        self.used = used
        self.found = 0

    @property
    def done(self) -> bool:
        """Whether nothing more is wanted."""
        return self._full and self._after == 0

    @property
    def held_bytes(self) -> int:
        """How much of the text is in memory."""
        return len(self._window.data) + self._waiting_bytes

    @property
    def _full(self) -> bool:
        return self._asked.limit is not None and self.found >= self._asked.limit

    def feed(self, chunks: list[Chunk]) -> Iterator[Line]:
        """The lines that are certain by now."""
        chunks = self._unpassed(chunks) if self._passing else chunks
        self._waiting += chunks
        self._waiting_bytes += sum(len(chunk.data) for chunk in chunks)
        if self.held_bytes - self._at <= LINE_BYTES and not any(b"\n" in chunk.data for chunk in chunks):
            return  # joined when the line ends: once, and not with every piece
        known = max(self._at, len(self._window.data))
        self._join()
        data = self._window.data
        end = data.rfind(b"\n", min(known, len(data))) + 1
        if end:
            yield from self._search(end)
        elif len(data) - self._at > LINE_BYTES:
            yield from self._piece()
        self._trim()

    def end(self) -> Iterator[Line]:
        """The last line, if it has no end; also where bytes are missing after it."""
        self._join()
        yield from self._search(len(self._window.data))
        self._window = _Window(self._window.number(len(self._window.data)))
        self._at, self._shown_to, self._passing = 0, -1, False

    def _join(self) -> None:
        self._window.add(self._waiting)
        self._waiting, self._waiting_bytes = [], 0

    def _unpassed(self, chunks: list[Chunk]) -> list[Chunk]:
        """What comes after the rest of a line that is passed over."""
        for number, chunk in enumerate(chunks):
            end = chunk.data.find(b"\n") + 1
            if end:
                self._passing = False
                self._window.begin(chunk.offset + end)
                self._shown_to = 0 if self._shown_to >= 0 else -1
                return [Chunk(chunk.offset + end, chunk.data[end:]), *chunks[number + 1 :]]
        return []

    def _search(self, end: int) -> Iterator[Line]:
        data = self._window.data
        while not self._full and (line := self._needle.next(data, self._at, end)):
            yield from self._match(*line)
            self._at = min(end, line[1] + 1)
        yield from self._context_after(end)
        self._at, self._divided = end, -1

    def _match(self, start: int, end: int, *, part: bool = False) -> Iterator[Line]:
        self.found += 1
        if self._asked.count:
            return
        yield from self._context_after(start)
        for begin, stop in self._before(start):
            yield self._line(begin, stop, matches=False)
        yield self._line(start, end, part=part)
        self._after = self._asked.after or 0

    def _context_after(self, end: int) -> Iterator[Line]:
        data = self._window.data
        while self._after > 0 and 0 <= self._shown_to < end:
            stop = data.find(b"\n", self._shown_to, end)
            self._after -= 1
            yield self._line(self._shown_to, end if stop < 0 else stop, matches=False)

    def _before(self, start: int) -> list[tuple[int, int]]:
        data, found = self._window.data, list[tuple[int, int]]()
        while len(found) < (self._asked.before or 0) and start > max(0, self._shown_to):
            begin = data.rfind(b"\n", 0, start - 1) + 1
            found.append((begin, start - 1))
            start = begin
        return found[::-1]

    def _line(self, start: int, end: int, *, matches: bool = True, part: bool = False) -> Line:
        text = self._needle.text(self._window.data, start, end)
        apart = self._asked.context and self.used and start != self._shown_to
        self.used, self._shown_to = True, end + 1
        return Line(
            offset=self._window.offset(start),
            number=self._window.number(start) if self._asked.numbers else 0,
            text=text,
            matches=matches,
            spans=self._needle.spans(text) if matches and self._asked.spans else (),
            apart=apart,
            part=part or start == self._divided,
        )

    def _piece(self) -> Iterator[Line]:
        """Of a line without an end so far."""
        end = len(self._window.data)
        if not self._full and self._needle.matches(self._window.data[self._at :]):
            yield from self._match(self._at, end, part=True)
        elif self._after > 0 and self._shown_to == self._at:
            self._after -= 1
            yield self._line(self._at, end, matches=False, part=True)
        else:
            self._at = self._divided = end - OVERLAP_BYTES
            return
        self._passing, self._at, self._divided = True, end, -1

    def _trim(self) -> None:
        """Forget what is no longer needed: all that was searched, but for the context."""
        keep = self._at
        if not self._passing and self._divided < 0:  # a piece has no lines before it
            for _ in range(self._asked.before or 0):
                if keep == 0 or self._at - keep > CONTEXT_BYTES:
                    break
                keep = self._window.data.rfind(b"\n", 0, keep - 1) + 1
        self._window.forget(keep, count=self._asked.numbers)
        self._at -= keep
        self._divided = max(-1, self._divided - keep)
        self._shown_to = max(-1, self._shown_to - keep)


class _Window:
    """Some text of a log, and where its bytes are there."""

    def __init__(self, number: int) -> None:
        self.data = b""
        self._places: list[tuple[int, int]] = []  # from this byte of the window on: its offset
        self._counted, self._number = 0, number  # the line that begins there has this number

    def add(self, chunks: list[Chunk]) -> None:
        size = len(self.data)
        for chunk in chunks:
            if not self._places or self.offset(size) != chunk.offset:
                self._places.append((size, chunk.offset))
            size += len(chunk.data)
        if self.data or len(chunks) != 1:
            self.data = b"".join([self.data, *(chunk.data for chunk in chunks)])
        else:
            self.data = chunks[0].data

    def begin(self, offset: int) -> None:
        """Anew, after the end of a line of which the rest was passed over."""
        self._number = self.number(len(self.data)) + 1
        self.data, self._counted, self._places = b"", 0, [(0, offset)]

    def offset(self, at: int) -> int:
        place, offset = self._places[max(0, bisect.bisect_right(self._places, at, key=lambda one: one[0]) - 1)]
        return offset + at - place

    def number(self, at: int) -> int:
        if at < self._counted:
            return self._number - self.data.count(b"\n", at, self._counted)
        self._number += self.data.count(b"\n", self._counted, at)
        self._counted = at
        return self._number

    def forget(self, count_to: int, *, count: bool) -> None:
        if count:
            self.number(count_to)
        offset = self.offset(count_to) if self._places else 0
        later = [(at - count_to, place) for at, place in self._places if at > count_to]
        self._places = [(0, offset), *later] if self._places else []
        self.data = self.data[count_to:]
        self._counted = max(0, self._counted - count_to)


_HEAD = struct.Struct("<BBIQQII")  # kind, flags, session, two numbers, spans, bytes of text
HEAD_BYTES = _HEAD.size
_LINE, _COUNT, _GAP, _FAILED, _END = range(1, 6)
_MATCHES, _APART, _PART = 1, 2, 4

Finding = Line | Count | Gap | str | None


def encode(session: int, finding: Finding) -> bytes:
    """One finding of the session with that number; text is an error, and None the end of everything."""
    if isinstance(finding, Line):
        flags = _MATCHES * finding.matches | _APART * finding.apart | _PART * finding.part
        spans = struct.pack(f"<{2 * len(finding.spans)}I", *chain.from_iterable(finding.spans))
        sizes = len(finding.spans), len(finding.text)
        return _HEAD.pack(_LINE, flags, session, finding.offset, finding.number, *sizes) + spans + finding.text
    if isinstance(finding, Count):
        return _HEAD.pack(_COUNT, 0, session, finding.lines, 0, 0, 0)
    if isinstance(finding, Gap):
        return _HEAD.pack(_GAP, 0, session, finding.first, finding.end, 0, 0)
    text = (finding or "").encode("utf-8", "replace")
    return _HEAD.pack(_END if finding is None else _FAILED, 0, session, 0, 0, 0, len(text)) + text


class Decoder:
    """Takes the bytes in any pieces; `ended` says whether the end was among them."""

    def __init__(self) -> None:
        self._held = b""
        self.ended = False

    def feed(self, data: bytes) -> Iterator[tuple[int, Finding]]:
        """Each finding with the number of its session."""
        data, at = self._held + data, 0
        while len(data) - at >= HEAD_BYTES:
            kind, flags, session, one, two, spans, size = _HEAD.unpack_from(data, at)
            text_at = at + HEAD_BYTES + 8 * spans
            if len(data) < text_at + size:
                break
            text = data[text_at : text_at + size]
            if kind == _LINE:
                pairs = struct.unpack_from(f"<{2 * spans}I", data, at + HEAD_BYTES)
                yield session, _line(flags, one, two, text, pairs)
            elif kind == _COUNT:
                yield session, Count(one)
            elif kind == _GAP:
                yield session, Gap(one, two)
            elif kind == _FAILED:
                yield session, text.decode()
            else:
                self.ended = True
            at = text_at + size
        self._held = data[at:]


def _line(flags: int, offset: int, number: int, text: bytes, pairs: tuple[int, ...]) -> Line:
    spans = tuple(zip(pairs[::2], pairs[1::2], strict=True))
    return Line(offset, number, text, bool(flags & _MATCHES), spans, bool(flags & _APART), bool(flags & _PART))
