"""What may be shown again of a terminal's output: what draws, and nothing that asks or acts. Pure.

A terminal that is shown old output would answer the questions in it, and the answers would be typed into the session.
So only what is known to draw, or to set a mode that draws or tells how keys are sent, is let through.
"""

from __future__ import annotations

import re

from orchctl.session.search import Painting
from orchctl.terminal.escapes import Escapes, Kind, Piece

_ANSWERS = {
    b"c": b"\x1b[?62;22c",  # what it is: a VT220 with colour
    b"0c": b"\x1b[?62;22c",
    b"5n": b"\x1b[0n",  # whether all is well
    b"6n": b"\x1b[1;1R",  # where the cursor is: whoever asks at a prompt wants to hear that the line is empty
}
_QUESTION = re.compile(rb"\x1b\[(0?c|[56]n)")


def answers(output: bytes, offset: int) -> list[tuple[int, bytes]]:
    """Each question in `output`, which begins at `offset`: where it ends, and its answer."""
    return [(offset + asked.end(), _ANSWERS[asked[1]]) for asked in _QUESTION.finditer(output)]


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


_CONTROLS = b"\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
_DRAWS = re.compile(
    rb"\x1b\[(?:"
    rb"[0-9;:]*[@A-HJKLMPSTXZ`abdefgmrsu]"  # cursor, erase, insert, delete, scroll, colour, region
    rb"|\??[0-9;]*[hl]"
    rb"|[0-9]* q|!p"  # the cursor's form; all modes as at first
    rb"|[>=<][0-9;]*u|>4(?:;[0-9]*)?m"  # how keys are sent
    rb")"
)
# a terminal answers these modes with a report as soon as they are set, or makes its window another size
_TELLING_MODES = {b"3", b"40", b"1004", b"2026", b"2031", b"2048", b"5522"}
_ESCAPES = re.compile(rb"\x1b(?:[78DEMHNOno|}~=>]|[()*+\-./][0-9A-~]|#[34568])")
_STRINGS = re.compile(rb"\x1b\](?:[012]|8);[^\x00-\x1f\x7f]*")  # titles and links
_RESET = b"\x1bc"
_EMPTY_SCREEN = b"\x1b[!p\x1b[?1049l\x1b[H\x1b[2J"  # a whole reset would take the window's history along
_HIDDEN = re.compile("[\x80-\x9f]")  # controls that are spelled as characters


class Replay:
    """Takes output in any pieces; gives what may be shown of it."""

    def __init__(self) -> None:
        self._escapes = Escapes()

    def feed(self, data: bytes) -> bytes:
        """What is whole by now."""
        return b"".join(map(_allowed, self._escapes.feed(data)))

    @property
    def held_bytes(self) -> int:
        """How many of the last bytes wait for others: whoever goes on live begins with them."""
        return self._escapes.held_bytes

    def end(self) -> bytes:
        """Half a sequence is not shown, and what follows begins anew."""
        self._escapes.end()
        return b""


def _allowed(piece: Piece) -> bytes:
    data = piece.data
    if piece.kind is Kind.TEXT:
        return _HIDDEN.sub("", data.decode("utf-8", "ignore")).encode()
    if piece.kind is Kind.CONTROL:
        return data if data in _CONTROLS else b""
    if piece.kind is Kind.ESCAPE:
        return _EMPTY_SCREEN if data == _RESET else data if _ESCAPES.fullmatch(data) else b""
    if piece.kind is Kind.SEQUENCE and _DRAWS.fullmatch(data):
        return _without_telling_modes(data) if data[-1:] == b"h" else data
    if piece.kind is Kind.STRING and (title := _STRINGS.match(data)):
        return title[0] + b"\x1b\\"
    return b""


def _without_telling_modes(data: bytes) -> bytes:
    modes = data[2:-1].removeprefix(b"?").split(b";")
    kept = [mode for mode in modes if mode.lstrip(b"0") not in _TELLING_MODES or b"?" not in data]
    head = b"\x1b[?" if b"?" in data else b"\x1b["
    return head + b";".join(kept) + b"h" if kept else b""
