"""A model for the real opencode to talk to: OpenAI chat completions on loopback, as far as opencode uses them.

A prompt is a list of steps, one a line, as for the scripted harness: `say`, `think`, `tool COMMAND`, `ask FILE`,
`question`, `count N MILLISECONDS`, `recall`, `fail TEXT`, `stay`; and for this one also

    call NAME JSON [;; NAME JSON …] · hold NAME TEXT (half of it, the rest once the test calls `release`)
    error CODE TEXT · flaky N (N times overloaded) · drop (the connection, in the middle)

A step that calls a tool ends the model's answer; with the tool's result opencode asks again, and the steps after it
follow. A request without tools is for a title, or for a summary.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

PATIENCE_S = 60.0
SAID = ("say", "think", "count", "recall", "stay", "hold", "drop")
CALLS = ("tool", "ask", "question", "call")
FAILS = ("fail", "error", "flaky")
QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}],
        }
    ]
}
Step = tuple[str, str]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def steps_of(text: str) -> list[Step]:
    """The steps of a prompt; a prompt without any is echoed."""
    pairs = [line.strip().partition(" ")[::2] for line in text.splitlines()]
    return [(word, rest) for word, rest in pairs if word in SAID + CALLS + FAILS] or [("say", f"you said: {text}")]


def due(body: dict[str, Any]) -> tuple[list[Step], int]:
    """The steps that are due now, and the number of the prompt that they are of."""
    if not body.get("tools"):
        return [("say", "a title")], 0
    messages = body["messages"]
    prompts = [n for n, one in enumerate(messages) if one["role"] == "user"]
    steps = steps_of(_text(messages[prompts[-1]]["content"]))
    for _ in range(sum(one["role"] == "assistant" for one in messages[prompts[-1] + 1 :])):
        while steps and steps.pop(0)[0] not in CALLS:
            pass
    until = next((n for n, (word, _) in enumerate(steps, 1) if word in CALLS), len(steps))
    return steps[:until], len(prompts)


class Model:
    """One server, with what it was asked. Used as a context."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.gates: dict[str, threading.Event] = {}
        self.reached: dict[str, threading.Event] = {}
        self.overloaded = 0
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def turns(self) -> list[dict[str, Any]]:
        """What it was asked, without titles."""
        return [one for one in self.requests if one.get("tools")]

    def gate(self, name: str) -> tuple[threading.Event, threading.Event]:
        """Reached by the model, and opened by the test."""
        with self._lock:
            return self.reached.setdefault(name, threading.Event()), self.gates.setdefault(name, threading.Event())

    def wait_for(self, name: str) -> None:
        """Until it holds there."""
        assert self.gate(name)[0].wait(PATIENCE_S)

    def release(self, name: str) -> None:
        """Let it go on."""
        self.gate(name)[1].set()

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.ending.set()
        for gate in list(self.gates.values()):
            gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    model: Model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quietly."""

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [{"id": "fake-1", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.model.requests.append(body)
        steps, number = due(body)
        failure = self._failure(steps)
        if failure is not None:
            self._json(*failure)
            return
        try:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self._play(steps, number)
            self._chunk(b"")
        except OSError:
            self.close_connection = True  # the agent went away

    def _failure(self, steps: list[Step]) -> tuple[int, dict[str, Any]] | None:
        model = self.server.model
        word, rest = next(((word, rest) for word, rest in steps if word in FAILS), ("", ""))
        if word == "fail":
            return 400, {"error": {"message": rest, "type": "invalid_request_error"}}
        if word == "error":
            code, _, message = rest.partition(" ")
            return int(code), {"error": {"message": message, "type": "server_error"}}
        if word == "flaky" and model.overloaded < int(rest):
            model.overloaded += 1
            return 503, {"error": {"message": "overloaded", "type": "server_error"}}
        return None

    def _play(self, steps: list[Step], number: int) -> None:
        finish = "stop"
        for n, (word, rest) in enumerate(steps):
            if word in CALLS:
                self._calls(word, rest)
                finish = "tool_calls"
            elif word == "recall":
                self._say(f"prompt number {number}")
            elif word not in FAILS:
                getattr(self, f"_{word}")(rest)
            if word in SAID and word != "think" and n + 1 < len(steps):
                self._delta(content="\n")
        self._delta(finish)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        self._event({**_ENVELOPE, "choices": [], "usage": usage})
        self._event(None)

    def _json(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _event(self, value: dict[str, Any] | None) -> None:
        data = json.dumps(value).encode() if value is not None else b"[DONE]"
        self._chunk(b"data: " + data + b"\n\n")

    def _delta(self, finish: str | None = None, **delta: Any) -> None:
        self._event({**_ENVELOPE, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _say(self, text: str) -> None:
        for n, word in enumerate(text.split(" ")):
            self._delta(content=(" " if n else "") + word)

    def _think(self, text: str) -> None:
        self._delta(reasoning_content=text[: len(text) // 2])
        self._delta(reasoning_content=text[len(text) // 2 :])

    def _calls(self, word: str, rest: str) -> None:
        if word == "call":
            calls = [one.strip().partition(" ")[::2] for one in rest.split(";;")]
        elif word == "question":
            calls = [("question", json.dumps(QUESTION))]
        else:
            command = f"echo touched >> {rest}" if word == "ask" else rest
            calls = [("bash", json.dumps({"command": command, "description": "as told"}))]
        number = len(self.server.model.requests)
        for n, (name, given) in enumerate(calls):
            call = {"index": n, "id": f"call_{number}_{n}", "type": "function"}
            half = len(given) // 2
            self._delta(tool_calls=[{**call, "function": {"name": name, "arguments": given[:half]}}])
            self._delta(tool_calls=[{"index": n, "function": {"arguments": given[half:]}}])

    def _count(self, text: str) -> None:
        last, pause_ms = text.split()
        for n in range(int(last)):
            self._delta(content=f"{n}\n")
            time.sleep(int(pause_ms) / 1000)

    def _hold(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        reached, gate = self.server.model.gate(name)
        half = len(rest) // 2
        self._delta(content=rest[:half])
        reached.set()
        while not gate.wait(0.1):
            self._chunk(b": still there\n\n")  # fails when the agent is not
        self._delta(content=rest[half:])

    def _stay(self, text: str) -> None:
        while not self.server.model.ending.wait(0.02):
            self._delta(content=".")

    def _drop(self, text: str) -> None:
        self._delta(content="half an ans")
        self.connection.shutdown(2)
        raise BrokenPipeError


_ENVELOPE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake-1"}
