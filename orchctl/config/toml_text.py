"""Where each key of a TOML text stands: the line that an error names, which neither tomllib nor tomlkit tells.

It reads text that tomllib has accepted, so it checks nothing: it passes over values and keeps the paths of keys and
tables with their lines. Keys of tables inside of an array are passed over as well.
"""

from __future__ import annotations

import re
import tomllib

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


def locate(text: str) -> dict[Path, int]:
    """The line, from 1, of every key and every table header; of one that is there several times, the first."""
    lines: dict[Path, int] = {}
    table: Path = ()  # of the last header
    path: Path = ()  # of the last key
    parts: list[str] | None = []  # of the key that is being read; None in a value, and behind a header
    brackets: list[Path | None] = []  # that are open in a value: the path of an inline table, None for an array
    following = 1
    for piece in _TOKEN.findall(text):
        line, following = following, following + piece.count("\n")
        if piece[0] == "#" or (piece.isspace() and piece != "\n"):
            continue
        if piece == "\n":
            parts = parts if brackets else []
        elif piece == "}" or (piece == "]" and brackets):
            brackets.pop()
            parts = None
        elif parts is None:
            if piece in ("[", "{"):
                inside = piece == "{" and None not in brackets
                brackets.append(path if inside else None)
                parts = [] if inside else None
            elif piece == "," and brackets and brackets[-1] is not None:
                parts = []
        elif piece in ("=", "]"):
            above = brackets[-1] if brackets else table
            path = (*(above or ()), *parts) if piece == "=" else tuple(parts)
            table = path if piece == "]" else table
            lines.setdefault(path, line)
            parts = None
        elif piece not in (".", "["):
            parts.append(_unquoted(piece))
    return lines


def _unquoted(key: str) -> str:
    return str(tomllib.loads(f"key = {key}")["key"]) if key[0] in "\"'" else key
