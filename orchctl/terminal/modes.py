"""What a terminal was told to be by all that was written to it, and how it is made as it was. Pure.

Only what was really changed is undone: some of it moves the cursor, or clears the screen.
"""

from __future__ import annotations

import re

from orchctl.terminal.escapes import Escapes, Kind, Piece

_ALTERNATE = (1049, 1047, 47)
_ON_AT_FIRST = {7, 25, 1007}  # wrapping, the cursor, the wheel as arrows
_KNOWN = {1, 5, 6, 7, 9, 12, 25, 45, 66, 69, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004, 2026}
_KNOWN |= {2027, 2031, 2048, 5522, *_ALTERNATE}
_MODE = re.compile(rb"\x1b\[(\?)?([0-9;]*)([hl])")
_REGION = re.compile(rb"\x1b\[([0-9;]*)r")
_KEYBOARD = re.compile(rb"\x1b\[([>=<])([0-9;]*)u")
_CURSOR_FORM = re.compile(rb"\x1b\[([0-9]*) q")
_OTHER_KEYS = re.compile(rb"\x1b\[>4(?:;([0-9]*))?m")
_COLOURS = re.compile(rb"\x1b\](4|1[0-9]);")
_UNDO_COLOUR = {b"4": b"104", **{b"%d" % number: b"%d" % (number + 100) for number in range(10, 20)}}


class TerminalModes:
    """Everything that is written to a terminal is told to it, in any pieces."""

    def __init__(self) -> None:
        self._escapes = Escapes()
        self._forget()

    def _forget(self) -> None:
        self._modes: dict[int, bool] = {}
        self._insert = self._keypad = self._region = self._form = self._charset = self._other_keys = False
        self._kitty = {False: 0, True: 0}  # pushed, on the first and on the alternate screen; each has its own
        self._kitty_set = False
        self._colours: set[bytes] = set()

    @property
    def at_rest(self) -> bool:
        """Whether something else may be written now, between two sequences or characters."""
        return self._escapes.at_rest

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return any(self._modes.get(mode, False) for mode in _ALTERNATE)

    def feed(self, data: bytes) -> None:
        """What is written."""
        for piece in self._escapes.feed(data):
            self._note(piece)

    def undo(self) -> bytes:
        """What makes it as it was: to be written once; nothing is under way then."""
        half = b"\x18" if not self._escapes.at_rest else b""  # ends what was begun
        self._escapes.end()
        parts = [half, self._undo_mode(2026), self._pop_keys(), *map(self._undo_mode, _ALTERNATE)]
        self._modes.update(dict.fromkeys(_ALTERNATE, False))
        parts += [self._pop_keys(), b"\x1b[=0;1u" if self._kitty_set else b""]
        parts += map(self._undo_mode, sorted(set(self._modes) - {25}))
        parts += [b"\x1b[4l" if self._insert else b"", b"\x1b>" if self._keypad else b""]
        parts += [b"\x1b7\x1b[r\x1b8" if self._region else b"", b"\x1b(B\x0f" if self._charset else b""]
        parts += [b"\x1b[0 q" if self._form else b"", b"\x1b[>4m" if self._other_keys else b""]
        parts += [b"\x1b]%s\x1b\\" % _UNDO_COLOUR[one] for one in sorted(self._colours)]
        self._forget()
        return b"".join([*parts, b"\x1b[0m\x1b[?25h"])

    def _undo_mode(self, mode: int) -> bytes:
        first = mode in _ON_AT_FIRST
        if self._modes.pop(mode, first) == first:
            return b""
        return b"\x1b[?%d%c" % (mode, b"h" if first else b"l")

    def _pop_keys(self) -> bytes:
        pushed, self._kitty[self.alternate] = self._kitty[self.alternate], 0
        return b"\x1b[<%du" % pushed if pushed else b""

    def _note(self, piece: Piece) -> None:
        if piece.kind is Kind.SEQUENCE:
            self._note_sequence(piece.data)
        elif piece.kind is Kind.ESCAPE:
            if piece.data == b"\x1bc":
                self._forget()
            self._keypad = piece.data == b"\x1b=" or (self._keypad and piece.data != b"\x1b>")
            self._charset = self._charset or piece.data[1:2] in (b"(", b")", b"*", b"+")
        elif piece.kind is Kind.CONTROL:
            self._charset = self._charset or piece.data == b"\x0e"
        elif piece.kind is Kind.STRING and (found := _COLOURS.match(piece.data)) and b"?" not in piece.data:
            self._colours.add(found[1])

    def _note_sequence(self, data: bytes) -> None:
        if found := _MODE.fullmatch(data):
            for text in found[2].split(b";"):
                mode = int(text[:9] or b"0")
                if found[1] and mode in _KNOWN:
                    self._modes[mode] = found[3] == b"h"
                elif not found[1] and mode == 4:
                    self._insert = found[3] == b"h"
        elif found := _KEYBOARD.fullmatch(data):
            self._note_keyboard(found[1], found[2])
        elif found := _REGION.fullmatch(data):
            self._region = bool(found[1].strip(b"0;"))
        elif found := _CURSOR_FORM.fullmatch(data):
            self._form = bool(found[1].strip(b"0"))
        elif found := _OTHER_KEYS.fullmatch(data):
            self._other_keys = bool((found[1] or b"").strip(b"0"))

    def _note_keyboard(self, what: bytes, arguments: bytes) -> None:
        count = self._kitty[self.alternate]
        if what == b">":
            self._kitty[self.alternate] = count + 1
        elif what == b"<":
            self._kitty[self.alternate] = max(0, count - int(arguments.partition(b";")[0][:4] or b"1"))
        else:
            self._kitty_set = True
