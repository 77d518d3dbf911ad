"""Where each key of a TOML text stands, which the standard library does not tell. For text that it has read as TOML.

Keeps to the text: names, lines and the places of values, so that one value can be changed and the rest stays as it is.
"""

from __future__ import annotations

import re
import tomllib

from orchctl.lazy_dataclass import dataclass

Path = tuple[str, ...]
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}=,.\n]|[^\S\n]+"
    r"|[^\s\"'#\[\]{}=,.]+",
    re.DOTALL,
)
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value: the key begins at `start`, the value is `text[value:end]`; all are offsets."""

    path: Path
    line: int
    start: int
    value: int
    end: int
    inline: bool = False  # inside of an inline table


@dataclass(frozen=True, slots=True)
class Header:
    """`[table]` or `[[table]]`; the next line begins at `end`."""

    path: Path
    line: int
    start: int
    end: int
    many: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int

    @property
    def blank(self) -> bool:
        return self.text.isspace() and self.text != "\n"


def scan(text: str) -> tuple[list[Entry], list[Header]]:
    """All keys and all table headers, in the order of the text."""
    scanner = _Scanner(text)
    scanner.run()
    return scanner.entries, scanner.headers


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [_Token(found[0], found.start()) for found in _TOKEN.finditer(text)]
        self._at = 0
        self.entries: list[Entry] = []
        self.headers: list[Header] = []

    def run(self) -> None:
        table: Path = ()
        while self._skip("\n", "#"):
            if self._peek() == "[":
                table = self._header()
            else:
                self._entry(table, inline=False)

    def _header(self) -> Path:
        start = self._tokens[self._at].start
        many = self._text.startswith("[[", start)
        while self._peek() == "[":
            self._at += 1
        path = self._key("]")
        while self._peek() == "]":
            self._at += 1
        while self._at < len(self._tokens) and self._peek() != "\n":
            self._at += 1
        end = self._tokens[self._at].start + 1 if self._at < len(self._tokens) else len(self._text)
        self.headers.append(Header(path, self._line(start), start, end, many))
        return path

    def _entry(self, table: Path, *, inline: bool) -> None:
        start = self._tokens[self._at].start
        path = table + self._key("=")
        self._at += 1
        self._skip()
        value = self._tokens[self._at].start
        mark = len(self.entries)
        end = self._inline_table(path) if self._peek() == "{" else self._value()
        self.entries.insert(mark, Entry(path, self._line(start), start, value, end, inline))

    def _value(self) -> int:
        """Pass over one value; where it ends."""
        end = self._tokens[self._at].start
        closing: list[str] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if not closing and (token.text in (",", "\n", "}", "]") or token.text.startswith("#")):
                break
            if token.text in _CLOSING:
                closing.append(_CLOSING[token.text])
            elif closing and token.text == closing[-1]:
                closing.pop()
            if not token.blank:
                end = token.start + len(token.text)
            self._at += 1
        return end

    def _inline_table(self, path: Path) -> int:
        self._at += 1
        while self._skip("\n", "#", ",") and self._peek() != "}":
            self._entry(path, inline=True)
        end = self._tokens[self._at].start + 1
        self._at += 1
        return end

    def _key(self, until: str) -> Path:
        """A dotted key; the token after it is `until`."""
        parts: list[str] = []
        while self._skip() and self._peek() != until:
            if self._peek() != ".":
                parts.append(_unquoted(self._peek()))
            self._at += 1
        return tuple(parts)

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _skip(self, *others: str) -> bool:
        """Past blanks, and tokens that begin so; whether anything is left."""
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if not token.blank and not (others and token.text.startswith(others)):
                return True
            self._at += 1
        return False

    def _line(self, offset: int) -> int:
        return self._text.count("\n", 0, offset) + 1


def _unquoted(key: str) -> str:
    if key[0] in "\"'":
        return str(tomllib.loads(f"key = {key}")["key"])
    return key
