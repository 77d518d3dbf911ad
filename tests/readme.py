"""README as data: its blocks, the commands in them, and whether what is printed is what stands there.

Ids, times and the home directory may be others, `…` stands for anything in a line, and a line that is just `…` for any
number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
HOME = "/home/me"  # as the README calls it
SAME = [
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "SESSION-ID"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8}\b"), "SHORT-ID"),
    (re.compile(r"\b\d+\.\d+( s)?\b"), "SECONDS"),
    (re.compile(r"\b\d+s\b"), "SECONDS"),
    (re.compile(r"\b\d{2}:\d{2}:\d{2}(\.\d+)?\b"), "CLOCK"),
    (re.compile(r"\b(sessions|bytes of output): \d+"), r"\1: COUNT"),
    (re.compile(r"[ \t]+"), " "),
]


@dataclass(frozen=True)
class Block:
    """What stands between two fences; `line` is its first one's number."""

    kind: str
    line: int
    text: str


def blocks(kind: str) -> list[Block]:
    """All of one kind, in order."""
    found, text = [], README.read_text()
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if match[1] == kind:
            found.append(Block(kind, text[: match.start(2)].count("\n") + 1, match[2]))
    return found


def commands(block: Block) -> Iterator[tuple[int, str, list[str]]]:
    """Line number, command, and the lines that stand below it; a command goes on over lines that begin with `> `."""
    if block.kind == "sh":  # nothing stands below its lines
        yield from ((number, text, []) for number, text in enumerate(block.text.splitlines(), block.line))
        return
    line, command, shown = 0, "", list[str]()
    for number, text in enumerate(block.text.splitlines(), block.line):
        if text.startswith("$ "):
            if command:
                yield line, command, shown
            line, command, shown = number, text[2:], []
        elif text.startswith("> ") and not shown:
            command += "\n" + text[2:]
        else:
            shown.append(text)
    assert command, f"line {block.line}: a console block without a command"
    yield line, command, shown


def _same(text: str, home: str) -> str:
    """Without what differs from run to run."""
    text = text.replace(home, HOME)
    for pattern, word in SAME:
        text = pattern.sub(word, text)
    return "\n".join(line.strip() for line in text.splitlines())


def fits(printed: str, shown: list[str], home: str) -> bool:
    pattern = ""
    for line in shown:
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in _same(line, home).split("…")) + r"\n"
    text = _same(printed, home)
    return re.fullmatch(pattern, text + "\n" if text else "") is not None
