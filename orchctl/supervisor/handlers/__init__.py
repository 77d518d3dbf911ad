"""The verbs: an explicit table from message to handler. What is not in it does not exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.handlers import (
    agents,
    commands,
    control,
    events,
    inputs,
    kept,
    kills,
    labels,
    leases,
    output,
    sessions,
    status,
    waiting,
)

Handler = Callable[[Supervisor, Call, Any], Awaitable[None]]

HANDLERS: dict[type[Any], Handler] = {
    messages.SpawnSession: sessions.spawn,
    messages.ListSessions: sessions.list_sessions,
    messages.SelectSessions: sessions.select,
    messages.RenameSession: labels.rename,
    messages.LabelSession: labels.label,
    messages.GetSession: sessions.get,
    messages.WaitSession: sessions.wait,
    messages.ReadOutput: output.read,
    messages.AckOutput: output.ack,
    messages.ReadEvents: events.read_events,
    messages.Prune: kept.prune,
    messages.SendInput: inputs.send,
    messages.InterruptSession: inputs.interrupt,
    messages.ExecCommand: commands.exec_command,
    messages.PutSpool: commands.put_spool,
    messages.DetachCommand: commands.detach,
    messages.InterruptCommand: commands.interrupt_command,
    messages.GetHistory: commands.history,
    messages.WaitFor: waiting.wait_for,
    messages.GetTerminal: waiting.get_terminal,
    messages.OpenView: leases.open_view,
    messages.TakeLease: leases.take,
    messages.ReleaseLease: leases.release,
    messages.TransferLease: leases.transfer,
    messages.GetLease: leases.get,
    messages.GetPending: agents.pending,
    messages.ReplyTo: agents.reply,
    messages.ListHarnesses: agents.list_harnesses,
    messages.RestartSession: control.restart,
    messages.ControlSession: control.control,
    messages.KillSessions: kills.kill,
    messages.KillByManager: kills.kill_by_manager,
    messages.GetStatus: status.get,
    messages.StopSupervisor: status.stop,
    messages.RestartSupervisor: status.restart,
}
