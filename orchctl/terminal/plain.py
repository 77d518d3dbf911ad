"""The plain view: text as it stands in the end, for people and programs that know no escape sequences."""

from __future__ import annotations

import enum
import re
import unicodedata

LIMIT = 1 << 14  # columns held: a line that grows longer is given out as it is and can no longer change
REACH = 512  # columns a cursor can be moved to where no text is: no terminal is wider, and nobody can ask for gigabytes
_TAB = 8


class Line:
    """Cells and a cursor. A cell holds a character and its marks; what a wide one or a tab also covers is empty."""

    def __init__(self) -> None:
        self.style = ""  # colour sequences in front of what is written; cells have them too
        self._cells: list[str] = []
        self._at = 0
        self._edited = False

    @property
    def untouched(self) -> bool:
        """Whether nothing has happened in it yet."""
        return not self._cells and not self._edited

    @property
    def room(self) -> int:
        """Columns until it is as long as may be held."""
        return LIMIT - len(self._cells)

    def take(self) -> str:
        """The line so far; a new one begins. Blanks left at the end of one that was written over are nobody's."""
        return "".join(self.take_cells())

    @property
    def cells(self) -> list[str]:
        """What is in it, column by column."""
        return self._cells

    def trimmed(self) -> list[str]:
        """The same without blanks left at the end, if it was written over."""
        end = len(self._cells)
        while self._edited and end and self._cells[end - 1] == " ":
            end -= 1
        return self._cells[:end]

    def take_cells(self) -> list[str]:
        """As `take`, column by column."""
        cells = self.trimmed()
        self._cells, self._at, self._edited = [], 0, False
        return cells

    def write(self, char: str) -> None:
        """A printable character, or a tab, where the cursor is."""
        if char == "\t":
            self._tab()
        elif (width := _width(char)) > 0 or not self._mark(char):
            self._put(self._at, [self.style + char, *[""] * (max(1, width) - 1)])
            self._at += max(1, width)

    def append(self, text: str) -> bool:
        """ASCII text at the end of the line, all at once; False if the cursor is elsewhere."""
        if self._at != len(self._cells):
            return False
        self._cells += [self.style + char for char in text] if self.style else text
        self._at += len(text)
        return True

    def move(self, column: int) -> None:
        """The cursor to a column; never past what is written and what a terminal has."""
        self._edited = True
        self._at = min(max(0, column), max(REACH, len(self._cells)))

    def step(self, columns: int) -> None:
        """The cursor to the right, or to the left."""
        self.move(self._at + columns)

    def erase(self, which: int) -> None:
        """0: from the cursor on; 1: up to it; 2: all. The cursor stays."""
        self._edited = True
        if which == 0:
            self._split(self._at)
            del self._cells[self._at :]
        elif which == 1:
            self._blank(0, self._at + 1)
        elif which == 2:
            self._cells = []

    def blank(self, count: int) -> None:
        """As many cells from the cursor on; nothing moves."""
        self._edited = True
        self._blank(self._at, self._at + count)

    def delete(self, count: int) -> None:
        """As many cells from the cursor on; what follows comes up."""
        self._edited = True
        self._split(self._at)
        self._split(self._at + count)
        del self._cells[self._at : self._at + count]

    def insert(self, count: int) -> None:
        """As many blanks at the cursor; what follows moves on."""
        self._edited = True
        if self._at < len(self._cells):
            self._split(self._at)
            self._cells[self._at : self._at] = [" "] * min(count, REACH)

    def _tab(self) -> None:
        stop = self._at - self._at % _TAB + _TAB
        if self._at == len(self._cells):  # kept as the tab it is, where nothing is under it
            self._cells += ["\t", *[""] * (stop - self._at - 1)]
        self._at = min(stop, max(LIMIT, len(self._cells)))

    def _mark(self, char: str) -> bool:
        """To the character before the cursor; False if there is none, or it has more than any letter has."""
        at = self._at - 1
        while 0 < at < len(self._cells) and not self._cells[at]:
            at -= 1
        if not 0 <= at < len(self._cells) or len(self._cells[at]) - len(self.style) >= 16:
            return False
        self._cells[at] += char
        return True

    def _put(self, at: int, cells: list[str]) -> None:
        self._cells += [" "] * (at - len(self._cells))
        self._split(at)
        self._split(at + len(cells))
        self._cells[at : at + len(cells)] = cells

    def _blank(self, start: int, end: int) -> None:
        end = min(end, len(self._cells))
        self._split(start)
        self._split(end)
        self._cells[start:end] = [" "] * (end - start)

    def _split(self, at: int) -> None:
        """A wide character or a tab that reaches over this edge is gone: blanks are in its place."""
        if not 0 < at < len(self._cells) or self._cells[at]:
            return
        start, end = at, at
        while start > 0 and not self._cells[start]:
            start -= 1
        while end < len(self._cells) and not self._cells[end]:
            end += 1
        self._cells[start:end] = [" "] * (end - start)


def _width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


_ESC, _BREAKS = "\x1b", "\n\x0b\x0c\x84\x85"
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_UNSEEN = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # reorder what is read
_CALM_LINES = re.compile(rf"(?:[^{_CONTROLS}{_UNSEEN}\n]*\n)+")
_HIDDEN = re.compile(rf"[{_CONTROLS}{_UNSEEN}]")
_ASCII = re.compile(r"[ -~]+")
_STRING_END = re.compile(r"[\x07\x18\x1a\x1b\x9c]")
_ARGUMENTS = re.compile(r"[ -?]+")
_ARGUMENTS_LIMIT = 64  # a longer sequence is no terminal's
_NUMBERS = re.compile(r"(\d{0,9})(?:;(\d{0,9}))?(?:;[\d;]*)?")
_STRINGS = "]PX^_"  # OSC, DCS, SOS, PM, APC
_C1 = {chr(ord(char) + 0x40): char for char in "[]PX^_M"}  # the same as one character
_ELSEWHERE = "ABEFLMSTdef"  # another line, or this one on another row


class _State(enum.Enum):
    TEXT = 0
    ESCAPE = 1  # after ESC
    ARGUMENTS = 2  # after CSI
    STRING = 3  # in an OSC, DCS, APC, PM or SOS: all of it is skipped


class Lines:
    """Text in any pieces in, lines out. Only the line itself is held, never a sequence, however long it is."""

    def __init__(self) -> None:
        self._line = Line()
        self._state = _State.TEXT
        self._arguments = ""
        self._out: list[str] = []

    def feed(self, text: str) -> str:
        """The lines that are over by now."""
        at = 0
        while at < len(text):
            if self._state is _State.TEXT:
                at = self._text(text, at)
            elif self._state is _State.STRING:
                at = self._string(text, at)
            elif self._state is _State.ARGUMENTS and (found := _ARGUMENTS.match(text, at)):
                self._arguments = (self._arguments + found[0])[: _ARGUMENTS_LIMIT + 1]
                at = found.end()
            else:
                at = self._sequence(text, at)
        shown = "".join(self._out)
        self._out.clear()
        return shown

    def end(self) -> str:
        """The line that has not ended; a sequence that has not is nothing."""
        self._state = _State.TEXT
        return self._line.take()

    def _text(self, text: str, at: int) -> int:
        """The next run of text, or one control character; where it ends."""
        if self._line.untouched and (lines := _CALM_LINES.match(text, at)):
            self._out.append(lines[0])
            return lines.end()
        if run := _ASCII.match(text, at, at + max(1, self._line.room)):
            if not self._line.append(run[0]):
                for char in run[0]:
                    self._put(char)
            self._give_long()
            return run.end()
        self._control(text[at])
        return at + 1

    def _control(self, char: str) -> None:
        if char in _BREAKS:
            self._break()
        elif char == "\r":
            self._line.move(0)
        elif char == "\b":
            self._line.step(-1)
        elif char == _ESC:
            self._state = _State.ESCAPE
        elif char in _C1:
            self._escape(_C1[char])
        elif char == "\t" or not _HIDDEN.match(char):
            self._put(char)

    def _put(self, char: str) -> None:
        self._line.write(char)
        self._give_long()

    def _give_long(self) -> None:
        if self._line.room <= 0:
            self._out.append(self._line.take())

    def _break(self) -> None:
        self._out.append(self._line.take() + "\n")

    def _leave(self) -> None:
        """Elsewhere on the screen: what stands here is a line, if there is anything."""
        if left := self._line.take():
            self._out.append(left + "\n")

    def _string(self, text: str, at: int) -> int:
        """To its end: BEL, ST, CAN or SUB; any other escape ends it too, and counts."""
        found = _STRING_END.search(text, at)
        if found is None:
            return len(text)
        self._state = _State.ESCAPE if found[0] == _ESC else _State.TEXT
        return found.end()

    def _sequence(self, text: str, at: int) -> int:
        """One character that begins, ends or breaks a sequence; where the next one is."""
        char = text[at]
        if char in "\x18\x1a":
            self._state = _State.TEXT
        elif char < " ":  # controls count in the middle of a sequence, and a new ESC begins another
            self._control(char)
        elif char > "~":
            self._state = _State.TEXT
            return at
        elif self._state is _State.ESCAPE:
            self._escape(char)
        else:
            self._state = _State.TEXT
            self._act(char)
        return at + 1

    def _escape(self, char: str) -> None:
        if char == "[":
            self._state, self._arguments = _State.ARGUMENTS, ""
        elif char in _STRINGS:
            self._state = _State.STRING
        elif not " " <= char <= "/":  # those say that there is more to come
            self._state = _State.TEXT
            if char in "DE":
                self._break()
            elif char in "Mc":
                self._leave()

    def _act(self, final: str) -> None:
        """A whole CSI sequence."""
        numbers = _NUMBERS.fullmatch(self._arguments)
        if numbers is None:
            return
        first = int(numbers[1] or 0)
        count = max(1, first)
        if final in _ELSEWHERE:
            self._leave()
        elif final in "Hf":
            self._leave()
            self._line.move(max(1, int(numbers[2] or 0)) - 1)
        elif final in "Ca":
            self._line.step(count)
        elif final == "D":
            self._line.step(-count)
        elif final in "G`":
            self._line.move(count - 1)
        elif final == "J" and first:
            self._leave()
        elif final in "KJ":
            self._line.erase(first)
        else:
            self._change(final, count)

    def _change(self, final: str, count: int) -> None:
        if final == "X":
            self._line.blank(count)
        elif final == "P":
            self._line.delete(count)
        elif final == "@":
            self._line.insert(count)
