"""Views of output, made here in the client: the wire, the log and all offsets are raw.

*text*  the terminal's newline mapping undone, escapes kept: for pipes.
*safe*  text with colour: what only steers a terminal is done or dropped, and what else could act on it is
        made visible: for a person's terminal, so that a log can never act on it.
*plain* text as it stands in the end: no escapes, and of a line written over only the last state.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Protocol

from orchctl.shell.marks import ANY_MARK, LIMIT_BYTES


class View(Protocol):
    """Takes the log in any pieces, gives what to show; `end` gives what was held back."""

    def feed(self, data: bytes) -> bytes: ...

    def end(self) -> bytes: ...


class RawView:
    """The bytes as they are."""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> bytes:
        return b""


class MarkView:
    """Our shells' marks cut out; every other byte stays."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What may be the beginning of a mark waits."""
        if b"\x1b" not in data and not self._held:
            return data
        return ANY_MARK.sub(b"", self._whole(data))

    def pieces(self, data: bytes) -> list[bytes | re.Match[bytes]]:
        """The same, with the marks in their places."""
        data = self._whole(data)
        found, at = list[bytes | re.Match[bytes]](), 0
        for mark in ANY_MARK.finditer(data):
            found += [data[at : mark.start()], mark]
            at = mark.end()
        return [*found, data[at:]]

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def _whole(self, data: bytes) -> bytes:
        data = self._held + data
        cut = _UNFINISHED_MARK.search(data, max(0, len(data) - LIMIT_BYTES))
        at = cut.start() if cut else len(data)
        self._held = data[at:]
        return data[:at]


class TextView:
    """Marks cut, and `\\r\\n` becomes `\\n`, whole or cut in two; every other byte stays."""

    def __init__(self) -> None:
        self._marks = MarkView()
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """A last `\\r` waits for what follows it."""
        data = self._held + self._marks.feed(data)
        self._held = b"\r" if data.endswith(b"\r") else b""
        return data[: len(data) - len(self._held)].replace(b"\r\n", b"\n")

    def end(self) -> bytes:
        """The `\\r` that nothing followed, and what looked like a mark."""
        held, self._held = self._held + self._marks.end(), b""
        return held.replace(b"\r\n", b"\n")


class NewlineView:
    """Undoes the terminal's newline mapping for as long as every newline was mapped; then passes all as it is."""

    def __init__(self, *, mapped: bool) -> None:
        self.exact = mapped
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The first newline that was not mapped ends it."""
        if not self.exact:
            return data
        data = self._held + data
        self._held = b"\r" if data.endswith(b"\r") else b""
        data = data[: len(data) - len(self._held)]
        bare = _BARE_NEWLINE.search(data)
        if bare is None:
            return data.replace(b"\r\n", b"\n")
        self.exact = False
        rest = data[bare.start() :] + self._held
        self._held = b""
        return data[: bare.start()].replace(b"\r\n", b"\n") + rest

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held


_UNFINISHED_MARK = re.compile(rb"\x1b(?:\](?:6(?:9(?:7(?:3(?:;[^\x07\x1b]*)?)?)?)?)?)?\Z")
_BARE_NEWLINE = re.compile(rb"(?<!\r)\n")


class SafeView:
    """What a person may read on a terminal. With `live`, the beginning of a line is shown before its end comes.

    `program` gives the name of what runs as the command with an id, or outside of any.
    """

    def __init__(self, *, live: bool = True) -> None:
        from orchctl.terminal.safe import SafeLines  # only who wants this view pays for it

        self.program: Callable[[str | None], str] = lambda exec_id: ""
        self._live = live
        self._marks = MarkView()
        self._text = TextView()
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._command: str | None = None
        self._lines = SafeLines(lambda: self.program(self._command))

    def feed(self, data: bytes) -> bytes:
        shown = "".join(map(self._piece, self._marks.pieces(data)))
        return (shown + (self._lines.pause() if self._live else "")).encode()

    def end(self) -> bytes:
        rest = self._decoder.decode(self._text.feed(self._marks.end()) + self._text.end(), final=True)
        return (self._lines.feed(rest) + self._lines.end()).encode()

    def _piece(self, piece: bytes | re.Match[bytes]) -> str:
        if isinstance(piece, bytes):
            return self._lines.feed(self._decoder.decode(self._text.feed(piece)))
        kind, *arguments = piece[0][len(b"\x1b]6973;0123456789abcdef;") : -1].decode("latin-1").split(";")
        if kind in ("B", "C") and arguments:
            self._command = arguments[0]
        elif kind in ("D", "P"):
            self._command = None
            self._lines.prompted()
        return ""


class PlainView:
    """What stands in each line when it is over. It comes then; a line that grows very long comes in parts."""

    def __init__(self) -> None:
        from orchctl.terminal.plain import Lines  # only who wants this view pays for it

        self._text = TextView()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lines = Lines()

    def feed(self, data: bytes) -> bytes:
        return self._lines.feed(self._decoder.decode(self._text.feed(data))).encode()

    def end(self) -> bytes:
        rest = self._lines.feed(self._decoder.decode(self._text.end(), final=True))
        return (rest + self._lines.end()).encode()
