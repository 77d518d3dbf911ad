"""What a search says, as bytes on a pipe: frames with a fixed head, for both ends. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain

from orchctl.session.search import Count, Line
from orchctl.session.stream import Gap

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
