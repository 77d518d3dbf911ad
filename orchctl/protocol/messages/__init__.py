"""Every message, written once for both ends. Units are in the names; new fields have defaults and
old ones are never renamed or reused.

`session` is what the user typed (id, name, prefix, @last); the supervisor resolves it, with
`own_manager`, the manager of whoever asks.

They are in modules by subject, which are imported when one of theirs is first used: most commands need one or two.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchctl.protocol.messages.agents import GetPending, ListHarnesses, ReplyTo, SomeHarnesses, SomePending
    from orchctl.protocol.messages.every import Answer, Message, Request
    from orchctl.protocol.messages.exec import (
        CommandBegins,
        CommandEnds,
        CommandInterrupted,
        CommandWaits,
        DetachCommand,
        ExecCommand,
        GetHistory,
        InterruptCommand,
        PutSpool,
        SomeCommands,
    )
    from orchctl.protocol.messages.input import ControlSession, InterruptSession, SendInput
    from orchctl.protocol.messages.lease import (
        GetLease,
        LeaseNews,
        LeaseState,
        OpenView,
        ReleaseLease,
        TakeLease,
        TransferLease,
    )
    from orchctl.protocol.messages.output import (
        AckOutput,
        Prune,
        Pruned,
        ReadEvents,
        ReadOutput,
        SomeEvents,
        StreamBegins,
        StreamCommand,
        StreamEnds,
        StreamGap,
        StreamSnapshot,
        StreamTime,
    )
    from orchctl.protocol.messages.sessions import (
        Done,
        Failed,
        GetSession,
        KillByManager,
        Killed,
        KillSessions,
        LabelSession,
        ListSessions,
        OneSession,
        RenameSession,
        RestartSession,
        SelectSessions,
        SomeSessions,
        SpawnSession,
        WaitSession,
    )
    from orchctl.protocol.messages.supervisor import GetStatus, RestartSupervisor, Status, StopSupervisor
    from orchctl.protocol.messages.wait import Fired, GetTerminal, TerminalModes, WaitFor

__all__ = [
    "AckOutput",
    "Answer",
    "CommandBegins",
    "CommandEnds",
    "CommandInterrupted",
    "CommandWaits",
    "ControlSession",
    "DetachCommand",
    "Done",
    "ExecCommand",
    "Failed",
    "Fired",
    "GetHistory",
    "GetLease",
    "GetPending",
    "GetSession",
    "GetStatus",
    "GetTerminal",
    "InterruptCommand",
    "InterruptSession",
    "KillByManager",
    "KillSessions",
    "Killed",
    "LabelSession",
    "LeaseNews",
    "LeaseState",
    "ListHarnesses",
    "ListSessions",
    "Message",
    "OneSession",
    "OpenView",
    "Prune",
    "Pruned",
    "PutSpool",
    "ReadEvents",
    "ReadOutput",
    "ReleaseLease",
    "RenameSession",
    "ReplyTo",
    "Request",
    "RestartSession",
    "RestartSupervisor",
    "SelectSessions",
    "SendInput",
    "SomeCommands",
    "SomeEvents",
    "SomeHarnesses",
    "SomePending",
    "SomeSessions",
    "SpawnSession",
    "Status",
    "StopSupervisor",
    "StreamBegins",
    "StreamCommand",
    "StreamEnds",
    "StreamGap",
    "StreamSnapshot",
    "StreamTime",
    "TakeLease",
    "TerminalModes",
    "TransferLease",
    "WaitFor",
    "WaitSession",
]
_NAMES = {
    "agents": (
        "GetPending",
        "ListHarnesses",
        "ReplyTo",
        "SomeHarnesses",
        "SomePending",
    ),
    "every": (
        "Answer",
        "Message",
        "Request",
    ),
    "exec": (
        "CommandBegins",
        "CommandEnds",
        "CommandInterrupted",
        "CommandWaits",
        "DetachCommand",
        "ExecCommand",
        "GetHistory",
        "InterruptCommand",
        "PutSpool",
        "SomeCommands",
    ),
    "input": (
        "ControlSession",
        "InterruptSession",
        "SendInput",
    ),
    "lease": (
        "GetLease",
        "LeaseNews",
        "LeaseState",
        "OpenView",
        "ReleaseLease",
        "TakeLease",
        "TransferLease",
    ),
    "output": (
        "AckOutput",
        "Prune",
        "Pruned",
        "ReadEvents",
        "ReadOutput",
        "SomeEvents",
        "StreamBegins",
        "StreamCommand",
        "StreamEnds",
        "StreamGap",
        "StreamSnapshot",
        "StreamTime",
    ),
    "sessions": (
        "Done",
        "Failed",
        "GetSession",
        "KillByManager",
        "KillSessions",
        "Killed",
        "LabelSession",
        "ListSessions",
        "OneSession",
        "RenameSession",
        "RestartSession",
        "SelectSessions",
        "SomeSessions",
        "SpawnSession",
        "WaitSession",
    ),
    "supervisor": (
        "GetStatus",
        "RestartSupervisor",
        "Status",
        "StopSupervisor",
    ),
    "wait": (
        "Fired",
        "GetTerminal",
        "TerminalModes",
        "WaitFor",
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'orchctl.protocol.messages' has no attribute {name!r}")
    found = getattr(import_module(f"orchctl.protocol.messages.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def imported() -> list[type[Any]]:
    """The messages of the subjects that were used by now: who asks about one gets answers about it."""
    homes = {home: sys.modules.get(f"{__name__}.{home}") for home in _NAMES if home != "every"}
    return [getattr(homes[home], name) for name, home in _HOMES.items() if homes.get(home) is not None]
