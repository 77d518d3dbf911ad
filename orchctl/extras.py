"""Optional parts of orchctl: the modules each part needs, and the command that installs them beside orchctl.

An extra exists when a feature uses it; pyproject.toml declares the same requirements. The command names the
interpreter that runs orchctl: a plain `pip install` would install into whatever environment happens to be active.
"""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

MODULES = {"screen": ("pyghostty",)}
REQUIREMENTS = {"screen": "pyghostty>=0.1.3,<0.2"}


def missing(extra: str) -> list[str]:
    """Return the modules of `extra` that are not installed."""
    return [name for name in MODULES[extra] if find_spec(name) is None]


def install_command(extra: str) -> str:
    """Return the command that installs `extra`; environments made by uv have no pip of their own."""
    installer = (
        [sys.executable, "-m", "pip", "install"]
        if find_spec("pip") is not None
        else ["uv", "pip", "install", "--python", sys.executable]
    )
    return shlex.join([*installer, REQUIREMENTS[extra]])
