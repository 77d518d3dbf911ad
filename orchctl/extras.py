"""Parts of orchctl that may be there or not: extras, and backends of agents inside the package and outside.

An extra exists when a feature uses it; pyproject.toml declares the same requirements. The command names the
interpreter that runs orchctl: a plain `pip install` would install into whatever environment happens to be active.

A backend inside is a folder of `orchctl/agents/`; adding one touches nothing else. One outside is named by an entry
point of the group `orchctl.agents`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MODULES = {"screen": ("pyghostty",)}
REQUIREMENTS = {"screen": "pyghostty>=0.1.3,<0.2"}
AGENTS_GROUP = "orchctl.agents"
_HIDDEN = ("scripted",)  # an agent for whoever writes a backend
_AGENTS = f"{os.path.dirname(os.path.abspath(__file__))}/agents"


def missing(extra: str) -> list[str]:
    """Return the modules of `extra` that are not installed."""
    from importlib.util import find_spec

    return [name for name in MODULES[extra] if find_spec(name) is None]


def install_command(extra: str) -> str:
    """Return the command that installs `extra`; environments made by uv have no pip of their own."""
    import shlex
    from importlib.util import find_spec

    installer = (
        [sys.executable, "-m", "pip", "install"]
        if find_spec("pip") is not None
        else ["uv", "pip", "install", "--python", sys.executable]
    )
    return shlex.join([*installer, REQUIREMENTS[extra]])


def agents_inside(*, hidden: bool = False) -> list[str]:
    """Return the names of the backends that are folders of this package."""
    found = sorted(entry.name for entry in os.scandir(_AGENTS) if entry.is_dir() and entry.name[0] != "_")
    return [name for name in found if hidden or name not in _HIDDEN]


def agents_outside() -> dict[str, EntryPoint]:
    """Return the backends of other packages by name. Slow: it looks at every installed package."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in sorted(entry_points(group=AGENTS_GROUP), key=lambda one: one.name)}
