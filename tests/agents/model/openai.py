"""OpenAI's chat completions: `POST /v1/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.agents.model.script import Act, Asked, Call, Fail, Say, Think, own_words, steps

Body = dict[str, Any]
_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def asked(body: Body) -> Asked:
    """Of a request. Prompts that were not answered may come as parts of one message."""
    prompts, results = list[str](), list[str]()
    for message in body.get("messages", []):
        if message["role"] == "tool":
            results.append("\n".join(_parts(message.get("content"))))
        for text in _parts(message.get("content")) if message["role"] == "user" else []:
            if steps(text):
                prompts.append(text)
                results = []
    tools = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in body.get("tools", [])}
    return Asked(prompts=tuple(prompts), results=tuple(results), tools=tools)


def whole(body: Body, made: list[Act], number: int) -> Body:
    """An answer in one piece."""
    text = "".join(act.text for act in made if isinstance(act, Say))
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {**_head(body, number), "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def events(body: Body, made: list[Act], number: int) -> Iterator[tuple[str, Body, float]]:
    """An answer as a stream."""
    yield "", _chunk(body, number, {"role": "assistant", "content": ""}), 0
    for place, act in enumerate(made):
        if isinstance(act, Say):
            yield "", _chunk(body, number, {"content": act.text}), act.pause_s
        elif isinstance(act, Think):
            yield "", _chunk(body, number, {"reasoning_content": act.text}), 0
        elif isinstance(act, Call):
            function = {"name": act.name, "arguments": json.dumps(act.input)}
            call = {"index": 0, "id": f"call_{number}_{place}", "type": "function", "function": function}
            yield "", _chunk(body, number, {"tool_calls": [call]}), 0
    yield "", _chunk(body, number, {}, "tool_calls" if any(isinstance(act, Call) for act in made) else "stop"), 0
    yield "", {**_head(body, number), "choices": [], "usage": _USAGE}, 0


def error(act: Fail) -> Body:
    """What an error looks like."""
    return {"error": {"message": act.text, "type": "invalid_request_error"}}


def _head(body: Body, number: int) -> Body:
    return {"id": f"chat-{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}


def _chunk(body: Body, number: int, delta: Body, finish: str | None = None) -> Body:
    return {**_head(body, number), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _parts(content: object) -> list[str]:
    if isinstance(content, list):
        return [own_words(str(part.get("text") or "")) for part in content if isinstance(part, dict)]
    return [own_words(str(content or ""))]
