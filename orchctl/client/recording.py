"""A session's output in forms that other programs read: asciicast, raw bytes, text, one JSON object a chunk."""

from __future__ import annotations

import codecs
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from orchctl.client.streams import OutputReading
from orchctl.plain import text_or_base64
from orchctl.session.model import Session
from orchctl.session.search import Size
from orchctl.session.stream import Chunk, Gap
from orchctl.terminal.views import MarkView, RawView, View


class Form(Protocol):
    """Takes what a recording is made of, in order, and gives bytes; times are Unix times, None while unknown."""

    def chunk(self, chunk: Chunk, time: float | None, stream: int) -> bytes: ...

    def resize(self, size: Size, time: float | None) -> bytes: ...

    def gap(self, gap: Gap, time: float | None) -> bytes: ...

    def end(self) -> bytes: ...


class Recording:
    """Puts sizes in where they were, and tells gaps to `on_gap` too; whoever reads the stream feeds it."""

    def __init__(self, sizes: Sequence[Size], form: Form, on_gap: Callable[[Gap], object] | None = None) -> None:
        self._later = list(sizes)
        self._form = form
        self._on_gap = on_gap
        self._time: float | None = None

    def take(self, piece: Chunk | Gap, stream: OutputReading) -> Iterator[bytes]:
        """What a piece becomes; the stream knows when it came, and which lines were typed for commands."""
        time = self._time = stream.time_of_next if stream.time_of_next is not None else self._time
        if isinstance(piece, Gap):
            yield from self._rest(stream)
            if self._on_gap is not None:
                self._on_gap(piece)
            yield self._form.gap(piece, time)
            return
        for part in [piece] if stream.lines is None else stream.lines.feed(piece):
            yield from self._chunk(part, stream)

    def _rest(self, stream: OutputReading) -> Iterator[bytes]:
        for part in [] if stream.lines is None else stream.lines.end():
            yield from self._chunk(part, stream)

    def _chunk(self, piece: Chunk, stream: OutputReading) -> Iterator[bytes]:
        rest, time = piece, self._time
        while self._later and self._later[0].offset < piece.end:
            size = self._later.pop(0)
            at = max(0, size.offset - rest.offset)
            if at:
                yield self._form.chunk(Chunk(rest.offset, rest.data[:at]), time, stream.stream_of_next)
            yield self._form.resize(size, time)
            rest = Chunk(rest.offset + at, rest.data[at:])
        yield self._form.chunk(rest, time, stream.stream_of_next)

    def end(self, stream: OutputReading | None = None) -> bytes:
        """What follows the last piece."""
        held = b"".join(self._rest(stream)) if stream is not None else b""
        return held + b"".join(self._form.resize(size, self._time) for size in self._later) + self._form.end()


def shows_commands(form: Form) -> bool:
    """Whether a form is for people: then the commands' own text stands where lines were typed for them."""
    return isinstance(form, Asciicast) or (isinstance(form, Bytes) and form.shows_commands)


class Bytes:
    """A view of the bytes and nothing else: raw, or text."""

    def __init__(self, view: View | None = None) -> None:
        self._view = view or RawView()
        self.shows_commands = not isinstance(self._view, RawView)

    def chunk(self, chunk: Chunk, time: float | None, stream: int) -> bytes:
        return self._view.feed(chunk.data)

    def resize(self, size: Size, time: float | None) -> bytes:
        return b""

    def gap(self, gap: Gap, time: float | None) -> bytes:
        return self._view.end()

    def end(self) -> bytes:
        return self._view.end()


class Lines:
    """NDJSON: each chunk with its offset, its time and, without a terminal, its stream; resizes and gaps."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def chunk(self, chunk: Chunk, time: float | None, stream: int) -> bytes:
        told = {"type": "output", "session": self._session.id, "offset": chunk.offset, "time": time}
        told |= {"stream": "err" if stream == 2 else "out"} if self._session.backend != "pty" else {}
        return _line(told | text_or_base64("output", chunk.data))

    def resize(self, size: Size, time: float | None) -> bytes:
        told = {"type": "resize", "session": self._session.id, "offset": size.offset, "time": time}
        return _line(told | {"cols": size.cols, "rows": size.rows})

    def gap(self, gap: Gap, time: float | None) -> bytes:
        return _line({"type": "gap", "session": self._session.id, "first": gap.first, "end": gap.end})

    def end(self) -> bytes:
        return b""


class Asciicast:
    """Version 2. Our marks are cut; characters cut in two are put together; what is no UTF-8 is replaced."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._marks: View = MarkView() if session.backend == "pty" else RawView()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._size = (session.cols or 80, session.rows or 24)
        self._began: float | None = None  # the time of the first event
        self._now = 0.0  # clocks are set back at times; a recording only goes forward
        self._headed = False

    def chunk(self, chunk: Chunk, time: float | None, stream: int) -> bytes:
        data = self._marks.feed(chunk.data)
        if self._session.backend != "pty":  # a player's terminal does not map newlines
            data = data.replace(b"\n", b"\r\n")
        text = self._decoder.decode(data)
        return self._event(time, "o", text) if text else b""

    def resize(self, size: Size, time: float | None) -> bytes:
        if not self._headed:
            self._size = (size.cols, size.rows)
            return b""
        return self._event(time, "r", f"{size.cols}x{size.rows}")

    def gap(self, gap: Gap, time: float | None) -> bytes:
        """A marker, where something was shown before; what is missing at the beginning is just not there."""
        if not self._headed:
            return b""
        return self._event(time, "m", f"bytes {gap.first} to {gap.end - 1} are no longer kept")

    def end(self) -> bytes:
        text = self._decoder.decode(self._marks.end(), final=True)
        head = b"" if self._headed else self._head(None)
        return head + (self._event(None, "o", text) if text else b"")

    def _event(self, time: float | None, code: str, data: str) -> bytes:
        head = b"" if self._headed else self._head(time)
        if time is not None:
            self._began = time if self._began is None else self._began
            self._now = max(self._now, time - self._began)
        return head + _line([round(self._now, 6), code, data])

    def _head(self, time: float | None) -> bytes:
        self._headed = True
        head: dict[str, Any] = {"version": 2, "width": self._size[0], "height": self._size[1]}
        head["timestamp"] = int(time if time is not None else self._session.created_at)
        head["title"] = self._session.name or shlex.join(self._session.command)
        head["env"] = {"TERM": "xterm-256color"} | ({"SHELL": self._session.shell} if self._session.shell else {})
        return _line(head)


def _line(value: Any) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
