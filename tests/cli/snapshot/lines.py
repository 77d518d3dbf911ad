"""Which command lines a snapshot has: every row of the table in each form of output, and as an error.

    text     the row as it is
    --json   the row with `--json`, unless it asks for a form of output itself
    -q       the same with `-q`
    errors   the row with a session that does not exist in place of those it names; rows that name none are one
             line with an option that does not exist. All of them as text, then all of them with `--json`.

The rows of a form run one after another in one world, in the order of the table, because some of them prepare
others. The text has a world of its own, the other forms share one: what a form finds there is what those before it
left, the same each time. A line that a part before has is not run again.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

import click

from orchctl.cli.main import COMMANDS, cli
from tests.cli.surface import GLOBAL, TABLE
from tests.cli.surface.row import Row
from tests.cli.surface.scene import AGENTS, NAMES

TEXT, JSON, QUIET, ERRORS = "text", "--json", "-q", "errors"
FORMS = (TEXT, JSON, QUIET, ERRORS)
EVERY = ["global", *TABLE]
# nothing that they do can be seen afterwards: all of them share one world
READERS = frozenset(
    [
        "global",
        "list",
        "info",
        "top",
        "tail",
        "history",
        "wait",
        "expect",
        "search",
        "screen",
        "export",
        "attach",
        "verify",
        "lease show",
        "lease transfer",
        "config show",
        "config get",
        "config check",
        "harness list",
        "completion",
        "schema",
        "doctor",
        "supervisor status",
    ]
)
# their rows use up what they act upon: `-q` would find nothing left, so it has a world of its own
SPENDERS = frozenset(["exec", "kill", "lease take", "supervisor stop"])
_OUTPUT = {"--json": 1, "-q": 1, "--quiet": 1, "--template": 2}  # how many words each takes
_SESSION = re.compile(r"(?<!\{)\{(" + "|".join((*NAMES, "live_id")) + r")\}")


def _leaves(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for inner in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), inner)
            assert found is not None
            yield from _leaves(f"{name} {inner}", found)
    else:
        yield name, command


@functools.cache
def commands() -> dict[str, click.Command]:
    """Every command that is no group, by its name of one or two words."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        found |= dict(_leaves(name, command))
    return found


def options(command: click.Command) -> set[str]:
    """All names of all its options."""
    known = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    return {name for option in known for name in (*option.opts, *option.secondary_opts)}


def groups() -> list[str]:
    """What has a `--help` of its own and is no command; the first is orchctl itself."""
    return ["", *dict.fromkeys(name.rpartition(" ")[0] for name in TABLE if " " in name)]


def rows(name: str) -> list[Row]:
    """Those of the table."""
    return GLOBAL if name == "global" else TABLE[name]


def speaks_of_agents(name: str) -> bool:
    """Whether the rows need agents to be there."""
    return any(f"{{{agent}}}" in row.line for row in rows(name) for agent in AGENTS)


def lines(name: str, form: str) -> list[Row]:
    """The command lines of one form. The status that a row names is that of its text."""
    if form == TEXT:
        return list(rows(name))
    if form == ERRORS:
        found = list(dict.fromkeys([*_errors(name, []), *_errors(name, ["--json"])]))
    else:
        found = [made for row in rows(name) if (made := _in_form(name, row, form)) is not None]
    known = {row.line for other in FORMS[: FORMS.index(form)] for row in lines(name, other)}
    return [row for row in found if row.line not in known or _prepares(name, row)]


def _in_form(name: str, row: Row, form: str) -> Row | None:
    """With that option after the command's name; a row that only prepares another stays what it is."""
    if _prepares(name, row):
        return row
    at, words = _after(name, row), shlex.split(row.line)
    if at is None or not _OUTPUT.keys().isdisjoint(words):
        return None
    return replace(row, line=_joined([*words[:at], form, *words[at:]]))


def _prepares(name: str, row: Row) -> bool:
    """Whether it is the line of another command, for what comes after it."""
    return name != "global" and not row.line.startswith(name)


def _errors(name: str, form: list[str]) -> Iterator[Row]:
    for row in rows(name):
        at = _after(name, row)
        if at is None:
            continue
        words = shlex.split(row.line)
        before, rest = words[:at], _formless(words[at:])
        named = bool(_SESSION.search(row.line + (row.stdin or "")))
        if named:
            rest = [_SESSION.sub("nobody", word) for word in rest]
        stdin = row.stdin and _SESSION.sub("nobody", row.stdin)
        wrong = rest if named else ["--no-such-option"]
        yield Row(_joined([*before, *form, *wrong]), stdin=stdin if named else None)


def _after(name: str, row: Row) -> int | None:
    """Where options of the command may stand; None where it has no forms."""
    words = shlex.split(row.line)
    if name == "global":
        return len(words) if words[-1] == "list" else None
    own = name.split()
    return len(own) if words[: len(own)] == own and "--json" in options(commands()[name]) else None


def _formless(words: list[str]) -> list[str]:
    found, at = [], 0
    while at < len(words):
        if words[at] not in _OUTPUT:
            found.append(words[at])
        at += _OUTPUT.get(words[at], 1)
    return found


def _joined(words: list[str]) -> str:
    """A line that gives these words; braces of placeholders need no quotes."""
    return " ".join(word if re.fullmatch(r"[\w{}./:=,@%+-]+", word) else shlex.quote(word) for word in words)
