"""The safe view: what a person may read of a log on a terminal, which the log can never act on.

What only steers a terminal (moves of the cursor, erasures, modes, titles) is done or dropped: a line that is written
over is shown as it stands in the end, and a program that takes the whole screen is one line that names it. Colour, tab
and newline stay. Anything else that is no text is spelled out: strings to the terminal, C1 controls, sequences that
never end, marks that reorder what is read.

| state     | input                    | next      | effect                                             |
|-----------|--------------------------|-----------|----------------------------------------------------|
| TEXT      | text, CR, BS, tab, LF    | TEXT      | written into the line; LF ends it                  |
| TEXT      | ESC                      | ESCAPE    |                                                    |
| TEXT      | any other control        | TEXT      | spelled out, or dropped if terminals only beep     |
| ESCAPE    | [                        | ARGUMENTS |                                                    |
| ESCAPE    | ] P X ^ _                | STRING    |                                                    |
| ESCAPE    | final byte               | TEXT      | done or dropped                                    |
| ARGUMENTS | final byte               | TEXT      | colour kept; the rest done or dropped              |
| STRING    | BEL or ESC \\             | TEXT      | dropped if it only steers, else spelled out        |
| any       | what does not belong     | TEXT      | what was begun is spelled out                      |
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable

from orchctl.terminal import HIDDEN, spell
from orchctl.terminal.plain import LIMIT, Lines

STRING_LIMIT = 4096  # characters: no title is longer
ARGUMENTS_LIMIT = 64
ESCAPE_LIMIT = 8
RESET = "\x1b[0m"
_CALM_LINES = re.compile(rf"(?:[^{HIDDEN}\n]*\n)+")
_COLOURED_LINE = re.compile(r"(?:[ -~]++|\x1b\[[0-9;:]{0,64}m)*+\n")
_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
_ACTS = re.compile(f"[{HIDDEN}]")
_ASCII = re.compile(r"[ -~]+")
_ARGUMENTS = re.compile(r"[ -?]+")
_CONTROL = re.compile(r"[\x00-\x1f]")
_STYLE = re.compile(r"(?:\x1b\[[0-9;:]*m)*")
_SGR = re.compile(r"[0-9;:]*")
_DROPPED = "\x01\x02\x07\x0e\x0f"  # delimiters of prompts, the bell, other character sets
# titles, the working directory, links, colours, shell integration, progress
_OF_WINDOW = r"\](?:[0124578]|9;4|1[0-9]|10[45]|11[0-9]|133|633)"
_STEERS = re.compile(rf"{_OF_WINDOW}(?:;.*)?", re.DOTALL)
_ALTERNATE = re.compile(r"\?(?:\d+;)*(?:47|1047|1049)(?:;\d+)*")


# SGR: what each number sets; 8, which hides text, is not among them
_SETS = {1: "bold", 2: "dim", 3: "italic", 4: "under", 5: "blink", 6: "blink", 7: "inverse", 9: "struck", 21: "under"}
_SETS |= dict.fromkeys([*range(30, 39), *range(90, 98)], "ink") | dict.fromkeys(
    [*range(40, 49), *range(100, 108)], "paper"
)
_SETS |= {53: "over", 58: "under colour"}
_UNSETS = {22: ("bold", "dim"), 23: ("italic",), 24: ("under",), 25: ("blink",), 27: ("inverse",), 29: ("struck",)}
_UNSETS |= {39: ("ink",), 49: ("paper",), 55: ("over",), 59: ("under colour",)}
_MORE = {"5": 3, "2": 5}  # 38;5;N and 38;2;R;G;B: how many numbers belong together


class _State(enum.Enum):
    TEXT = 0
    ESCAPE = 1
    ARGUMENTS = 2
    STRING = 3
    STRING_END = 4  # after an ESC in it


def within_line(text: str) -> str:
    """A part of a line, safe by itself, as it stands after what was written over in it."""
    lines = SafeLines()
    shown = lines.feed(text) + lines.end(whole=True)
    return re.sub(" ?\n", " ", shown)


class SafeLines(Lines):
    """Text in any pieces in, lines out; `pause` gives what there is of a line that has not ended."""

    def __init__(self, program: Callable[[], str] = lambda: "") -> None:
        super().__init__()
        self._program = program  # the name of the one that runs, or nothing
        self._where = _State.TEXT
        self._begun = ""  # of a sequence, as it came
        self._given: list[str] = []  # cells of the line that were given out before its end
        self._hides = False  # a program has the whole screen
        self._worn: dict[str, str] = {}  # what colours and the like are on, and how that was said

    def feed(self, text: str) -> str:
        at = 0
        while at < len(text):
            if self._where is _State.TEXT:
                at = self._text(text, at)
            elif self._where is _State.ARGUMENTS and (found := _ARGUMENTS.match(text, at)):
                at = self._more_arguments(found)
            elif self._where is _State.STRING:
                at = self._string(text, at)
            else:
                at = self._sequence(text, at)
        shown = "".join(self._out)
        self._out.clear()
        return shown

    def pause(self) -> str:
        """The new part of a line that only grew; one that was written over waits for its end."""
        cells = self._line.cells
        if cells[: len(self._given)] != self._given:
            return ""
        fresh = self._line.trimmed()[len(self._given) :]
        self._given += fresh
        return _rendered(fresh)

    def end(self, *, whole: bool = False) -> str:
        self._spell_begun()
        shown = "".join(self._out) + (_rendered(self._line.cells) if whole else self._finished())
        self._out.clear()
        self._hides = False
        return shown

    def prompted(self) -> None:
        """A command has ended, or a shell shows its prompt: whatever had the screen is over."""
        self._hides = False

    # text

    def _text(self, text: str, at: int) -> int:
        calm = self._line.untouched and not self._given and not self._hides
        if calm and not self._line.style and (lines := _CALM_LINES.match(text, at)):
            self._out.append(lines[0])
            return lines.end()
        if calm and (line := _COLOURED_LINE.match(text, at, at + LIMIT)):
            self._coloured(line[0])
            return line.end()
        if run := _ASCII.match(text, at, at + max(1, self._line.room)):
            if not self._hides and not self._line.append(run[0]):
                for char in run[0]:
                    self._put(char)
            self._give_long()
            return run.end()
        self._control(text[at])
        return at + 1

    def _coloured(self, line: str) -> None:
        """A line of nothing but ASCII and colours, without a look at each column."""
        worn = ""
        for number, part in enumerate(_COLOUR.split(line[:-1])):
            if number % 2:
                self._colour(part)
            elif part:
                style = self._line.style
                self._out.append(part if style == worn else f"{RESET if worn else ''}{style}{part}")
                worn = style
        self._out.append(f"{RESET}\n" if worn else "\n")

    def _control(self, char: str) -> None:
        if char in "\n\x0b\x0c":
            self._break()
        elif char == "\r":
            self._line.move(0)
        elif char == "\b":
            self._line.step(-1)
        elif char == "\x1b":
            self._where, self._begun = _State.ESCAPE, char
        elif char == "\t" or not _ACTS.match(char):
            self._put(char)
        elif char not in _DROPPED:
            self._spell(char)

    def _put(self, char: str) -> None:
        if not self._hides:
            super()._put(char)

    def _spell(self, text: str) -> None:
        for char in text:
            for shown in spell(char) if char in "\n\t" or _ACTS.match(char) else char:
                self._put(shown)

    def _spell_begun(self) -> None:
        begun, self._begun, self._where = self._begun, "", _State.TEXT
        self._spell(begun)

    # lines

    def _finished(self) -> str:
        """What of the line was not given out yet; all of it, on a line of its own, where that was written over."""
        grew = self._line.cells[: len(self._given)] == self._given
        given, self._given = len(self._given), []
        cells = self._line.take_cells()
        return _rendered(cells[given:]) if grew else "\n" + _rendered(cells)

    def _break(self) -> None:
        if not self._hides:
            self._out.append(self._finished() + "\n")

    def _leave(self) -> None:
        if self._line.cells or self._given:
            self._break()
        self._line.take_cells()

    def _give_long(self) -> None:
        if self._line.room <= 0:
            self._out.append(self._finished())

    # sequences

    def _more_arguments(self, found: re.Match[str]) -> int:
        room = ARGUMENTS_LIMIT + 3 - len(self._begun)
        self._begun += found[0][:room]
        if len(self._begun) > ARGUMENTS_LIMIT + 2:
            self._spell_begun()
        return found.start() + min(room, len(found[0]))

    def _sequence(self, text: str, at: int) -> int:
        char = text[at]
        if self._where is _State.STRING_END:
            return self._string_end(char, at)
        if char == "\x1b":
            self._spell_begun()
            self._control(char)
        elif char in "\x18\x1a":
            self._begun += char
            self._spell_begun()
        elif char < " ":  # a terminal does it in the middle of a sequence
            self._control(char)
        elif char > "~":
            self._spell_begun()
            return at
        else:
            self._begun += char
            self._final(char)
        return at + 1

    def _final(self, char: str) -> None:
        if self._where is _State.ARGUMENTS:
            arguments, self._begun, self._where = self._begun[2:-1], "", _State.TEXT
            self._do(arguments, char)
        elif char == "[":
            self._where = _State.ARGUMENTS if len(self._begun) == 2 else _State.TEXT
            self._begun = self._begun if len(self._begun) == 2 else ""
        elif char in "]PX^_" and len(self._begun) == 2:
            self._where = _State.STRING
        elif char > "/":
            self._begun, self._where = "", _State.TEXT
            self._escape(char)
        elif len(self._begun) > ESCAPE_LIMIT:
            self._spell_begun()

    def _escape(self, char: str) -> None:
        if char in "DE":
            self._break()
        elif char in "Mc":
            self._leave()
            self._hides = self._hides and char != "c"
            if char == "c":
                self._colour("")

    def _do(self, arguments: str, final: str) -> None:
        if final == "m" and _SGR.fullmatch(arguments):
            self._colour(arguments)
        elif final in "hl" and _ALTERNATE.fullmatch(arguments):
            self._take_screen(taken=final == "h")
        elif not self._hides:
            self._arguments = arguments
            self._act(final)

    def _colour(self, arguments: str) -> None:
        _wear(self._worn, arguments)
        joined = ";".join(self._worn.values())
        parts = self._worn.values() if len(joined) > ARGUMENTS_LIMIT else [joined] if joined else []
        self._line.style = "".join(f"\x1b[{part}m" for part in parts)

    def _take_screen(self, *, taken: bool) -> None:
        if taken and not self._hides:
            self._leave()
            name = self._program()
            self._out.append(f"[{name}: full-screen program]\n" if name else "[full-screen program]\n")
            self._line.take_cells()
        self._hides = taken

    # strings

    def _string(self, text: str, at: int) -> int:
        stop = _CONTROL.search(text, at)
        end = stop.start() if stop else len(text)
        room = STRING_LIMIT - len(self._begun)
        if end - at > room:
            self._begun += text[at : at + room]
            self._spell_begun()
            return at + room
        self._begun += text[at:end]
        if stop is None:
            return end
        if stop[0] == "\x07":
            return self._string_over(stop[0], end)
        if stop[0] == "\x1b":
            self._where = _State.STRING_END
            return end + 1
        self._spell_begun()
        return end

    def _string_end(self, char: str, at: int) -> int:
        if char == "\\":
            return self._string_over("\x1b\\", at)
        self._spell_begun()
        self._control("\x1b")
        return at

    def _string_over(self, end: str, at: int) -> int:
        if not _STEERS.fullmatch(self._begun[1:]):
            self._begun += end
            self._spell_begun()
        self._begun, self._where = "", _State.TEXT
        return at + 1


def _wear(worn: dict[str, str], arguments: str) -> None:
    """What is on after an SGR sequence."""
    numbers, at = arguments.split(";"), 0
    while at < len(numbers):
        first = numbers[at].partition(":")[0]
        number, count = int(first[:4] or 0), 1
        if number in (38, 48, 58) and ":" not in numbers[at]:
            count = _MORE.get("".join(numbers[at + 1 : at + 2]), 1)
            if at + count > len(numbers):
                return
        if number == 0:
            worn.clear()
        elif number in _SETS and (count > 1 or ":" in numbers[at] or number not in (38, 48, 58)):
            worn[_SETS[number]] = ";".join(numbers[at : at + count])
        for name in _UNSETS.get(number, ()):
            worn.pop(name, None)
        at += count


def _rendered(cells: list[str]) -> str:
    """With colours where they change, and none left on at the end."""
    shown, worn = list[str](), ""
    for cell in cells:
        if not cell:
            continue
        style = _STYLE.match(cell)[0] if cell[0] == "\x1b" else ""  # type: ignore[index]
        if style != worn:
            shown.append(f"{RESET if worn else ''}{style}")
            worn = style
        shown.append(cell[len(style) :])
    return "".join(shown) + (RESET if worn else "")
