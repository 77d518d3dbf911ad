"""Whether to use colour, and which. By NO_COLOR, FORCE_COLOR, TERM and `--color`; the flag wins."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

CHOICES = ("auto", "always", "never")
PREFIXES = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # for one session each: readable on dark and on light
STATES = {"live": 32, "bootstrapping": 33, "idle": 33, "closed": 90}
BAD = 31


def wanted(choice: str, environ: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether output may have colour of ours."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and environ.get("TERM", "dumb") not in ("dumb", "")


def paint(text: str, colour: int | None, *, on: bool) -> str:
    """`text` in a colour."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and colour is not None else text


def on_stdout(choice: str) -> bool:
    """For this process's stdout."""
    return wanted(choice, os.environ, terminal=is_terminal(1))


def is_terminal(fd: int) -> bool:
    """Also when the descriptor is closed."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def width() -> int:
    """Columns of the terminal; wide enough to cut nothing where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 1 << 30
