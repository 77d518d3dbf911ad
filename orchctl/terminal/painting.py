"""What is written to a person's terminal beside a session's own output: a whole screen, and short notices. Pure."""

from __future__ import annotations

from orchctl.session.search import Painting
from orchctl.terminal.replay import Replay

_NO_WRAP, _WRAP = b"\x1b[?7l", b"\x1b[?7h"


def empty(rows: int) -> bytes:
    """A screen with nothing on it; what it showed is in the terminal's history."""
    return b"\x1b[0m\x1b[r\x1b[%d;1H%s\x1b[H\x1b[2J" % (rows, b"\n" * rows)


def repaint(painting: Painting, rows: int) -> bytes:
    """That screen on an empty one. Lines that are too long for this terminal are cut, not wrapped."""
    replay = Replay()
    drawn = replay.feed(painting.sequence.encode()) + replay.end()
    title = "".join(char for char in painting.title if char.isprintable())
    named = b"\x1b]2;%s\x1b\\" % title.encode("utf-8", "ignore") if title else b""
    wraps = b"" if _NO_WRAP in drawn else _WRAP
    return empty(rows) + _NO_WRAP + drawn + wraps + named


def notice(text: str, cols: int) -> bytes:
    """A line over the top one, with a bell; the cursor stays where it was.

    It stays until the program writes there. The bottom line would be the one that people type in.
    """
    shown = "".join(char if char.isprintable() else "?" for char in f" {text} ")[:cols]
    return b"\x1b7\x1b[1;1H\x1b(B\x1b[0;7m%s\x1b[0m\x1b[K\x1b8\x07" % shown.encode("utf-8", "replace")
