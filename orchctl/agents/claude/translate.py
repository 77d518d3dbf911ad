"""What Claude Code says in a conversation, as events. Pure.

A prompt travels with an id of ours, which comes back when it is queued, begun and done, and our replies come back as
they are: so all that happens is told by what is heard. Finished messages repeat the text of the stream, and only their
tool calls are news. What a sub-agent says is not the answer; what it does, and what it asks, is told, and may outlive
the turn that began it. What is taken back, Claude says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from orchctl.agents.claude import requests
from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import (
    AgentEvent,
    Answered,
    Checkpoint,
    Delivered,
    Phase,
    Reasoning,
    Text,
    Tool,
    Trouble,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Unknown,
    Usage,
)

Record = dict[str, Any]
WITHDRAWN = "withdrawn"
# What is known and nothing to tell.
QUIET_TYPES = frozenset(("keep_alive", "tool_progress"))
QUIET_SYSTEM = frozenset((
    "init", "status", "thinking_tokens", "ui_invalidate", "compact_boundary", "task_started",
    "task_progress", "task_notification", "task_updated", "background_tasks_changed",
))  # fmt: skip
_PIECES: dict[str, Callable[[Record, str], AgentEvent]] = {
    "text_delta": lambda delta, part: Text(text=str(delta["text"]), part=part),
    "thinking_delta": lambda delta, part: Reasoning(text=str(delta["thinking"]), part=part),
}
_QUIET_PIECES = frozenset(("input_json_delta", "signature_delta", "citations_delta"))


@dataclass(slots=True)
class Translator:
    """Of one process, which is one conversation."""

    turn: str | None = None  # the prompt that is worked on
    last: str | None = None
    _queued: str | None = None
    open: dict[str, requests.Request] = field(default_factory=dict)
    _calls: dict[str, Tool] = field(default_factory=dict)
    _of_children: set[str] = field(default_factory=set)  # calls that do not end with the turn
    _message: str = ""  # the one that is being streamed
    _streamed: set[str] = field(default_factory=set)

    def hear(self, message: Record) -> list[AgentEvent]:
        """One line."""
        kind = str(message.get("type"))
        rule = _RULES.get(kind)
        if rule is not None:
            return rule(self, message)
        return [] if kind in QUIET_TYPES else [Unknown(kind=kind)]

    def _taken(self, once: str, *, begun: bool) -> list[AgentEvent]:
        """It comes back several times."""
        if once in (self.turn, self.last):
            return []
        told: list[AgentEvent] = [] if once == self._queued else [Delivered(once=once)]
        self._queued = once
        if begun:
            self.turn = once
            told.append(TurnStarted(turn=once))
        return told

    def _lifecycle(self, message: Record) -> list[AgentEvent]:
        once, state = str(message.get("command_uuid")), message.get("state")
        if state in ("queued", "started"):
            return self._taken(once, begun=state == "started")
        if once != self.turn:
            return []
        return self._end(TurnEnd.COMPLETED if state == "completed" else TurnEnd.INTERRUPTED)

    def _system(self, message: Record) -> list[AgentEvent]:
        kind = str(message.get("subtype"))
        if kind == "api_retry":
            what = f"{message.get('error')} ({message.get('error_status')}), attempt {message.get('attempt')}"
            return [Trouble(code="api-retry", message=what, again=True)]
        if kind == "permission_denied":
            what = f"{message.get('tool_name')} was denied, and nobody was asked: {message.get('message')}"
            return [Trouble(code="denied-unasked", message=what)]
        return [] if kind in QUIET_SYSTEM else [Unknown(kind=f"system {kind}")]

    def _stream(self, message: Record) -> list[AgentEvent]:
        if message.get("parent_tool_use_id"):
            return []
        event = message["event"]
        if event["type"] == "message_start":
            self._message = str(event["message"]["id"])
            self._streamed.add(self._message)
        if event["type"] != "content_block_delta":
            return []
        delta = event["delta"]
        make = _PIECES.get(delta["type"])
        if make is not None:
            return [make(delta, f"{self._message}.{event['index']}")]
        return [] if delta["type"] in _QUIET_PIECES else [Unknown(kind=f"stream_event {delta['type']}")]

    def _assistant(self, message: Record) -> list[AgentEvent]:
        told: list[AgentEvent] = []
        said = message["message"]
        child = bool(message.get("parent_tool_use_id"))
        mine = not child and not message.get("error")
        for block in said["content"]:
            if block["type"] == "tool_use":
                told += self._started(str(block["id"]), str(block["name"]), block.get("input"), child=child)
            elif block["type"] == "text" and mine and said["id"] not in self._streamed:
                told.append(Text(text=str(block["text"]), part=str(said["id"])))
        return told

    def _started(self, name: str, tool: str, given: object, *, child: bool) -> list[AgentEvent]:
        if name in self._calls:
            return []
        if child:
            self._of_children.add(name)
        given = given if isinstance(given, dict) else {}
        title = requests.title(tool, given)
        self._calls[name] = Tool(id=name, phase=Phase.STARTED, name=tool, title=title, input=given)
        return [self._calls[name]]

    def _user(self, message: Record) -> list[AgentEvent]:
        if message.get("isReplay"):
            return self._echoed(message)
        content = message["message"]["content"]
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        return [told for block in results for told in self._finished(block)]

    def _echoed(self, message: Record) -> list[AgentEvent]:
        """Our own words; from now on the conversation is on Claude's disk, and can be resumed."""
        once = str(message.get("uuid"))
        if self.turn is None or once != self.turn:
            return []
        return [Checkpoint(native={"id": str(message["session_id"]), "begun": "yes"})]

    def _finished(self, block: Record) -> list[AgentEvent]:
        self._of_children.discard(str(block.get("tool_use_id")))
        call = self._calls.pop(str(block.get("tool_use_id")), None)
        return [_done(call, _flat(block.get("content")), ok=not block.get("is_error"))] if call is not None else []

    def _control_request(self, message: Record) -> list[AgentEvent]:
        asked = message["request"]
        if asked["subtype"] != "can_use_tool":
            return [Unknown(kind=f"control_request {asked['subtype']}")]
        request = requests.request(str(message["request_id"]), asked)
        self.open[request.needs.request] = request
        started: list[AgentEvent] = []
        if request.needs.tool is not None:
            child = request.needs.subagent is not None
            started = self._started(request.needs.tool, str(asked.get("tool_name")), request.input, child=child)
        return [*started, request.needs]

    def _control_cancel(self, message: Record) -> list[AgentEvent]:
        return self._answered(str(message["request_id"]), WITHDRAWN)

    def _control_response(self, message: Record) -> list[AgentEvent]:
        """Of a reply of ours; answers to what we ask have ids of ours, and are not for here."""
        response = message["response"]
        return self._answered(str(response["request_id"]), requests.said(response.get("response")))

    def _answered(self, request: str, reply: str) -> list[AgentEvent]:
        return [Answered(request=request, reply=reply)] if self.open.pop(request, None) is not None else []

    def _result(self, message: Record) -> list[AgentEvent]:
        once = str(message.get("user_message_uuid") or self.turn or "")
        before = self._taken(once, begun=True) if self.turn is None and once else []
        if self.turn is None:
            return [Trouble(code="claude", message=_error(message))] if message.get("is_error") else []
        usage = _usage(message.get("model_usage_since_last_result"))
        if str(message.get("terminal_reason")).startswith("aborted"):
            return [*before, *self._end(TurnEnd.INTERRUPTED, usage)]
        if message.get("is_error"):
            unknown = message.get("api_error_type") == "not_found_error"
            trouble = Trouble(code="unknown-model" if unknown else "turn-failed", message=_error(message))
            return [*before, trouble, *self._end(TurnEnd.FAILED, usage, _error(message))]
        return [*before, *self._end(TurnEnd.COMPLETED, usage)]

    def _end(self, end: TurnEnd, usage: Usage | None = None, error: str | None = None) -> list[AgentEvent]:
        left = [name for name in self._calls if name not in self._of_children]
        done = [_done(self._calls.pop(name), "", ok=False) for name in left]
        turn, self.last, self.turn = self.turn or "", self.turn, None
        self._streamed.clear()
        return [*done, TurnEnded(turn=turn, end=end, usage=usage, error=error)]


_RULES: dict[str, Callable[[Translator, Record], list[AgentEvent]]] = {
    "command_lifecycle": Translator._lifecycle,
    "system": Translator._system,
    "stream_event": Translator._stream,
    "assistant": Translator._assistant,
    "user": Translator._user,
    "control_request": Translator._control_request,
    "control_cancel_request": Translator._control_cancel,
    "control_response": Translator._control_response,
    "result": Translator._result,
}


def _done(call: Tool, output: str, *, ok: bool) -> Tool:
    return Tool(
        id=call.id, phase=Phase.FINISHED, name=call.name, title=call.title, input=call.input, output=output, ok=ok
    )


def _error(message: Record) -> str:
    errors = message.get("errors")
    listed = "; ".join(str(one) for one in errors) if isinstance(errors, list) else ""
    return str(message.get("result") or listed or message.get("subtype"))


def _flat(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text") or "") for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def _usage(models: object) -> Usage | None:
    """Over all models that took part; of this turn alone."""
    counts = [one for one in models.values() if isinstance(one, dict)] if isinstance(models, dict) else []
    if not counts:
        return None

    def total(name: str) -> int:
        return sum(int(one.get(name) or 0) for one in counts)

    return Usage(
        input_tokens=total("inputTokens"),
        output_tokens=total("outputTokens"),
        cached_tokens=total("cacheReadInputTokens"),
        reasoning_tokens=total("thinkingTokens"),
        cost_usd=sum(float(one.get("costUSD") or 0) for one in counts),
    )
