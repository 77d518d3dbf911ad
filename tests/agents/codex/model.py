"""A model for the real codex to talk to: the OpenAI Responses API on loopback, as far as codex uses it.

A prompt is a list of steps, one a line, as for the scripted harness: `say`, `think`, `tool COMMAND`, `ask FILE`,
`question`, `count N MILLISECONDS`, `recall`, `fail TEXT`, `stay`; and `child STEP`: a sub-agent does it, and is waited
for. A step that calls a tool ends the model's answer; with the tool's result codex asks again, and the steps after it
follow.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

WORDS = ("say", "think", "tool", "ask", "question", "count", "recall", "fail", "stay", "child")
CALLS = ("tool", "ask", "question", "child", "wait")
CHILDREN = {"namespace": "multi_agent_v1"}
NO_MODEL = "none-such"  # a provider refuses the name of a model that it does not have
QUESTION = {
    "questions": [
        {
            "id": "colour",
            "header": "Colour",
            "question": "Which colour?",
            "options": [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}],
        }
    ]
}
Step = tuple[str, str]
Item = dict[str, Any]


def steps_of(text: str) -> list[Step]:
    """The steps of a prompt; none where it is not for us, such as what codex says of the directory."""
    pairs = [tuple(line.strip().partition(" ")[::2]) for line in text.splitlines()]
    known = [(word, rest) for word, rest in pairs if word in WORDS]
    return [step for word, rest in known for step in ((word, rest), ("wait", ""))[: 2 if word == "child" else 1]]


def due(items: list[Item]) -> tuple[list[Step], int]:
    """The steps that are due now, and the number of the prompt that they are of."""
    prompts = [(at, steps_of(_text(item))) for at, item in enumerate(items) if item.get("role") == "user"]
    prompts = [(at, steps) for at, steps in prompts if steps]
    if not prompts:
        return [("say", "ok")], 0
    at, steps = prompts[-1]
    done = sum(str(item.get("type", "")).endswith("call_output") for item in items[at + 1 :])
    for _ in range(done):
        while steps and steps.pop(0)[0] not in CALLS:
            pass
    until = next((number for number, (word, _) in enumerate(steps, 1) if word in CALLS), len(steps))
    return steps[:until], len(prompts)


def begun(items: list[Item]) -> str:
    """The sub-agent that was begun last, as codex said."""
    said = [str(item.get("output")) for item in items if item.get("type") == "function_call_output"]
    return next((str(json.loads(one)["agent_id"]) for one in reversed(said) if '"agent_id"' in one), "nobody")


def _text(item: Item) -> str:
    return "".join(str(part.get("text", "")) for part in item.get("content") or () if isinstance(part, dict))


class Handler(http.server.BaseHTTPRequestHandler):
    """One request of codex's."""

    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        """There is nothing to get."""
        self._json(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        """An answer, as a stream of events."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.partition("?")[0].endswith("/responses"):
            self._json(404, {"error": {"message": "no such path"}})
            return
        if body.get("model") == NO_MODEL:
            message = f"The model '{NO_MODEL}' does not exist or you do not have access to it."
            self._json(404, {"error": {"message": message, "type": "invalid_request_error", "code": "model_not_found"}})
            return
        steps, number = due(body.get("input") or [])
        self.server.asked += 1
        failure = next((rest for word, rest in steps if word == "fail"), None)
        if failure is not None:
            self._json(400, {"error": {"message": failure, "type": "fake", "code": "fake"}})
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._stream(steps, number, body.get("input") or [])
        self.close_connection = True

    def _stream(self, steps: list[Step], number: int, items: list[Item]) -> None:
        length = len(items)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self._event("response.created", response={"id": f"r{length}", "object": "response", "status": "in_progress"})
        for index, (word, rest) in enumerate(steps):
            name = f"{word}_{length}_{index}"
            if word == "think":
                self._think(name, index, rest)
            elif word in CALLS:
                self._call(name, index, word, begun(items) if word == "wait" else rest)
            else:
                self._say(name, index, self._pieces(word, rest, number))
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        done = {"id": f"r{length}", "object": "response", "status": "completed", "output": [], "usage": usage}
        self._event("response.completed", response=done)

    def _pieces(self, word: str, rest: str, number: int) -> Iterator[str]:
        if word == "count":
            last, pause_ms = rest.split()
            for one in range(int(last)):
                yield f"{one}\n"
                time.sleep(int(pause_ms) / 1000)
        elif word == "stay":
            while not self.server.over.wait(0.02):
                yield "."
        elif word == "recall":
            yield f"prompt number {number}"
        else:
            half = len(rest) // 2
            yield from (rest[:half], rest[half:])

    def _say(self, name: str, index: int, pieces: Iterator[str]) -> None:
        item: Item = {"type": "message", "id": name, "role": "assistant", "content": []}
        self._event("response.output_item.added", output_index=index, item=item)
        said = ""
        for piece in pieces:
            said += piece
            self._event("response.output_text.delta", item_id=name, output_index=index, content_index=0, delta=piece)
        item["content"] = [{"type": "output_text", "text": said, "annotations": []}]
        self._event("response.output_item.done", output_index=index, item=item)

    def _think(self, name: str, index: int, text: str) -> None:
        item: Item = {"type": "reasoning", "id": name, "summary": []}
        self._event("response.output_item.added", output_index=index, item=item)
        place = {"item_id": name, "output_index": index, "summary_index": 0}
        self._event("response.reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            self._event("response.reasoning_summary_text.delta", **place, delta=piece)
        item["summary"] = [{"type": "summary_text", "text": text}]
        self._event("response.output_item.done", output_index=index, item=item)

    def _call(self, name: str, index: int, word: str, rest: str) -> None:
        calls: dict[str, tuple[Item, Item]] = {
            "tool": ({"name": "exec_command"}, {"cmd": rest}),
            "ask": ({"name": "exec_command"}, {"cmd": f"echo touched >> {rest}"}),
            "question": ({"name": "request_user_input"}, QUESTION),
            "child": ({"name": "spawn_agent", **CHILDREN}, {"message": rest, "task_name": "part"}),
            "wait": ({"name": "wait_agent", **CHILDREN}, {"targets": [rest]}),
        }
        named, given = calls[word]
        item = {
            "type": "function_call",
            "id": name,
            "call_id": f"call_{name}",
            **named,
            "arguments": json.dumps(given),
        }
        self._event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
        self._event("response.output_item.done", output_index=index, item=item)

    def _event(self, kind: str, **fields: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())
        self.wfile.flush()

    def _json(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Model(http.server.ThreadingHTTPServer):
    """On a port of its own."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.over = threading.Event()
        self.asked = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def model() -> Iterator[Model]:
    """One that answers for as long as the block lasts."""
    made = Model()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        made.over.set()
        made.shutdown()
        thread.join()
        made.server_close()


def settings(url: str) -> str:
    """`config.toml` of a codex that knows this model alone, and calls nobody else."""
    return f"""
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
chatgpt_base_url = "{url}/backend-api/"
web_search = "disabled"
[analytics]
enabled = false
[feedback]
enabled = false
[history]
persistence = "none"
[features]
plugins = false
apps = false
remote_plugin = false
shell_snapshot = false
unbounded_connection_retries = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
"""
