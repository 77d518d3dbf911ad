"""The line that `exec` types into a shell, and the command's own text in its place. Pure: pieces of a log in and out.

What a shell shows of that line, the echo, lies after the offset at which the command began and before the first mark
with the command's id:

    … prompt …   begin   rest of the prompt, echo   B;id or C;id   output …

So that stretch is held back until the mark has come, and the line is found in it by what was typed, which is on record.
Line editors wrap it, colour it and draw it several times; all of that goes. What else is in the stretch stays: the
rest of the prompt, and modes of the terminal. Where no mark comes, because the shell threw the line away or ended, the
stretch ends with the next prompt.
"""

from __future__ import annotations

import re

from orchctl.lazy_dataclass import dataclass
from orchctl.session.stream import Chunk

TEXT_LIMIT = 200  # characters of a command in text: more than a line of most terminals, and still read at a glance
WIRE_LIMIT = 400  # what is handed to whoever shows it
UNKNOWN = "[command]"  # in the place of one whose text is not on record
STRETCH_BYTES = 1 << 16  # prompt and echo are never longer
KEPT_TEXTS = 64  # of those that run, or have ended just now
PROMPTS = 8  # after so many without a mark of the command, its line was given up; it is typed three times at most
SURE_BYTES = 8  # of the line, in which it is recognised
_SEQUENCE = rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[0-~]"
_UNSEEN = re.compile(rb"(?:%s|[\x00-\x20\x7f])+" % _SEQUENCE)
_LEAD = re.compile(rb"(?: \x08)* (?: \x08)*(?:\r\x1b\[\d*C)?\Z")  # how the blank before the line is drawn
_STATE = re.compile(rb"\x1b\[[?<>=][0-9;]*[hlu]|\x1b[=>]|\x1b\[[0-9;:]*m|\x1b\(B")
_COLOUR_ENDS = re.compile(rb"\x1b\[0?m")
_QUESTION = re.compile(rb"\x1b\[[?>=]?[0-9;]*[cn]")
_COMPOUND = re.compile(r"[;&|()<>`$\n…]")
_BEFORE = ("sudo", "env", "exec", "command", "nohup", "time", "nice")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
_HIDDEN = {"\t": " "}
_PROMPT = re.compile(rb"\x1b\]6973;[0-9a-f]{16};P;[^\x07\x1b]{0,150}\x07")


@dataclass(frozen=True, slots=True)
class Typed:
    """A command on record: where the log ended before its line was typed, that line, and the text it stands for.

    `until` is where its output begins, once that is known.
    """

    id: str
    offset: int
    line: str
    text: str
    until: int | None = None


def one_line(text: str, limit: int = TEXT_LIMIT) -> str:
    """A command's text as people read it: its first line, without anything that acts on a terminal."""
    first, *more = [line for line in text.splitlines() if line.strip()] or [""]
    shown = "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in first
    )
    shown = shown.strip()
    if len(shown) > limit:
        return shown[: max(1, limit - 1)] + "…"
    return f"{shown[: limit - 2]} …" if more and limit > 2 else shown


def program_of(text: str) -> str:
    """The program that a command runs, where that is plain to see; else nothing."""
    words = [] if _COMPOUND.search(text) else text.split()
    while words and (words[0] in _BEFORE or _ASSIGNMENT.match(words[0])):
        words.pop(0)
    name = words[0].rpartition("/")[2] if words else ""
    return name if _NAME.fullmatch(name) else ""


class TypedLines:
    """Takes a log in any pieces, each after the one before; what is held back comes with the mark that ends it."""

    def __init__(self, *, limit: int = TEXT_LIMIT, silent: bool = False) -> None:
        self.limit = limit  # characters of a command
        self._silent = silent  # nothing stands in the line's place: for those who look for what commands write
        self._known: list[Typed] = []
        self._last: Typed | None = None
        self._texts: dict[str, str] = {}
        self._at: Typed | None = None  # whose stretch this is
        self._own: re.Pattern[bytes] | None = None
        self._held = Chunk(0, b"")
        self._prompts = 0
        self._late = False
        self._headless = False  # the stretch began before the log did that we are given

    def text_of(self, exec_id: str) -> str:
        """Of one of the last commands."""
        return self._texts.get(exec_id, "")

    def know(self, typed: Typed) -> None:
        """Before the bytes after its offset are fed; in order, and perhaps again."""
        if self._last is None or (typed.id != self._last.id and typed.offset >= self._last.offset):
            self._last = typed
            self._known.append(typed)
            self._texts[typed.id] = typed.text
            if len(self._texts) > KEPT_TEXTS:
                del self._texts[next(iter(self._texts))]

    @property
    def held_bytes(self) -> int:
        """How many of the last bytes are held back."""
        return len(self._held.data)

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """What is certain by now."""
        if self._at is None and not self._known:
            return [chunk]
        found = (
            self.end() if self._held.data and self._held.end != chunk.offset else list[Chunk]()
        )  # something is missing
        if self._at is not None:
            chunk, self._held = Chunk(self._held.offset, self._held.data + chunk.data), Chunk(0, b"")
        while chunk.data:
            rest = self._within(chunk, found) if self._at is not None else self._outside(chunk, found)
            if rest is None:
                break
            chunk = rest
        return found

    def end(self) -> list[Chunk]:
        """What was held back, when nothing follows, or not what should."""
        held, typed = self._held, self._at
        self._leave()
        return self._without(held, typed, marked=False) if typed is not None and held.data else []

    def release(self) -> list[Chunk]:
        """What of it cannot be the line; from now on nothing else is held back of this one. For those who wait."""
        self._late = True
        if self._at is None:
            return []
        held = self._held
        cut = _begin(held.data, self._at.line)
        cut = _perhaps(held.data, self._at.line) if cut is None else cut
        self._held = _from(held, cut)
        return [Chunk(held.offset, held.data[:cut])] if cut else []

    def _outside(self, chunk: Chunk, found: list[Chunk]) -> Chunk | None:
        """Up to the next command; what is left then."""
        while self._known and (until := self._known[0].until) is not None and until <= chunk.offset:
            self._known.pop(0)
        if not self._known or self._known[0].offset >= chunk.end:
            found.append(chunk)
            return None
        cut = max(0, self._known[0].offset - chunk.offset)
        if cut:
            found.append(Chunk(chunk.offset, chunk.data[:cut]))
        self._at = self._known.pop(0)
        self._headless = self._at.offset < chunk.offset
        self._own = marks_of(self._at.id)
        return _from(chunk, cut)

    def _within(self, chunk: Chunk, found: list[Chunk]) -> Chunk | None:
        """To the end of the stretch; what is left then. All of it is held where there is none."""
        assert self._at is not None
        assert self._own is not None
        typed, data = self._at, chunk.data
        end = len(data) if not self._known else min(len(data), max(0, self._known[0].offset - chunk.offset))
        mark, prompt = self._own.search(data, 0, end), _PROMPT.search(data, 0, end)
        if mark is not None and (prompt is None or mark.start() <= prompt.start()):
            return self._stretch(chunk, mark.start(), found, marked=True)
        if prompt is not None:
            self._prompts += 1
            found += self._without(Chunk(chunk.offset, data[: prompt.start()]), typed, marked=False)
            found.append(Chunk(chunk.offset + prompt.start(), prompt[0]))
            if self._prompts >= PROMPTS:
                self._leave()
            return _from(chunk, prompt.end())
        if end < len(data) or len(data) > STRETCH_BYTES:
            return self._stretch(chunk, end, found, marked=False)
        self._held = chunk
        asked = [question.end() for question in _QUESTION.finditer(data)]  # nothing comes before it is answered
        if asked and _begin(data[: asked[-1]], typed.line) is None:
            found.append(Chunk(chunk.offset, data[: asked[-1]]))
            self._held = _from(chunk, asked[-1])
        if self._late:
            found += self.release()
        return None

    def _stretch(self, chunk: Chunk, end: int, found: list[Chunk], *, marked: bool) -> Chunk:
        assert self._at is not None
        found += self._without(Chunk(chunk.offset, chunk.data[:end]), self._at, marked=marked)
        self._leave()
        return _from(chunk, end)

    def _leave(self) -> None:
        self._at, self._own, self._held, self._prompts, self._late = None, None, Chunk(0, b""), 0, False

    def _without(self, stretch: Chunk, typed: Typed, *, marked: bool) -> list[Chunk]:
        """The stretch with the command's text in the line's place."""
        found, data = list[Chunk](), stretch.data
        echoed = typed.line.encode("utf-8", "surrogateescape") + b"\r\n"  # by the terminal, before the shell read it
        if (first := data.find(echoed)) >= 0 and _begin(data[first + len(echoed) :], typed.line) is not None:
            found += [Chunk(stretch.offset, data[:first])] if first else []
            stretch = _from(stretch, first + len(echoed))
            data = stretch.data
        begin = _begin(data, typed.line)
        if begin is None and not marked:
            return [*found, stretch] if data else found
        told = True
        if begin is None:
            begin = 0 if self._headless else _after_prompt(data, typed.line)
            told = not self._headless or bool(_seen(data)[0])
        elif _wanted(typed.line)[-SURE_BYTES:] in _seen(data[:begin])[0]:  # drawn again; the first is not whole
            begin = 0
        if begin:
            found.append(Chunk(stretch.offset, data[:begin]))
        end = len(data) if marked else _after(data, begin, typed.line)
        echo = data[begin:end]
        if told and (text := self._shown(typed, echo, marked=marked)):
            found.append(Chunk(stretch.offset + begin, text))
        if states := _states(echo):
            found.append(Chunk(stretch.offset + end, states))  # what follows them is the next line
        return [*found, _from(stretch, end)] if end < len(data) else found

    def _shown(self, typed: Typed, echo: bytes, *, marked: bool) -> bytes:
        text = "" if self._silent else one_line(typed.text, self.limit) or UNKNOWN
        newline = b"\r\n" if not self._silent and (marked or b"\n" in echo) else b""
        return text.encode("utf-8", "replace") + newline


def _states(echo: bytes) -> bytes:
    """The modes and colours that what was drawn leaves behind."""
    states = _STATE.findall(echo)
    resets = [number for number, one in enumerate(states) if _COLOUR_ENDS.fullmatch(one)]
    kept = [one for number, one in enumerate(states) if one[-1:] not in b"mB" or not resets or number >= resets[-1]]
    return b"".join(kept)


def marks_of(exec_id: str) -> re.Pattern[bytes]:
    """The marks of one command, and that of a prompt which speaks for it."""
    own = b"(?i:%b)" % re.escape(exec_id.encode())  # a terminal may change letters
    return re.compile(rb"\x1b\]6973;[0-9a-f]{16};(?:[A-OQ-Z];%b[;\x07]|P;[^\x07\x1b]{0,90};%b\x07)" % (own, own))


def _from(chunk: Chunk, at: int) -> Chunk:
    return Chunk(chunk.offset + at, chunk.data[at:])


def _seen(data: bytes) -> tuple[bytes, list[int]]:
    """What is drawn, without blanks, and where each byte of it is."""
    shown, places, at = [], list[int](), 0
    for unseen in _UNSEEN.finditer(data):
        shown.append(data[at : unseen.start()])
        places += range(at, unseen.start())
        at = unseen.end()
    shown.append(data[at:])
    places += range(at, len(data))
    return b"".join(shown), places


def _wanted(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape").replace(b" ", b"")


def _begin(data: bytes, line: str) -> int | None:
    """Where the line begins to be drawn: by its first bytes, of which one may come again where a row ends."""
    first = _wanted(line)[:SURE_BYTES]
    shown, places = _seen(data)
    drawn = re.compile(b"".join(re.escape(first[at : at + 1]) + b"{1,2}" for at in range(len(first))))
    found = drawn.search(shown) if first else None
    if found is None:
        return None
    at = places[found.start()]
    lead = _LEAD.search(data, 0, at) if line.startswith(" ") else None
    return lead.start() if lead is not None else at


def _after_prompt(data: bytes, line: str) -> int:
    """Where the line would stand that is not found. What may be the line, drawn in a way that nobody knows, goes."""
    wanted = _wanted(line)
    shown, places = _seen(data)
    parts = {wanted[at : at + SURE_BYTES] for at in range(len(wanted) - SURE_BYTES + 1)}
    if not shown or len(shown) > len(wanted) // 2 or any(part in shown for part in parts):
        return 0
    end = places[-1] + 1
    return end + len(data[end:]) - len(data[end:].lstrip(b" "))


def _perhaps(data: bytes, line: str) -> int:
    """From where on the end of the data may be the beginning of the line."""
    wanted = _wanted(line)
    shown, places = _seen(data)
    for length in range(min(SURE_BYTES, len(shown)), 0, -1):
        if wanted.startswith(shown[len(shown) - length :]):
            at = places[len(shown) - length]
            lead = _LEAD.search(data, 0, at)
            return lead.start() if lead is not None else at
    lead = _LEAD.search(data)
    return lead.start() if lead is not None else len(data)


def _after(data: bytes, begin: int, line: str) -> int:
    """The end of the row in which the line ends, where no mark says so."""
    _, places = _seen(data[begin:])
    length = len(_wanted(line))
    if len(places) <= length:
        return len(data)
    end = data.find(b"\n", begin + places[length - 1])
    return len(data) if end < 0 else end + 1
