"""Items of a codex turn: what a tool call is called, was given, and gave. Pure; a type from the future is a tool."""

from __future__ import annotations

import re
from typing import Any

from orchctl.session.happening import Phase, Tool

Item = dict[str, Any]
MESSAGES = ("userMessage", "agentMessage", "reasoning", "plan")  # told piece by piece, or not at all
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|z|da)?sh -l?c (?P<quote>['\"])(?P<text>.*)(?P=quote)", re.DOTALL)


def tool(item: Item, phase: Phase) -> Tool:
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
