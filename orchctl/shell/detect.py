"""Which commands are just a shell, which kind of shell that is, and the kinds there are."""

from __future__ import annotations

from collections.abc import Sequence

from orchctl.shell import options
from orchctl.shell.base import Shell
from orchctl.shell.bash import Bash
from orchctl.shell.fish import Fish
from orchctl.shell.posix import BUSYBOX, DASH, KSH93, MKSH
from orchctl.shell.zsh import Zsh

_KINDS: dict[str, Shell] = {one.name: one for one in (Bash(), Zsh(), Fish(), DASH, BUSYBOX, KSH93, MKSH)}
# Programs by their file's name; `sh` is whatever the file really is.
_PROGRAMS = {
    "bash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "dash": "dash",
    "ksh": "ksh93",
    "ksh93": "ksh93",
    "mksh": "mksh",
    "ash": "busybox",
    "busybox": "busybox",
}
_APPLETS = ("sh", "ash")


def known(command: Sequence[str], real_name: str | None = None) -> str | None:
    """The shell's kind, if `command` is nothing but a shell at a prompt, with or without options.

    `real_name` is what the file is called after all links: on one system `sh` is dash, on another bash.
    """
    name = command[0].rpartition("/")[2].removeprefix("-") if command else ""
    rest = tuple(command[1:])
    if name == "busybox" and rest[:1] in tuple((applet,) for applet in _APPLETS):
        rest = rest[1:]
    elif name == "busybox":
        return None
    kind = _kind(name, real_name)
    return kind if kind in _KINDS and options.parse(kind, rest) is not None else None


def _kind(name: str, real_name: str | None) -> str | None:
    if name == "sh":  # one that is only itself gets what every sh has; zsh as sh reads none of the files it has as zsh
        return "dash" if real_name == "sh" else _PROGRAMS.get(real_name or "") if real_name != "zsh" else None
    return _PROGRAMS.get(real_name or "", _PROGRAMS[name]) if name in _PROGRAMS else None


def named(kind: str) -> Shell:
    """A kind by its name; one that a later version wrote down is treated as a bash."""
    return _KINDS.get(kind, _KINDS["bash"])
