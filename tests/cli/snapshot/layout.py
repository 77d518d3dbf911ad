"""How a snapshot is written: plain text that a person can read, and that differs in few lines when little changes.

A file has one part for each form, and a part one block for each command line: the line after `$`, its exit code,
and what it printed, each line after two spaces. Lines that follow each other and give the same are one block. JSON is
shown over several lines where one would be long; `stdout, 2 lines of JSON` says how it was printed. A block whose
output is long, and which an earlier block of its part has shown already, names that one instead.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

WIDTH = 110
LONG = 8  # lines: less is quicker read than looked up


def laid_out(value: Any, indent: str = "") -> str:
    """JSON on one line if it is short, else with its members on lines that they fill."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) <= WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + " "
    if isinstance(value, dict):
        members = [f"{json.dumps(name)}: {laid_out(one, inner)}" for name, one in value.items()]
        return f"{{\n{_filled(members, inner)}\n{indent}}}"
    return f"[\n{_filled([laid_out(one, inner) for one in value], inner)}\n{indent}]"


def _filled(members: list[str], indent: str) -> str:
    """What has several lines stands on lines of its own."""
    lines = [indent + members[0]]
    for before, member in itertools.pairwise(members):
        if "\n" in before + member or len(lines[-1]) + len(member) + 3 > WIDTH:
            lines[-1] += ","
            lines.append(indent + member)
        else:
            lines[-1] += f", {member}"
    return "\n".join(lines)


def visible(text: str) -> str:
    """With control characters as escapes, but for the end of a line and what is printable."""
    return "".join(one if one in "\n\t" or one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def stream(name: str, text: str) -> list[str]:
    """What came on one stream; nothing if nothing did."""
    if not text:
        return []
    end = "" if text.endswith("\n") else ", without a newline at its end"
    return [f"{name}{end}:", *(f"  {line}".rstrip() for line in visible(text).split("\n")[: None if end else -1])]


class Part:
    """One form's blocks."""

    def __init__(self, form: str) -> None:
        self._made = [f"==== {form} ===="]
        self._shown: dict[tuple[str, ...], str] = {}
        self._last: tuple[str, ...] = ()

    def block(self, line: str, status: int, streams: list[str]) -> None:
        """One command line and how it ended."""
        body = (f"[exit {status}]", *streams)
        if body == self._last:
            self._made.insert(-len(self._printed(body)), f"$ {line}")
            return
        self._made += ["", f"$ {line}", *self._printed(body)]
        self._last = body
        if len(body) > LONG:
            self._shown.setdefault(body, line)

    def _printed(self, body: tuple[str, ...]) -> tuple[str, ...]:
        return body if body not in self._shown else (body[0], f"as above: $ {self._shown[body]}")

    def text(self) -> str:
        """All of it."""
        return "\n".join(self._made) + "\n"


def parts(text: str) -> dict[str, str]:
    """A file's parts, by form."""
    _, *found = re.split(r"^==== (\S+) ====\n", text, flags=re.MULTILINE)
    return {
        form: f"==== {form} ====\n{body}".rstrip("\n") + "\n"
        for form, body in zip(found[::2], found[1::2], strict=True)
    }
