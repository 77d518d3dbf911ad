"""What codex tells of one thread, as events. Pure.

Pieces may be missing (a replay begins in the middle, a stream is tried again): what an item says when it is completed
is the truth, and what was not told of it by then is told then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any

from orchctl.lazy_dataclass import dataclass
from orchctl.session.events import (
    AgentEvent,
    Checkpoint,
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

Item = dict[str, Any]
MESSAGES = ("userMessage", "agentMessage", "reasoning", "plan")  # told piece by piece, or not at all
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|z|da)?sh -l?c (?P<quote>['\"])(?P<text>.*)(?P=quote)", re.DOTALL)


def tool_of_item(item: Item, phase: Phase) -> Tool:
    """One that begins or has ended."""
    kind = str(item.get("type"))
    name, title = _named(kind, item)
    finished = phase is Phase.FINISHED
    return Tool(
        id=str(item.get("id")),
        phase=phase,
        name=name,
        title=title,
        input=_input(kind, item),
        output=_output(item) if finished else "",
        ok=_went_well(item) if finished else None,
    )


def plain_command(command: object) -> str:
    """Without the shell that codex puts around it."""
    text = str(command or "")
    found = _SHELL.fullmatch(text)
    return found["text"].replace("'\\''", "'") if found is not None else text


def changes(item: Item) -> str:
    """Which files, in one line."""
    found = [(_kind(one), str(one.get("path"))) for one in item.get("changes") or () if isinstance(one, dict)]
    return ", ".join(f"{kind} {path}" for kind, path in found)


def _named(kind: str, item: Item) -> tuple[str, str]:
    if kind == "commandExecution":
        return "command", plain_command(item.get("command"))
    if kind == "fileChange":
        return "edit", changes(item)
    if kind == "mcpToolCall":
        return "mcp", f"{item.get('server')}.{item.get('tool')}"
    if kind == "dynamicToolCall":
        return "tool", str(item.get("tool"))
    title = item.get("query") or item.get("path") or item.get("prompt") or kind
    return kind, str(title)


def _input(kind: str, item: Item) -> dict[str, Any]:
    if kind == "commandExecution":
        return {"command": plain_command(item.get("command")), "cwd": item.get("cwd")}
    names = {"fileChange": "changes", "mcpToolCall": "arguments", "dynamicToolCall": "arguments"}
    found = item.get(names.get(kind, ""))
    return {names[kind]: found} if found else {}


def _output(item: Item) -> str:
    """Complete up to a mebibyte, which the pieces that came before are not."""
    for found in (item.get("aggregatedOutput"), item.get("error"), item.get("result")):
        if isinstance(found, str):
            return found
        if isinstance(found, dict):
            parts = [part.get("text") for part in found.get("content") or () if isinstance(part, dict)]
            return "\n".join(part for part in parts if isinstance(part, str)) or str(found.get("message") or "")
    return ""


def _went_well(item: Item) -> bool:
    code = item.get("exitCode")
    return item.get("status", "completed") == "completed" and code in (None, 0) and not item.get("error")


def _kind(change: dict[str, Any]) -> str:
    kind = change.get("kind")
    return str(kind.get("type")) if isinstance(kind, dict) else str(kind)


Params = dict[str, Any]
_ENDS = {"completed": TurnEnd.COMPLETED, "failed": TurnEnd.FAILED, "interrupted": TurnEnd.INTERRUPTED}
SILENT = {  # known, and nothing that a conversation is about
    "account/rateLimits/updated",
    "account/updated",
    "configWarning",
    "deprecationNotice",
    "guardianWarning",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "mcpServer/startupStatus/updated",
    "model/rerouted",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/archived",
    "thread/compacted",
    "thread/deleted",
    "thread/goal/cleared",
    "thread/goal/updated",
    "thread/name/updated",
    "thread/readState/changed",
    "thread/settings/updated",
    "thread/started",
    "thread/status/changed",
    "thread/unarchived",
    "turn/diff/updated",
    "warning",
}


@dataclass(slots=True)
class Thread:
    """What has to be remembered of one conversation, from the beginning of a turn to its end."""

    id: str
    turn: str | None = None  # that has begun
    parts: dict[str, int] = field(default_factory=dict)  # how often a message began: one that is tried again is another
    said: dict[str, list[str]] = field(default_factory=dict)  # of each message, piece by piece
    open: dict[str, Params] = field(default_factory=dict)  # items that have begun
    usage: Usage = field(default_factory=Usage)

    def hear(self, method: str, params: Params) -> list[AgentEvent]:
        """One notification."""
        rule = _RULES.get(method)
        if rule is not None:
            return rule(self, params)
        return [] if method in SILENT else [Unknown(kind=method)]

    def part(self, item: str) -> str:
        """What a piece of a message belongs to."""
        return f"{item}/{self.parts.get(item, 0)}"


_CODES = {"modelNotFound": "unknown-model"}  # what all harnesses call by one word


def error_of(error: object) -> tuple[str, str]:
    """A stable code, and words."""
    found = error if isinstance(error, dict) else {}
    info = found.get("codexErrorInfo")
    code = next(iter(info), "other") if isinstance(info, dict) else info if isinstance(info, str) else "other"
    return _CODES.get(str(code), str(code)), str(found.get("message") or "the turn failed")


def _turn_started(thread: Thread, params: Params) -> list[AgentEvent]:
    thread.turn = _id(params.get("turn"))
    thread.said.clear()
    thread.parts.clear()
    thread.open.clear()
    thread.usage = Usage()
    return [TurnStarted(turn=thread.turn)]


def _turn_completed(thread: Thread, params: Params) -> list[AgentEvent]:
    turn = params.get("turn") if isinstance(params.get("turn"), dict) else {}
    assert isinstance(turn, dict)
    end = _ENDS.get(str(turn.get("status")), TurnEnd.COMPLETED)
    found: list[AgentEvent] = []
    message = None
    if end is not TurnEnd.COMPLETED:  # in one that is completed, a command may go on in the background
        found += [Tool(id=one, phase=Phase.FINISHED, **_known(item), ok=False) for one, item in thread.open.items()]
        thread.open.clear()
    if end is TurnEnd.FAILED:
        code, message = error_of(turn.get("error"))
        found.append(Trouble(code=code, message=message))
    name = _id(turn)
    usage, thread.turn = thread.usage, None
    found.append(TurnEnded(turn=name, end=end, usage=usage, error=message))
    found.append(Checkpoint(native={"id": thread.id, "turn": name}))
    return found


def _item_started(thread: Thread, params: Params) -> list[AgentEvent]:
    item = _item(params)
    name, kind = _id(item), item.get("type")
    if kind in MESSAGES:
        thread.parts[name] = thread.parts.get(name, 0) + 1
        thread.said.pop(name, None)
        return []
    known = name in thread.open  # one that was asked about is told of again when it runs
    thread.open[name] = item
    return [] if known else [tool_of_item(item, Phase.STARTED)]


def _item_completed(thread: Thread, params: Params) -> list[AgentEvent]:
    item = _item(params)
    name, kind = _id(item), item.get("type")
    if kind == "agentMessage":
        return _rest(thread, name, str(item.get("text") or ""), Text)
    if kind == "reasoning":
        parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
        return _rest(thread, name, "\n".join(map(str, parts)), Reasoning) if name not in thread.said else []
    if kind in MESSAGES:
        return []
    begun = thread.open.pop(name, None)
    first = [] if begun is not None else [tool_of_item(item, Phase.STARTED)]
    return [*first, tool_of_item(item, Phase.FINISHED)]


def _rest(thread: Thread, name: str, whole: str, kind: type[Text] | type[Reasoning]) -> list[AgentEvent]:
    """What of a message was not told piece by piece."""
    said = "".join(thread.said.pop(name, ()))
    rest = whole[len(said) :] if whole.startswith(said) else ""
    return [kind(text=rest, part=thread.part(name))] if rest else []


def _delta(kind: type[Text] | type[Reasoning]) -> Callable[[Thread, Params], list[AgentEvent]]:
    def piece(thread: Thread, params: Params) -> list[AgentEvent]:
        name, text = str(params.get("itemId")), str(params.get("delta") or "")
        thread.said.setdefault(name, []).append(text)
        return [kind(text=text, part=thread.part(name))] if text else []

    return piece


def _paragraph(thread: Thread, params: Params) -> list[AgentEvent]:
    name = str(params.get("itemId"))
    return [Reasoning(text="\n", part=thread.part(name))] if thread.said.get(name) else []


def _printed(thread: Thread, params: Params) -> list[AgentEvent]:
    name = str(params.get("itemId"))
    known = _known(thread.open.get(name, {}))
    return [Tool(id=name, phase=Phase.UPDATED, output=str(params.get("delta") or ""), **known)]


def _plan(_: Thread, params: Params) -> list[AgentEvent]:
    steps = [one for one in params.get("plan") or () if isinstance(one, dict)]
    text = "".join(f"[{one.get('status')}] {one.get('step')}\n" for one in steps)
    return [Reasoning(text=text, part="plan")] if text else []


def _error(_: Thread, params: Params) -> list[AgentEvent]:
    """One after which it gives up is told with the end of the turn."""
    if not params.get("willRetry"):
        return []
    code, message = error_of(params.get("error"))
    return [Trouble(code=code, message=message, again=True)]


def _tokens(thread: Thread, params: Params) -> list[AgentEvent]:
    found = params.get("tokenUsage")
    last = found.get("last") if isinstance(found, dict) else None
    if isinstance(last, dict):
        before = thread.usage
        thread.usage = Usage(
            input_tokens=before.input_tokens + _number(last.get("inputTokens")),
            output_tokens=before.output_tokens + _number(last.get("outputTokens")),
            cached_tokens=before.cached_tokens + _number(last.get("cachedInputTokens")),
            reasoning_tokens=before.reasoning_tokens + _number(last.get("reasoningOutputTokens")),
        )
    return []


def _known(item: Params) -> dict[str, Any]:
    if not item:
        return {}
    tool = tool_of_item(item, Phase.STARTED)
    return {"name": tool.name, "title": tool.title}


def _item(params: Params) -> Params:
    item = params.get("item")
    return item if isinstance(item, dict) else {}


def _id(found: object) -> str:
    return str(found.get("id")) if isinstance(found, dict) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


_RULES: dict[str, Callable[[Thread, Params], list[AgentEvent]]] = {
    "turn/started": _turn_started,
    "turn/completed": _turn_completed,
    "turn/plan/updated": _plan,
    "item/started": _item_started,
    "item/completed": _item_completed,
    "item/agentMessage/delta": _delta(Text),
    "item/plan/delta": _delta(Reasoning),
    "item/reasoning/summaryTextDelta": _delta(Reasoning),
    "item/reasoning/textDelta": _delta(Reasoning),
    "item/reasoning/summaryPartAdded": _paragraph,
    "item/commandExecution/outputDelta": _printed,
    "error": _error,
    "thread/tokenUsage/updated": _tokens,
}
