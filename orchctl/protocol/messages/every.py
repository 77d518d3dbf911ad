"""Every message at once: what a peer may ask, and what it may answer."""

from __future__ import annotations

from orchctl.protocol.messages.agents import GetPending, ListHarnesses, ReplyTo, SomeHarnesses, SomePending
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

Request = (
    SpawnSession
    | ListSessions
    | SelectSessions
    | RenameSession
    | LabelSession
    | GetSession
    | WaitSession
    | ReadOutput
    | AckOutput
    | ReadEvents
    | Prune
    | SendInput
    | InterruptSession
    | ControlSession
    | RestartSession
    | KillSessions
    | KillByManager
    | ExecCommand
    | PutSpool
    | DetachCommand
    | InterruptCommand
    | GetHistory
    | WaitFor
    | GetTerminal
    | OpenView
    | TakeLease
    | ReleaseLease
    | TransferLease
    | GetLease
    | GetPending
    | ReplyTo
    | ListHarnesses
    | GetStatus
    | StopSupervisor
    | RestartSupervisor
)
Answer = (
    Done
    | Failed
    | OneSession
    | SomeSessions
    | CommandBegins
    | CommandInterrupted
    | CommandWaits
    | CommandEnds
    | SomeCommands
    | Fired
    | TerminalModes
    | LeaseNews
    | LeaseState
    | Killed
    | Status
    | StreamBegins
    | StreamSnapshot
    | StreamGap
    | StreamTime
    | StreamCommand
    | StreamEnds
    | SomeEvents
    | SomePending
    | SomeHarnesses
    | Pruned
)
Message = Request | Answer
