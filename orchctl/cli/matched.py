"""Lines that match, as grep prints them; on a terminal nothing but text and colour."""

from __future__ import annotations

import re

from orchctl.cli.output import paint
from orchctl.session.model import Session
from orchctl.session.search import Count, Line
from orchctl.terminal.safe import within_line

NAME, NUMBER, SIGN = 35, 32, 36
_MATCH, _PLAIN = "\x1b[1;31m", "\x1b[0m"
_RESETS = ("\x1b[0m", "\x1b[m")
_WORN = 8  # sequences: more make no visible difference
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")


class Shown:
    """Makes lines of findings. Into a pipe the text is as it is, byte for byte."""

    def __init__(self, *, prefix: bool, numbers: bool, painted: bool, terminal: bool) -> None:
        self._prefix = prefix
        self._numbers = numbers
        self._painted = painted
        self._terminal = terminal

    def put(self, session: Session, finding: Line | Count) -> bytes:
        """With its end."""
        if isinstance(finding, Count):
            return self._front(session, ":") + b"%d\n" % finding.lines
        sign = ":" if finding.matches else "-"
        apart = self._sign("--") + b"\n" if finding.apart else b""
        number = self._paint(str(finding.number), NUMBER) + self._sign(sign) if self._numbers else b""
        return apart + self._front(session, sign) + number + self._text(finding) + b"\n"

    def _front(self, session: Session, sign: str) -> bytes:
        return self._paint(session.name or session.id[:8], NAME) + self._sign(sign) if self._prefix else b""

    def _sign(self, text: str) -> bytes:
        return self._paint(text, SIGN)

    def _paint(self, text: str, number: int) -> bytes:
        return paint(text, number, on=self._painted).encode()

    def _text(self, line: Line) -> bytes:
        if not self._terminal and not (self._painted and line.spans):
            return line.text
        encoding = "backslashreplace" if self._terminal else "surrogateescape"
        text, at = line.text, 0
        shown, worn = "", list[str]()  # the colours that the line itself has by then
        for span in line.spans if self._painted else ():
            start, end = (_whole(text, max(place, at)) for place in span)
            before, match = (part.decode(errors=encoding) for part in (text[at:start], text[start:end]))
            shown += self._safe(before, worn) + _MATCH + self._bare(match) + _PLAIN
            worn += _COLOUR.findall(before + match)
            worn = [] if worn and worn[-1] in _RESETS else worn[-_WORN:]
            at = end
        shown += self._safe(text[at:].decode(errors=encoding), worn)
        shown += _PLAIN if "\x1b[" in shown else ""
        return shown.encode("utf-8", "surrogateescape")

    def _safe(self, text: str, worn: list[str]) -> str:
        text = "".join(worn) + text
        return within_line(text) if self._terminal else text

    def _bare(self, text: str) -> str:
        return self._safe(_COLOUR.sub("", text), [])


def _whole(text: bytes, at: int) -> int:
    """The end of the character that a place is in; bytes that are none are left alone."""
    for end in range(at, min(at + 3, len(text))):
        if text[end] & 0xC0 != 0x80:
            return end
    return at
