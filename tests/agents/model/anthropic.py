"""Anthropic's messages: `POST /v1/messages`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.agents.model.script import Act, Asked, Call, Fail, Say, Think, own_words, steps

Body = dict[str, Any]


def asked(body: Body) -> Asked:
    """Of a request. After an interrupt, the next prompt may follow a tool's result in the same message."""
    prompts, results = list[str](), list[str]()
    for message in body.get("messages", []):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if message["role"] == "user" else []:
            text = own_words(_flat(block))
            if block["type"] == "tool_result":
                results.append(text)
            elif steps(text):
                prompts.append(text)
                results = []
    tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", []) if "input_schema" in tool}
    return Asked(prompts=tuple(prompts), results=tuple(results), tools=tools)


def whole(body: Body, made: list[Act], number: int) -> Body:
    """An answer in one piece."""
    blocks = [{"type": "text", "text": "".join(act.text for act in made if isinstance(act, Say))}]
    return {**_message(body, number), "content": blocks, "stop_reason": "end_turn"}


def events(body: Body, made: list[Act], number: int) -> Iterator[tuple[str, Body, float]]:
    """An answer as a stream: its name, what it says, and how long to wait before."""
    yield "message_start", {"message": _message(body, number)}, 0
    index, kind, stop = -1, None, "end_turn"
    for place, act in enumerate(made):
        if type(act) is not kind or isinstance(act, Call):
            if kind is not None:
                yield "content_block_stop", {"index": index}, 0
            index, kind = index + 1, type(act)
            yield "content_block_start", {"index": index, "content_block": _block(act, f"toolu_{number}_{place}")}, 0
        stop = "tool_use" if isinstance(act, Call) else stop
        pause_s = act.pause_s if isinstance(act, Say) else 0
        yield "content_block_delta", {"index": index, "delta": _delta(act)}, pause_s
    yield "content_block_stop", {"index": index}, 0
    yield "message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 7}}, 0
    yield "message_stop", {}, 0


def error(act: Fail) -> Body:
    """What an error looks like."""
    kind = "not_found_error" if act.status == 404 else "api_error"
    return {"type": "error", "error": {"type": kind, "message": act.text}}


def _message(body: Body, number: int) -> Body:
    usage = {"input_tokens": 11, "output_tokens": 1}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _block(act: Act, name: str) -> Body:
    if isinstance(act, Call):
        return {"type": "tool_use", "id": name, "name": act.name, "input": {}}
    return (
        {"type": "thinking", "thinking": "", "signature": ""}
        if isinstance(act, Think)
        else {"type": "text", "text": ""}
    )


def _delta(act: Act) -> Body:
    if isinstance(act, Call):
        return {"type": "input_json_delta", "partial_json": json.dumps(act.input)}
    assert isinstance(act, Say | Think)
    return (
        {"type": "thinking_delta", "thinking": act.text}
        if isinstance(act, Think)
        else {"type": "text_delta", "text": act.text}
    )


def _flat(block: Body) -> str:
    content = block.get("content")
    if isinstance(content, list):
        return "\n".join(_flat(one) for one in content)
    return str(block.get("text") or content or "")
