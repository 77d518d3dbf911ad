"""The model's HTTP server, on a free port of the loopback address."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from tests.agents.model import anthropic, openai
from tests.agents.model.script import Fail, acts

NO_MODEL = "none-such"  # a service refuses the name of a model that it does not have
DIALECTS: dict[str, ModuleType] = {"/messages": anthropic, "/chat/completions": openai}


class Model(ThreadingHTTPServer):
    """Knows what it was asked, and when it is to go."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.gone = threading.Event()
        self._lock = threading.Lock()
        self._before: Counter[str] = Counter()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    def note(self, path: str, body: dict[str, Any]) -> int:
        """One more request; its number."""
        with self._lock:
            self.requests.append({"path": path, "body": body})
            return len(self.requests)

    def count(self, what: str) -> int:
        """How often this was asked before."""
        with self._lock:
            self._before[what] += 1
            return self._before[what] - 1

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that goes away in the middle is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        """Some look whether anybody is there."""
        self._json({}, 200)

    def do_GET(self) -> None:
        """Which models there are."""
        models = {"object": "list", "data": [{"id": "fake-1", "object": "model", "type": "model"}], "has_more": False}
        self._json(models, 200) if self.path.startswith("/v1/models") else self._json({}, 404)

    def do_POST(self) -> None:
        """A request for an answer."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        number = self.server.note(path, body)
        dialect = next((module for end, module in DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:
            self._json({"input_tokens": 10} if path.endswith("/count_tokens") else {}, 200 if "count" in path else 404)
            return
        known = body.get("model") != NO_MODEL
        made = acts(dialect.asked(body), self.server.count) if known else [Fail(404, f"model: {NO_MODEL}")]
        if isinstance(made[-1], Fail):
            self._json(dialect.error(made[-1]), made[-1].status)
        elif not body.get("stream"):
            self._json(dialect.whole(body, made, number), 200)
        else:
            self._stream(dialect.events(body, made, number))

    def _json(self, found: dict[str, Any], status: int) -> None:
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Iterator[tuple[str, dict[str, Any], float]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, event, pause_s in events:
            if pause_s and self.server.gone.wait(pause_s):
                self.close_connection = True
                return
            head = f"event: {name}\n" if name else ""
            self._chunk(f"{head}data: {json.dumps({**({'type': name} if name else {}), **event})}\n\n".encode())
        if not name:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


@contextlib.contextmanager
def model() -> Iterator[Model]:
    """For as long as it is needed."""
    made = Model()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        made.gone.set()
        made.shutdown()
        thread.join()
        made.server_close()
