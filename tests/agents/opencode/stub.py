"""A server that looks like opencode to its client and can misbehave in every way: loopback, in this process.

It keeps conversations and messages, and sends what a test says on the streams of events.
"""

from __future__ import annotations

import base64
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

PASSWORD = "known to nobody"


class Stub:
    """Used as a context. `hang`, `garbage` and `fail` hold paths that are answered so; `fail` with the status."""

    def __init__(self) -> None:
        self.lets_in_everybody = False
        self.hang: set[str] = set()
        self.garbage: dict[str, bytes] = {}
        self.fail: dict[str, int] = {}
        self.cut: dict[str, int] = {}  # connections without an answer, by path: that many times
        self.asked: list[tuple[str, str, Any]] = []
        self.sessions: dict[str, dict[str, Any]] = {}
        self.messages: dict[str, list[dict[str, Any]]] = {}
        self.status: dict[str, Any] = {}
        self.permissions: list[dict[str, Any]] = []
        self.ending = threading.Event()
        self._streams: list[queue.Queue[bytes | None]] = []
        self._lock = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def notes(self) -> dict[str, str]:
        """As a launch has them."""
        return {"port": str(self._server.server_address[1]), "password": PASSWORD}

    def push(self, kind: str, **fields: Any) -> None:
        """An event, on all streams."""
        payload = json.dumps({"id": "evt_1", "type": kind, "properties": fields}).encode()
        self.push_raw(b"data: " + payload + b"\n\n")

    def push_raw(self, data: bytes | None) -> None:
        """Bytes on all streams; None ends them."""
        with self._lock:
            for stream in self._streams:
                stream.put(data)
            if data is None:
                self._streams.clear()

    def begin_stream(self) -> queue.Queue[bytes | None]:
        """One more listener."""
        stream: queue.Queue[bytes | None] = queue.Queue()
        stream.put(b'data: {"id":"evt_0","type":"server.connected","properties":{}}\n\n')
        with self._lock:
            self._streams.append(stream)
        return stream

    def did(self, method: str, path: str) -> int:
        """How often that was asked."""
        return sum(one[:2] == (method, path) for one in self.asked)

    def wait_until_did(self, method: str, path: str, times: int) -> None:
        """Until it was asked so often."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.did(method, path) >= times, timeout=60)

    def note(self, method: str, path: str, body: Any) -> None:
        """It was asked."""
        with self._lock:
            self.asked.append((method, path, body))
            self._lock.notify_all()

    def __enter__(self) -> Stub:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.ending.set()
        self.push_raw(None)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """What a well-behaved server says."""
        words = path.strip("/").split("/")
        fixed: dict[str, Any] = {
            "/global/health": {"healthy": True, "version": "1.18.33"},
            "/config/providers": {"providers": [{"id": "fake", "models": {"fake-1": {}}}]},
            "/config": {"model": "fake/fake-1"},
            "/session/status": self.status,
            "/permission": self.permissions,
            "/question": [],
        }
        if path in fixed:
            return 200, fixed[path]
        if path == "/session":
            return self._sessions(method, query, body)
        if words[0] == "session" and words[1] not in self.sessions:
            return 404, {"name": "NotFoundError", "data": {"message": f"Session not found: {words[1]}"}}
        return self._session(method, words, body) if words[0] == "session" else (200, True)

    def _sessions(self, method: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        if method == "GET":
            return 200, list(self.sessions.values())
        native = f"ses_{len(self.sessions)}"
        self.sessions[native] = {"id": native, "directory": query["directory"], "version": "1.18.33", **body}
        self.messages[native] = []
        return 200, self.sessions[native]

    def _session(self, method: str, words: list[str], body: Any) -> tuple[int, Any]:
        native, rest = words[1], words[2:]
        if not rest:
            return 200, self.sessions[native]
        if rest[0] == "prompt_async":
            if body["messageID"] not in [one["info"]["id"] for one in self.messages[native]]:
                info = {"id": body["messageID"], "sessionID": native, "role": "user", "time": {"created": 1}}
                self.messages[native].append({"info": info, "parts": body["parts"]})
            return 204, None
        if rest == ["message"]:
            return 200, self.messages[native]
        if rest[0] == "message":
            found = [one for one in self.messages[native] if one["info"]["id"] == rest[1]]
            return (200, found[0]) if found else (404, {"name": "NotFoundError", "data": {"message": "no message"}})
        return 200, [] if rest == ["children"] else True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    stub: Stub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quietly."""

    def do_GET(self) -> None:
        self._handle("GET")

    def do_POST(self) -> None:
        self._handle("POST")

    def do_PATCH(self) -> None:
        self._handle("PATCH")

    def _handle(self, method: str) -> None:
        stub, url = self.server.stub, urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        expected = "Basic " + base64.b64encode(f"opencode:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != expected and not stub.lets_in_everybody:
            self._send(401, b"")
            return
        stub.note(method, url.path, body)
        if stub.cut.get(url.path, 0) > 0:
            stub.cut[url.path] -= 1
            self.close_connection = True
            return
        if url.path in stub.hang:
            stub.ending.wait(60)
            self.close_connection = True
            return
        if url.path in stub.garbage:
            self._send(200, stub.garbage[url.path])
        elif url.path in stub.fail:
            self._send(stub.fail[url.path], b'{"name":"UnknownError","data":{"message":"boom"}}')
        elif url.path == "/event":
            self._stream()
        else:
            status, value = stub.answer(method, url.path, query, body)
            self._send(status, b"" if value is None else json.dumps(value).encode())

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self) -> None:
        stream = self.server.stub.begin_stream()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while (data := stream.get()) is not None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass
        self.close_connection = True
