"""What an Agent Client Protocol agent says in one conversation, as events. Pure.

That an agent has come to a prompt or a reply is told by marks, which `server.py` sets and brings here. Tool calls are
patches of one record by id, and the first sight of one may be any of them. Nothing here depends on anything but what
was heard.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from orchctl.agents.acp import requests
from orchctl.agents.jsonrpc import Answer
from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import (
    AgentEvent,
    Answered,
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
CANCELLED = -32800
WITHDRAWN = "withdrawn"
# What is known and nothing to tell: our own words again, what is on offer, how full the context is.
QUIET = frozenset((
    "user_message_chunk", "plan", "usage_update", "available_commands_update", "current_mode_update",
    "config_option_update", "session_info_update", "notice", "compaction_update", "compaction_summary_chunk",
))  # fmt: skip
_OVER = ("completed", "failed")
_ENDS = {"end_turn": TurnEnd.COMPLETED, "cancelled": TurnEnd.INTERRUPTED}
_FAILURES = {
    "refusal": "the agent refuses to go on",
    "max_tokens": "the answer has reached the model's limit of tokens",
    "max_turn_requests": "the turn has reached the agent's limit of requests",
}


@dataclass(slots=True)
class _Call:
    """A tool call, as patched so far."""

    name: str = ""
    title: str = ""
    input: Record = field(default_factory=dict)
    output: str = ""
    over: bool = False


@dataclass(slots=True)
class Translator:
    """Of one conversation."""

    turn: str | None = None  # the prompt that is worked on, as far as the agent has said so
    last: str | None = None  # the one before
    stopping: bool = False  # it has read that it is to stop
    open: dict[str, requests.Request] = field(default_factory=dict)  # what it asks, by the name that we give it
    _calls: dict[str, _Call] = field(default_factory=dict)
    _counted: Usage = field(default_factory=Usage)

    def taken(self, once: str) -> list[AgentEvent]:
        """The agent has come to a prompt."""
        if once in (self.turn, self.last):
            return [Delivered(once=once)]
        self.turn = once
        return [Delivered(once=once), TurnStarted(turn=once)]

    def answered(self, request: str, reply: str) -> list[AgentEvent]:
        """The agent has come to a reply."""
        return [Answered(request=request, reply=reply)] if self.open.pop(request, None) is not None else []

    def update(self, update: Record) -> list[AgentEvent]:
        """Of one `session/update`."""
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._count(update)
            text = _text(update.get("content"))
            return [Text(text=text, part=str(update.get("messageId") or ""))] if text else []
        if kind == "agent_thought_chunk":
            text = _text(update.get("content"))
            return [Reasoning(text=text, part=str(update.get("messageId") or ""))] if text else []
        if kind in ("tool_call", "tool_call_update"):
            return self._patch(update)
        return [] if kind in QUIET else [Unknown(kind=f"session/update {kind}")]

    def asked(self, number: int | str, method: str, params: Record) -> list[AgentEvent]:
        """The agent asks a human. The call that it is about may not have been heard of before."""
        call = params.get("toolCall")
        told = self._patch(call) if isinstance(call, dict) else []
        known = self._calls.get(str(call.get("toolCallId"))) if isinstance(call, dict) else None
        request = requests.request(number, method, params, title=known.title if known else "")
        self.open[request.needs.request] = request
        return [*told, request.needs]

    def withdrawn(self, number: object) -> list[AgentEvent]:
        """The agent takes a request back."""
        gone = [name for name, request in self.open.items() if request.number == number]
        return [answer for name in gone for answer in self.answered(name, WITHDRAWN)]

    def ended(self, once: str, answer: Answer) -> list[AgentEvent]:
        """The answer to a prompt ends the turn, and all that is open in it: some agents say no more of that."""
        before = self.taken(once) if self.turn is None else []
        left = [self._finish(name, call, ok=False) for name, call in self._calls.items() if not call.over]
        gone = [answered for name in list(self.open) for answered in self.answered(name, WITHDRAWN)]
        end, error, odd = _end(answer, stopping=self.stopping)
        usage = _usage_of(answer.result) or (self._counted if self._counted != Usage() else None)
        self.turn, self.last, self.stopping, self._counted = None, once, False, Usage()
        self._calls.clear()
        trouble = [Trouble(code="turn-failed", message=error)] if error is not None else []
        return [*before, *left, *gone, *odd, *trouble, TurnEnded(turn=once, end=end, usage=usage, error=error)]

    def _patch(self, patch: Record) -> list[AgentEvent]:
        name = str(patch.get("toolCallId"))
        call = self._calls.get(name)
        first = call is None
        if call is None:
            call = self._calls[name] = _Call()
        before = (call.name, call.title, call.input)
        call.name = _tool_name(patch) or call.name
        call.title = str(patch.get("title") or "") or call.title
        call.input = _input(patch.get("rawInput")) or call.input
        whole, printed = _output(patch), call.output
        call.output = call.output if whole is None else whole
        if call.over:
            return []
        if patch.get("status") in _OVER:
            finished = self._finish(name, call, ok=patch["status"] == "completed")
            return [*([self._tool(name, call, Phase.STARTED)] if first else []), finished]
        if first:
            return [self._tool(name, call, Phase.STARTED)]
        new = call.output.removeprefix(printed) if call.output != printed else ""
        changed = new or (call.name, call.title, call.input) != before
        return [self._tool(name, call, Phase.UPDATED, output=new)] if changed else []

    def _finish(self, name: str, call: _Call, *, ok: bool) -> Tool:
        call.over = True
        return self._tool(name, call, Phase.FINISHED, output=call.output, ok=ok)

    def _tool(self, name: str, call: _Call, phase: Phase, output: str = "", ok: bool | None = None) -> Tool:
        return Tool(id=name, phase=phase, name=call.name, title=call.title, input=call.input, output=output, ok=ok)

    def _count(self, update: Record) -> None:
        """Some agents count with each message, and not at the end."""
        usage = _usage((update.get("_meta") or {}).get("usage"))
        if usage is not None:
            self._counted = Usage(
                input_tokens=self._counted.input_tokens + usage.input_tokens,
                output_tokens=self._counted.output_tokens + usage.output_tokens,
                cached_tokens=self._counted.cached_tokens + usage.cached_tokens,
                reasoning_tokens=self._counted.reasoning_tokens + usage.reasoning_tokens,
            )


def message_of(answer: Answer) -> str:
    """What an error says; often only its data tells what was wrong."""
    data = answer.data if isinstance(answer.data, dict) else {}
    details = data.get("details") or data.get("message")
    return (
        f"{answer.message}: {details}"
        if isinstance(details, str) and details
        else answer.message or f"error {answer.code}"
    )


def _end(answer: Answer, *, stopping: bool) -> tuple[TurnEnd, str | None, list[AgentEvent]]:
    """A turn that ends after it was told to stop was interrupted, whatever the agent calls that."""
    if stopping or answer.code == CANCELLED:
        return TurnEnd.INTERRUPTED, None, []
    if answer.code is not None:
        return TurnEnd.FAILED, message_of(answer), []
    reason = answer.result.get("stopReason") if isinstance(answer.result, dict) else None
    if reason in _FAILURES:
        return TurnEnd.FAILED, _FAILURES[reason], []
    odd: list[AgentEvent] = [] if reason in _ENDS else [Unknown(kind=f"stopReason {reason}")]
    return _ENDS.get(str(reason), TurnEnd.COMPLETED), None, odd


def _text(content: object) -> str:
    return str(content.get("text") or "") if isinstance(content, dict) else ""


def _tool_name(patch: Record) -> str:
    meta = patch.get("_meta") if isinstance(patch.get("_meta"), dict) else {}
    return str(patch.get("name") or (meta or {}).get("toolName") or patch.get("kind") or "")


def _input(raw: object) -> Record:
    """An object; some agents send it as the text of one."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return {"text": raw}
    return raw if isinstance(raw, dict) else {}


def _output(patch: Record) -> str | None:
    """What a patch shows of the output: text, else the new text of what it edits; None when it shows nothing."""
    content = patch.get("content")
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    shown = [
        _text(item.get("content")) if item.get("type") == "content" else str(item.get("newText") or "")
        for item in items
    ]
    raw = patch.get("rawOutput")
    if any(shown):
        return "\n".join(text for text in shown if text)
    return raw if isinstance(raw, str) else None


def _usage_of(result: object) -> Usage | None:
    """In the answer to a prompt: as the protocol has it, or as Gemini does."""
    if not isinstance(result, dict):
        return None
    meta = result.get("_meta")
    quota = meta.get("quota") if isinstance(meta, dict) else None
    return _usage(result.get("usage")) or _usage(quota.get("token_count") if isinstance(quota, dict) else None)


def _usage(found: object) -> Usage | None:
    if not isinstance(found, dict):
        return None

    def count(*names: str) -> int:
        return next((found[name] for name in names if isinstance(found.get(name), int)), 0)

    return Usage(
        input_tokens=count("inputTokens", "input_tokens"),
        output_tokens=count("outputTokens", "output_tokens"),
        cached_tokens=count("cachedReadTokens", "cached_tokens"),
        reasoning_tokens=count("thoughtTokens", "reasoning_tokens"),
    )
