"""What an exec says while it waits: on a terminal one line, gone when the command begins; anywhere, a full disk."""

from __future__ import annotations

import os
import sys

from orchctl.client.exec import CommandStream
from orchctl.session.command import CommandWait

TEXT_SHOWN, TEXT_LEAST = 60, 12  # characters of another's command
_ERASE = "\r\x1b[K"


class WaitingLine:
    """A context around reading a command's output."""

    def __init__(self, stream: CommandStream, *, quiet: bool) -> None:
        self._shown = False
        self._redraws = os.environ.get("TERM", "dumb") != "dumb"
        if not quiet:
            stream.on_wait, stream.on_begin = self._hear, self._erase

    def __enter__(self) -> WaitingLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._erase()

    def _hear(self, waits: CommandWait) -> None:
        if waits.what == "space" and waits.reason:  # the command has begun, and is not late by its own fault
            sys.stderr.write(f"orchctl: {waits.reason}; the command waits until its output can be stored\n")
            sys.stderr.flush()
        elif waits.what != "space" and os.isatty(2):
            self._show(waits)

    def _show(self, waits: CommandWait) -> None:
        if self._redraws:
            width = _columns() - 1  # a longer line would wrap, and only its end be erased
            sys.stderr.write(_ERASE + told(waits, width)[:width])
        elif not self._shown:
            sys.stderr.write(told(waits, _columns()) + "\n")
        sys.stderr.flush()
        self._shown = True

    def _erase(self) -> None:
        if self._shown and self._redraws:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
        self._shown = False


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def told(waits: CommandWait, width: int) -> str:
    """What a command waits for, in words; the text of another command is shortened first."""
    if waits.what != "command":
        return f"waiting for the {waits.what}" + (f" ({waits.reason})" if waits.reason else "")
    since = "not begun" if waits.running_s is None else f"running {waits.running_s:.0f} s"
    more = f" and {waits.ahead - 1} more" if waits.ahead > 1 else ""
    line = f"waiting for command {waits.number} ({{}}{since}){more}"
    return line.format(f"{_quoted(waits.text, width - len(line))}, " if waits.text else "")


def _quoted(text: str, width: int) -> str:
    """The first of a command's text, with what could steer a terminal made visible."""
    quoted = repr(text)
    limit = min(TEXT_SHOWN, max(TEXT_LEAST, width))
    return quoted if len(quoted) <= limit else f"{quoted[: limit - 2]}…{quoted[0]}"
