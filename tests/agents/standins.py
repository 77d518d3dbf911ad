"""Programs that stand in for codex, claude and opencode where only their first words matter: `standins.py WHICH …`.

What they are is in the environment: STANDIN_VERSION, STANDIN_MODELS (of opencode), STANDIN_OPEN (it lets everybody
in), STANDIN_TAKEN (somebody else has its port).
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

VERSION = os.environ.get("STANDIN_VERSION", "9.9.9")
Message = dict[str, Any]


def codex(message: Message) -> Message | None:
    """It says hello and begins threads."""
    if "id" not in message:
        return None
    params = message["params"]
    if message["method"] == "initialize":
        return {"id": message["id"], "result": {"userAgent": f"codex/{VERSION} (x)"}}
    sandbox = {"type": "workspaceWrite"}
    thread = {"thread": {"id": "t1"}, "cwd": params.get("cwd"), "sandbox": sandbox, "approvalPolicy": "on-request"}
    return {"id": message["id"], "result": thread}


def claude(message: Message) -> Message | None:
    """It says hello and takes every setting."""
    if message["type"] != "control_request":
        return None
    given = {"claude_code_version": VERSION}
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": message["request_id"], "response": given},
    }


class Opencode(BaseHTTPRequestHandler):
    """As much of it as a conversation needs to be begun."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quietly."""

    def do_GET(self) -> None:
        """A look."""
        path = self.path.partition("?")[0]
        if "STANDIN_TAKEN" in os.environ:
            self._json(404, None)
        elif "STANDIN_OPEN" not in os.environ and "Authorization" not in self.headers:
            self._json(401, None)
        elif path == "/event":
            self._events()
        else:
            models: Message = {name: {} for name in os.environ.get("STANDIN_MODELS", "").split()}
            providers = [{"id": "some", "models": models}]
            known: Message = {"/config/providers": {"providers": providers}, "/config": {}, "/session": []}
            self._json(200, known.get(path, {"healthy": True, "version": VERSION}))

    def do_POST(self) -> None:
        """A conversation."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        directory = parse_qs(urlsplit(self.path).query)["directory"][0]
        self._json(200, {"id": "ses_1", "directory": directory, "version": VERSION})

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b'data: {"id":"evt_0","type":"server.connected","properties":{}}\n\n')
        self.wfile.flush()
        self.rfile.read(1)  # until the other side goes

    def _json(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def opencode(port: int) -> None:
    """Until it is killed."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Opencode)
    server.daemon_threads = True
    if "STANDIN_TAKEN" not in os.environ:
        print(f"opencode server listening on http://127.0.0.1:{port}", flush=True)
    server.serve_forever()


def main() -> None:
    """Which one, and as long as it is needed."""
    which = sys.argv[1]
    if which == "opencode":
        opencode(int(sys.argv[-1]))
    answer = {"codex": codex, "claude": claude}[which]
    for line in sys.stdin:
        if (said := answer(json.loads(line))) is not None:
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
