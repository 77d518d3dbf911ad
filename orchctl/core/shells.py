"""Which commands are just a shell, and one that can tell its prompts."""

from __future__ import annotations

from collections.abc import Sequence

_PLAIN = ((), ("-i",))
_LOGIN = (("-l",), ("--login",), ("-li",), ("-il",), ("-l", "-i"), ("-i", "-l"))


def known(command: Sequence[str]) -> str | None:
    """The shell's kind, if `command` is nothing but a shell that can be integrated."""
    name = command[0].rpartition("/")[2] if command else ""
    rest = tuple(command[1:])
    return name if name == "bash" and rest in _PLAIN + _LOGIN else None


def is_login(command: Sequence[str]) -> bool:
    """Whether it is asked for as a login shell."""
    return tuple(command[1:]) in _LOGIN
