"""Run work in terminals and agent harnesses that outlive you.

The public library is what `__all__` lists; everything else may change. Names load on first use,
so that one command pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchctl.version import VERSION

__version__ = VERSION
__all__ = ["Chunk", "Client", "Command", "OrchctlError", "Result", "Session", "SessionHandle", "__version__"]

if TYPE_CHECKING:
    from orchctl.client.client import Client
    from orchctl.client.handle import SessionHandle
    from orchctl.errors import OrchctlError
    from orchctl.model.command import Command, Result
    from orchctl.model.session import Session
    from orchctl.model.stream import Chunk

_HOMES = {
    "Chunk": "orchctl.model.stream",
    "Client": "orchctl.client.client",
    "Command": "orchctl.model.command",
    "OrchctlError": "orchctl.errors",
    "Result": "orchctl.model.command",
    "Session": "orchctl.model.session",
    "SessionHandle": "orchctl.client.handle",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'orchctl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
