"""What a session's journals say, as events. Pure: the same records give the same events, whoever tells them."""

from __future__ import annotations

from typing import Any

from orchctl.session.model import State
from orchctl.session.run import Run

Record = dict[str, Any]
TEXT = 4096  # characters of a command's text in an event
_COMMAND_FIELDS = ("number", "text", "who", "cwd", "start_offset")
_END_FIELDS = (*_COMMAND_FIELDS, "end_offset", "exit_code", "status", "duration_s", "completion", "error")


class Tale:
    """Of one session; fed with its records in order, also with those that were told before."""

    def __init__(self, *, prompts: bool) -> None:
        self._run = Run(prompts=prompts)

    def of_run(self, record: Record) -> list[Record]:
        """The events that a record of `run.jnl` is: as a rule one or none."""
        again = record.get("type") == "started" and record.get("pid") is None and self._run.number > 0
        event = self._of_run(record)
        if event is None or not again:
            return [event] if event is not None else []
        return [event | {"state": str(State.IDLE)}, event]  # a conversation's next run is created and started in one

    def _of_run(self, record: Record) -> Record | None:
        before = self._run.number, self._run.state
        self._run.apply(record)
        run, time = max(1, self._run.number), record.get("time")
        if (self._run.number, self._run.state) != before:
            return {"type": "session.state", "run": run, "time": time, "state": str(self._run.state), **self._more()}
        if record.get("type") in ("renamed", "labelled"):
            what: Record = {name: record[name] for name in ("name", "labels", "who") if name in record}
            return {"type": "session.state", "run": run, "time": time, "state": str(self._run.state), **what}
        if record.get("type") == "dropped":
            return {"type": "gap", "run": run, "time": time, "first": record["first"], "end": record["end"]}
        if record.get("type") == "fs-error":
            return {"type": "error", "run": run, "time": time, "code": "fs-error", "message": record["message"]}
        return None

    def _more(self) -> Record:
        run = self._run
        if run.state is not State.CLOSED:
            return {"pid": run.pid}
        return {
            "exit_code": run.exit_code,
            "signal": run.signal,
            "end_reason": str(run.end_reason) if run.end_reason else None,
            "offset": run.final_offset,
        }


def of_command(record: Record) -> list[Record]:
    """The events that a record of `commands.jnl` is; the journal has the command's text in full."""
    command = dict(record.get("command", {}))
    command["text"] = str(command.get("text", ""))[:TEXT]
    if record.get("type") == "begin":
        known = {name: command.get(name) for name in _COMMAND_FIELDS}
        return [{"type": "command", "time": command.get("started_at"), "phase": "started", **known}]
    if record.get("type") == "end":
        known = {name: command.get(name) for name in _END_FIELDS}
        return [{"type": "command", "time": command.get("ended_at"), "phase": "finished", **known}]
    return []
