"""One line of a terminal, as it stands after everything that was written over it. Pure.

Columns are what a terminal of unlimited width would have: a wide character takes two, a mark above a letter none,
a tab as many as are missing to the next multiple of eight.
"""

from __future__ import annotations

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
