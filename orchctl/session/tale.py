"""What a session's journals say, as events. Pure: the same records give the same events, whoever tells them."""

from __future__ import annotations

from typing import Any

from orchctl.plain import to_plain
from orchctl.session import events
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Checkpoint,
    NeedsInput,
    NotOpened,
    Opened,
    Reasoning,
    Refused,
    Tool,
    Trouble,
    TurnEnded,
    TurnStarted,
)
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


def of_conversation(record: Record) -> list[Record]:
    """In order; `offset` is where the transcript stands then."""
    found: list[Record] = []
    if record.get("type") == "prompt":
        size = len(str(record.get("prompt", "")).encode("utf-8", "replace"))
        about = {"bytes": size, "action": "prompt", "who": record.get("who", "user"), "offset": record.get("text", 0)}
        found.append({"type": "input", **about})
    if record.get("type") == "gap":
        lost = {"first": record["first"], "end": record["end"], "of": "server"}
        found.append({"type": "gap", **lost, "offset": record.get("text", 0)})
    for plain in record.get("happened", ()):
        happening = events.decode(plain)
        event = _event(happening) if happening is not None else None
        if event is not None:
            found.append({**event, "offset": record.get("text", 0)})
    return [{**event, "time": record.get("time")} for event in found]


def _event(one: AgentEvent) -> Record | None:  # noqa: PLR0911 - one line for each type
    if isinstance(one, Reasoning):
        return {"type": "reasoning", "text": _short(one.text)}
    if isinstance(one, Tool):
        return {"type": "tool", **to_plain(one), "output": _short(one.output), "input": _cut(one.input)}
    if isinstance(one, TurnStarted):
        return {"type": "turn", "phase": "started", "turn": one.turn, "model": one.model}
    if isinstance(one, TurnEnded):
        return {"type": "turn", "phase": "finished", **to_plain(one)}
    if isinstance(one, NeedsInput):
        return {"type": "needs-input", **to_plain(one), "title": _short(one.title), "details": _cut(one.details)}
    if isinstance(one, Answered):
        return {"type": "answered", "request": one.request, "reply": _short(one.reply)}
    return _other(one)


def _other(one: AgentEvent) -> Record | None:
    if isinstance(one, Opened | Checkpoint):
        return {"type": "checkpoint", "native": dict(one.native)}
    if isinstance(one, Trouble):
        return {"type": "error", "code": one.code, "message": _short(one.message), "again": one.again}
    if isinstance(one, NotOpened | Refused):
        return {"type": "error", "code": one.code, "message": _short(one.message), "again": False}
    return None


def _short(text: str) -> str:
    return events.shortened(text, TEXT)


def _cut(value: Any, depth: int = 4) -> Any:
    """As much of a harness's own value as an event has room for."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, dict) and depth:
        return {str(key)[:TEXT]: _cut(inner, depth - 1) for key, inner in list(value.items())[:32]}
    if isinstance(value, list | tuple) and depth:
        return [_cut(inner, depth - 1) for inner in list(value)[:32]]
    return value if isinstance(value, int | float | bool) or value is None else _short(str(value))
