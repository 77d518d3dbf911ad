"""What of an output differs from run to run or from machine to machine, replaced by what it is.

Session ids become `<id of live>` or, for sessions that a row makes, `<id 1>`, `<id 2>` in the order in which they
are seen; their first eight digits become `<id8 of live>`. Times, pids, durations, hashes, paths and versions become
`<time>`, `<pid>` and so on, by their form in text and by their key in JSON. Cells of a table are replaced by the
name of their column, and such a table is shown with two spaces between columns, because its widths vary.

What depends on the machine is reduced to its shape: `doctor` (levels and findings are the machine's: keys and
types of the JSON, one line for each form of line in the text), which harnesses are installed in which version, and the
figures of `top`, whose lines are sorted because their order is by processor time. How far a session is that `spawn` or
`restart` has just started is `<unsettled>`. A completion script that is the one in `completions/` is named, not shown.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchctl.version import VERSION
from tests.agents import kits
from tests.world import World

SCRIPTS = sorted((Path(__file__).parents[3] / "completions").iterdir())
LEASE = "0123456789abcdef0123456789abcdef"  # what rows use; it stays
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID8 = re.compile(r"(?<![\w-])[0-9a-f]{8}(?![\w-])")
_HEX = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32}|[0-9a-f]{16})(?![0-9a-f])")
_FORMS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b(pid|zygote|supervisor) \d+"), r"\1 <pid>"),
    (re.compile(r"\bviewer [0-9a-f]{8}\b"), "viewer <viewer>"),
    (re.compile(r"<pid> → \d+"), "<pid> → <pid>"),
    (re.compile(r"(?<=<pid>, for ).+"), "<duration>"),
    (re.compile(r"/shell/\w+-\w+"), "/shell/<script>"),
    (re.compile(r"(?<=was ended after )[\d.]+ s"), "<duration>"),
    (re.compile(r"(?<=/\.)(\w+)\.\d+(?=')"), r"\1.<pid>"),
    (re.compile(r"^( +\d+ +\S+ +)\d+\.\d\d(?=  )", re.MULTILINE), r"\1<duration>"),  # history
    (re.compile(r"^(uptime|cpu|memory|io|pid)( +).+$", re.MULTILINE), r"\1\2<\1>"),  # info
    (re.compile(rf"(?<![\d.]){re.escape(VERSION)}(?![\d.])"), "<version>"),
]
_COLUMNS = ("TIME", "ENDED", "SINCE", "CPU%", "MEMORY", "READ", "WRITTEN", "OUTPUT", "VERSION", "PROGRAM", "HOST")
_KEYS = {
    **dict.fromkeys(("time", "since", "created_at", "started_at", "ended_at", "expires_at", "turn_since"), "time"),
    **dict.fromkeys(("pid", "old_pid", "zygote"), "pid"),
    **dict.fromkeys(("uptime", "duration_s", "cpu", "memory", "read_bytes", "written_bytes"), "number"),
    **dict.fromkeys(("start_offset", "end_offset"), "offset"),
    "holder": "viewer",
}
# of a session that has just been started: its program may be anywhere between its beginning and its end
_UNSETTLED = (
    *("ended_at", "state", "is_alive", "exit_code", "signal", "end_reason", "output_open", "output", "processes"),
    *("cpu", "memory", "io", "waiting", "busy", "turns", "pending", "usage"),
)
_OF_A_HARNESS = ("installed", "program", "version", "is_tested")


class Normal:
    """For one world: knows the sessions in it, and numbers those that come."""

    def __init__(self, world: World, command: str) -> None:
        self._command = command
        with world.client() as client:
            self._ids = {one.id: f"of {one.name}" for one in client.list(ended_too=True)}
        self._places = [
            *((file.read_text(encoding="utf-8").rstrip("\n"), f"<completions/{file.name}>") for file in SCRIPTS),
            (world.folder, "<world>"),
            (world.env["HOME"], "<home>"),
            (kits.HERE, "<harness>"),
            (sys.executable, "<python>"),
        ]

    def text(self, text: str) -> str:
        """Words for people."""
        for place, name in self._places:
            text = text.replace(place, name)
        text = _UUID.sub(self._id, text)
        text = _ID8.sub(self._id8, text)
        text = _HEX.sub(lambda found: found[0] if found[0] == LEASE else "<hex>", text)
        text = re.sub(r"shell/b[0-9a-f]{16}\b", "shell/b<hex>", text)  # the last of a command's files
        for form, name in _FORMS:
            text = form.sub(name, text)
        return text

    def document(self, value: Any) -> Any:
        """What a line of JSON says; a schema is the same everywhere."""
        if self._command == "schema":
            return value
        if self._command == "doctor" and "findings" in value:
            return shape(value)
        if self._command == "top" and isinstance(value, list):
            value.sort(key=lambda session: str(session["name"]))
        return self._value(value)

    def _value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {self.text(name): self._reduced(value, name) for name in value}
        if isinstance(value, list):
            return [self._value(inner, key) for inner in value]
        if key in _KEYS and value is not None:
            return f"<{_KEYS[key]}>"
        return self.text(value) if isinstance(value, str) else value

    def _reduced(self, holder: dict[str, Any], name: str) -> Any:
        """A member whose value its key alone does not tell."""
        token = self._token(holder, name)
        if token is None:
            return self._value(holder[name], name)
        return dict.fromkeys(holder[name], token) if isinstance(holder[name], dict) else token

    def _token(self, holder: dict[str, Any], name: str) -> str | None:
        starting = self._command in ("spawn", "restart") and not {"is_alive", "busy"}.isdisjoint(holder)
        of_bash = holder.get("limit") == "log" or (self._command == "verify" and holder.get("sessions") != 1)
        timed = holder.get("form") in ("jsonl", "asciicast")
        tokens = {
            "<unsettled>": starting and name in _UNSETTLED,
            "<of the machine>": "is_tested" in holder and name in _OF_A_HARNESS,
            "<native>": name == "native",
            "<bytes>": (of_bash and name in ("used", "bytes")) or (timed and name == "bytes"),
            "<offset>": name == "output" and holder.get("command") == ["bash"],  # its prompts, and a path
        }
        return next((token for token, holds in tokens.items() if holds), None)

    def _id(self, found: re.Match[str]) -> str:
        if found[0] not in self._ids:
            self._ids[found[0]] = str(1 + sum(name.isdigit() for name in self._ids.values()))
        return f"<id {self._ids[found[0]]}>"

    def _id8(self, found: re.Match[str]) -> str:
        names = [name for one, name in self._ids.items() if one.startswith(found[0])]
        return f"<id8 {names[0]}>" if names else found[0]


def table(text: str) -> str:
    """With the cells of columns that vary replaced; text that has no such column stays as it is."""
    heads: list[str] = []
    made = []
    for line in text.splitlines(keepends=True):
        cells = _cells(line)
        if any(cell in _COLUMNS for cell in cells) and all(cell == cell.upper() for cell in cells):
            heads = cells
        if heads and len(cells) >= len(heads):
            pairs = zip(heads, _cells(line, len(heads)), strict=True)
            shown = [f"<{head.lower()}>" if head in _COLUMNS and cell != head else cell for head, cell in pairs]
            made.append("  ".join(shown) + "\n")
        else:
            made.append(line)
    return "".join(made)


def _cells(line: str, count: int = 0) -> list[str]:
    """Of a table; the last of them may itself have wide gaps."""
    return re.split(r" {2,}", line.strip("\n"), maxsplit=max(0, count - 1))


def shape(value: Any) -> Any:
    """Keys and types; of a list, those that any of its members has."""
    if isinstance(value, dict):
        return {name: "<str or null>" if name == "fix" else shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        members = {json.dumps(shape(inner)) for inner in value}
        return [json.loads(member) for member in sorted(members)]
    return f"<{type(value).__name__}>"


def shape_of_doctor(text: str) -> str:
    """One line for each form of line; not every machine has a finding with a command that helps."""
    text = re.sub(r"^(ok|note|warning|problem) +\S+ +.*$", "<level> <check> <what>", text, flags=re.MULTILINE)
    text = re.sub(r"^ +→ .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"(\w+s): \d+", r"\1: <int>", text)
    text = re.sub(r"^\d+$", "<int>", text, flags=re.MULTILINE)
    return "".join(dict.fromkeys(text.splitlines(keepends=True)))


def shape_of_top(text: str) -> str:
    """Below the head, in order; without figures where a template shows nothing else."""
    head, *lines = re.sub(r"^\d+\.\d+$", "<number>", text, flags=re.MULTILINE).splitlines(keepends=True) or [""]
    return "".join([head, *sorted(lines)])


def _named(what: str, form: str) -> Callable[[str], str]:
    """A number that stands in a line of that form becomes `<what>`."""
    return lambda text: re.sub(form, rf"\g<1><{what}>\2", text, flags=re.MULTILINE)


REDUCED: dict[str, Callable[[str], str]] = {
    "doctor": shape_of_doctor,
    "top": shape_of_top,
    "export": _named("bytes", r"^()\d+()$"),
    "verify": _named("bytes", r"^(.* bytes of output: )\d+(, .*)$"),
    "limits": _named("bytes", r"^(user(?: +log +\S+ +|:))(?!\d(?: |$))[0-9.]+\w*(.*)$"),
    **dict.fromkeys(("supervisor start", "supervisor status", "supervisor restart"), _named("pid", r"^()\d+()$")),
}
