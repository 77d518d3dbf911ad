"""Which words of a command line are orchctl's own, and which belong to the COMMAND it is to run.

Needed where nothing could be parsed: a usage error must know whether the exit code is a program's own, and
whether somebody wants JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

_GLOBAL_WITH_VALUE = ("--host", "--color")
TAKE_A_COMMAND = ("spawn", "exec")
# commands that give a program's own exit code, and the options that make them do so
_PASS_THROUGH = {"spawn": ("--wait", "--follow", "--attach"), "tail": ("--exit-status",)}


def leading_options(command: click.Command, words: Sequence[str]) -> int:
    """How many of the first words are options and their values."""
    valued = {
        name for param in command.params if isinstance(param, click.Option) and not param.is_flag for name in param.opts
    }
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in valued else 1
    return min(at, len(words))


def own(words: Sequence[str], find: Callable[[str], click.Command | None]) -> tuple[str, list[str]]:
    """The command's name, and the words after it that are not a COMMAND's."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL_WITH_VALUE else 1
    name, rest = (words[at], list(words[at + 1 :])) if at < len(words) else ("", [])
    command = find(name) if name in TAKE_A_COMMAND else None
    if command is None:
        return name, rest
    first = leading_options(command, rest)
    if name == "exec":  # its options may stand after SESSION too
        return name, rest[: first + 1 + leading_options(command, rest[first + 1 :])]
    return name, rest[:first]


def passes_through(name: str, words: Sequence[str]) -> bool:
    """Whether a command with these words ends with a program's own exit code."""
    if name in ("exec", "attach"):
        return True
    if name == "wait":
        return _waits_for_one_exit(words)
    return any(word in _PASS_THROUGH.get(name, ()) for word in words)


def _waits_for_one_exit(words: Sequence[str]) -> bool:
    sessions, at = 0, 0
    while at < len(words):
        word = words[at]
        if word == "--for" or word.startswith("--for="):
            what = words[at + 1 : at + 2] if word == "--for" else [word[6:]]
            if what != ["exit"]:
                return False
        elif word in ("-m", "--manager", "-l", "--label", "--repo", "--all", "--any", "-") or word.startswith("@"):
            if word != "@last":
                return False
            sessions += 1
        elif not word.startswith("-"):
            sessions += 1
        at += 2 if word in ("--for", "--timeout", "--template", "--since") else 1
    return sessions <= 1
