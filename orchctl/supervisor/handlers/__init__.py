"""The verbs: an explicit table from message to handler. What is not in it does not exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from orchctl.protocol import messages
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.handlers import admin, agents, control, events, exec, input, lease, output, sessions, wait
from orchctl.supervisor.request import Call

Handler = Callable[[Supervisor, Call, Any], Awaitable[None]]

HANDLERS: dict[type[Any], Handler] = {
    messages.SpawnSession: sessions.spawn,
    messages.ListSessions: sessions.list_sessions,
    messages.SelectSessions: sessions.select,
    messages.RenameSession: sessions.rename,
    messages.LabelSession: sessions.label,
    messages.GetSession: sessions.get,
    messages.WaitSession: sessions.wait,
    messages.ReadOutput: output.read,
    messages.AckOutput: output.ack,
    messages.ReadEvents: events.read_events,
    messages.Prune: admin.prune,
    messages.SendInput: input.send,
    messages.InterruptSession: input.interrupt,
    messages.ExecCommand: exec.exec_command,
    messages.PutSpool: exec.put_spool,
    messages.DetachCommand: exec.detach,
    messages.InterruptCommand: exec.interrupt_command,
    messages.GetHistory: exec.history,
    messages.WaitFor: wait.wait_for,
    messages.GetTerminal: wait.get_terminal,
    messages.OpenView: lease.open_view,
    messages.TakeLease: lease.take,
    messages.ReleaseLease: lease.release,
    messages.TransferLease: lease.transfer,
    messages.GetLease: lease.get,
    messages.GetPending: agents.pending,
    messages.ReplyTo: agents.reply,
    messages.ListHarnesses: agents.list_harnesses,
    messages.RestartSession: control.restart,
    messages.ControlSession: control.control,
    messages.KillSessions: control.kill,
    messages.KillByManager: control.kill_by_manager,
    messages.GetStatus: admin.get,
    messages.StopSupervisor: admin.stop,
    messages.RestartSupervisor: admin.restart,
}
