"""A model on loopback that does what the prompt says, one line for each of its answers.

    say TEXT · think TEXT | TEXT · tool NAME JSON [;; NAME JSON …] · count N (pieces, as fast as it can)
    hold NAME TEXT (half of it, then the rest once the test calls `release`) · error CODE TEXT · flaky N TEXT
    drop (the connection, in the middle) · hang (until the agent goes away)

The line is the one after as many as the model has answered since the prompt; behind the last one it says `done` and
what the last tool gave. A request without tools is for a title, or for a summary.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

PATIENCE_S = 60.0


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def _line(body: dict[str, Any]) -> tuple[str, str]:
    """What is to be done for this request."""
    if not body.get("tools"):
        return "say", "a title"
    messages = body["messages"]
    asked = max(n for n, one in enumerate(messages) if one["role"] == "user")
    answered = sum(one["role"] == "assistant" for one in messages[asked + 1 :])
    script = _text(messages[asked]["content"]).strip().splitlines()
    if answered >= len(script):
        results = [_text(one.get("content")) for one in messages if one["role"] == "tool"]
        return "say", f"done: {results[-1].strip()}" if results else "done"
    verb, _, rest = script[answered].strip().partition(" ")
    return (verb, rest) if verb in _VERBS else ("say", f"echo: {script[answered]}")


class Model:
    """One server, with what it was asked. Used as a context."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.gates: dict[str, threading.Event] = {}
        self.reached: dict[str, threading.Event] = {}
        self.failed: Counter[str] = Counter()
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
        verb, rest = _line(body)
        if verb == "flaky":
            times, _, rest = rest.partition(" ")
            self.server.model.failed[rest] += 1
            verb, rest = ("error", "503 overloaded") if self.server.model.failed[rest] <= int(times) else ("say", rest)
        if verb == "error":
            code, _, message = rest.partition(" ")
            kind = "server_error" if int(code) >= 500 else "invalid_request_error"
            self._json(int(code), {"error": {"message": message, "type": kind}})
            return
        try:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            getattr(self, f"_{verb}")(rest)
            self._chunk(b"")
        except OSError:
            self.close_connection = True  # the agent went away

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
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self._event(
            {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake-1", "choices": [choice]}
        )

    def _finish(self, why: str = "stop") -> None:
        self._delta(why)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        self._event(
            {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "fake-1",
                "choices": [],
                "usage": usage,
            }
        )
        self._event(None)

    def _words(self, text: str, key: str = "content") -> None:
        for n, word in enumerate(text.split(" ")):
            self._delta(**{key: (" " if n else "") + word})

    def _say(self, text: str) -> None:
        self._words(text)
        self._finish()

    def _think(self, text: str) -> None:
        thought, _, answer = text.partition(" | ")
        self._words(thought, "reasoning_content")
        self._words(answer)
        self._finish()

    def _tool(self, text: str) -> None:
        number = len(self.server.model.requests)
        for n, one in enumerate(text.split(";;")):
            name, _, given = one.strip().partition(" ")
            half = len(given) // 2
            call = {"index": n, "id": f"call_{number}_{n}", "type": "function"}
            self._delta(tool_calls=[{**call, "function": {"name": name, "arguments": given[:half]}}])
            self._delta(tool_calls=[{"index": n, "function": {"arguments": given[half:]}}])
        self._finish("tool_calls")

    def _count(self, text: str) -> None:
        for n in range(int(text)):
            self._delta(content=f"{n} ")
        self._finish()

    def _hold(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        reached, gate = self.server.model.gate(name)
        words = rest.split(" ")
        self._words(" ".join(words[: len(words) // 2]) + " ")
        reached.set()
        self._until(gate)
        self._words(" ".join(words[len(words) // 2 :]))
        self._finish()

    def _hang(self, text: str) -> None:
        self._words("so far ")
        reached, _ = self.server.model.gate("hang")
        reached.set()
        self._until(self.server.model.ending)

    def _drop(self, text: str) -> None:
        self._words("half an ans")
        self.close_connection = True
        self.connection.shutdown(2)
        raise BrokenPipeError

    def _until(self, gate: threading.Event) -> None:
        """A comment now and then shows whether the agent is still there."""
        while not gate.wait(0.1):
            self._chunk(b": still there\n\n")


_VERBS = ("say", "think", "tool", "count", "hold", "error", "flaky", "drop", "hang")
