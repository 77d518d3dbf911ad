"""Run work in terminals and agent harnesses that outlive you.

The public library is what `__all__` lists; everything else may change. Names load on first use,
so that one command pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchctl.version import VERSION

__version__ = VERSION
__all__ = [
    "AsyncClient",
    "AsyncCommandStream",
    "AsyncEventStream",
    "AsyncOutputStream",
    "AsyncSearchStream",
    "AsyncSessionHandle",
    "AsyncSeveralOutputs",
    "Chunk",
    "Client",
    "Command",
    "CommandStatus",
    "CommandStream",
    "Count",
    "EndReason",
    "EventStream",
    "Expected",
    "Gap",
    "Happened",
    "KillReport",
    "Lease",
    "LeaseState",
    "Line",
    "Options",
    "OrchctlError",
    "Output",
    "OutputStream",
    "Pruned",
    "Reader",
    "RestartReport",
    "Result",
    "Screen",
    "SearchStream",
    "Selection",
    "Session",
    "SessionHandle",
    "SessionSpawn",
    "SeveralOutputs",
    "Size",
    "State",
    "SupervisorStatus",
    "Traffic",
    "Viewer",
    "Waiting",
    "__version__",
    "errors",
]

if TYPE_CHECKING:
    from orchctl import errors
    from orchctl.client.aio.client import AsyncClient
    from orchctl.client.aio.streams import (
        AsyncCommandStream,
        AsyncEventStream,
        AsyncOutputStream,
        AsyncSearchStream,
        AsyncSessionHandle,
        AsyncSeveralOutputs,
    )
    from orchctl.client.blocking import Client
    from orchctl.client.exec import CommandStream, Options
    from orchctl.client.handle import SessionHandle
    from orchctl.client.pexpect import SessionSpawn
    from orchctl.client.several import Reader, SeveralOutputs
    from orchctl.client.streams import EventStream, OutputStream
    from orchctl.client.workers import SearchStream
    from orchctl.errors import OrchctlError
    from orchctl.protocol.messages.lease import LeaseState
    from orchctl.protocol.messages.output import Pruned
    from orchctl.session.command import Command, CommandStatus, Result
    from orchctl.session.lease_state import Lease, Viewer
    from orchctl.session.model import (
        EndReason,
        Expected,
        Happened,
        KillReport,
        Output,
        RestartReport,
        Selection,
        Session,
        State,
        SupervisorStatus,
        Traffic,
        Waiting,
    )
    from orchctl.session.search import Count, Line, Screen, Size
    from orchctl.session.stream import Chunk, Gap

_HOMES = {
    "AsyncClient": "orchctl.client.aio.client",
    "AsyncCommandStream": "orchctl.client.aio.streams",
    "AsyncEventStream": "orchctl.client.aio.streams",
    "AsyncOutputStream": "orchctl.client.aio.streams",
    "AsyncSearchStream": "orchctl.client.aio.streams",
    "AsyncSessionHandle": "orchctl.client.aio.streams",
    "AsyncSeveralOutputs": "orchctl.client.aio.streams",
    "Chunk": "orchctl.session.stream",
    "Client": "orchctl.client.blocking",
    "Command": "orchctl.session.command",
    "CommandStatus": "orchctl.session.command",
    "CommandStream": "orchctl.client.exec",
    "Count": "orchctl.session.search",
    "EndReason": "orchctl.session.model",
    "EventStream": "orchctl.client.streams",
    "Expected": "orchctl.session.model",
    "Gap": "orchctl.session.stream",
    "Happened": "orchctl.session.model",
    "KillReport": "orchctl.session.model",
    "Lease": "orchctl.session.lease_state",
    "LeaseState": "orchctl.protocol.messages.lease",
    "Line": "orchctl.session.search",
    "Options": "orchctl.client.exec",
    "OrchctlError": "orchctl.errors",
    "Output": "orchctl.session.model",
    "OutputStream": "orchctl.client.streams",
    "Pruned": "orchctl.protocol.messages.output",
    "Reader": "orchctl.client.several",
    "RestartReport": "orchctl.session.model",
    "Result": "orchctl.session.command",
    "Screen": "orchctl.session.search",
    "SearchStream": "orchctl.client.workers",
    "Selection": "orchctl.session.model",
    "Session": "orchctl.session.model",
    "SessionHandle": "orchctl.client.handle",
    "SessionSpawn": "orchctl.client.pexpect",
    "SeveralOutputs": "orchctl.client.several",
    "Size": "orchctl.session.search",
    "State": "orchctl.session.model",
    "SupervisorStatus": "orchctl.session.model",
    "Traffic": "orchctl.session.model",
    "Viewer": "orchctl.session.lease_state",
    "Waiting": "orchctl.session.model",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "errors":
        return import_module("orchctl.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'orchctl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
