"""Which harnesses there are. A backend is imported when it is used."""

from __future__ import annotations

import importlib

from orchctl.agents.interface import Harness
from orchctl.errors import BadInput

_PACKAGES = {
    "acp": "orchctl.agents.acp",
    "claude": "orchctl.agents.claude",
    "codex": "orchctl.agents.codex",
    "opencode": "orchctl.agents.opencode",
    "scripted": "orchctl.agents.scripted",
}
SHOWN = ("acp", "claude", "codex", "opencode")  # `scripted` is for whoever writes a backend


def names() -> tuple[str, ...]:
    """What `spawn -b` takes, beside `pty` and `pipe`."""
    return tuple(_PACKAGES)


def find(name: str) -> Harness:
    """The harness of that name."""
    if name not in _PACKAGES:
        raise BadInput(f"there is no harness {name!r}; there are {', '.join(SHOWN)}", code="bad-backend")
    harness: Harness = importlib.import_module(_PACKAGES[name]).HARNESS
    return harness
