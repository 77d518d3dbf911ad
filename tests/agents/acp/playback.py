"""Recorded agents as the other side of a backend: what the recording asked it asks, and it hears what was answered.

A recording has one message a line, with its direction: `out` to the agent, `in` from it. Its client numbered its
requests; ours have names, so the answers' ids are changed to those. What only we ask is answered as every agent does.
"""

from __future__ import annotations

import json
import os
from typing import Any

from orchctl.agents.acp.open import MARK
from orchctl.agents.acp.server import AcpServer
from orchctl.agents.interface import Opening, Prompt, Reply
from orchctl.agents.jsonrpc import Name
from tests.agents.listening import Listening

FOLDER = os.path.join(os.path.dirname(__file__), "recorded")
Message = dict[str, Any]


def recording(name: str) -> list[Message]:
    """Its lines."""
    with open(os.path.join(FOLDER, f"{name}.ndjson"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def names() -> list[str]:
    """All there are."""
    return sorted(name.removesuffix(".ndjson") for name in os.listdir(FOLDER))


class Playback:
    """One recording, played to its end. `lines` is what the backend heard."""

    def __init__(self, name: str) -> None:
        self.host = Listening()
        self.server = AcpServer(self.host)
        self.lines: list[bytes] = []
        self.openings: list[Opening] = []
        self._ids: dict[object, str] = {}  # the recording's → ours
        self._sessions: dict[str, str] = {}  # the agent's → ours
        self._new: dict[object, str] = {}
        self.prompts = 0
        for row in recording(name):
            if "junk" in row:
                self.hear(row["junk"].encode())
            elif row["dir"] == "in":
                self._in(row["msg"])
            else:
                self._out(row["msg"])

    def hear(self, line: bytes) -> None:
        """One line; then what only we ask is answered."""
        self.lines.append(line)
        self.server.hear(line)
        self._attend()

    def _in(self, message: Message) -> None:
        if "method" not in message and message.get("id") in self._ids:
            result = message.get("result")
            if message["id"] in self._new and isinstance(result, dict) and "sessionId" in result:
                self._sessions[result["sessionId"]] = self._new[message["id"]]
            message = {**message, "id": self._ids[message["id"]]}
        self.hear(json.dumps(message).encode())

    def _out(self, message: Message) -> None:
        method, params = message.get("method"), message.get("params") or {}
        session = self._sessions.get(str(params.get("sessionId")), "")
        if method == "initialize":
            self.server.begin()
        elif method in ("session/new", "session/load", "session/resume"):
            self._open(method, message["id"], params)
        elif method == "session/prompt" and session not in self.server._sent:  # we never send a second one
            self.prompts += 1
            self.server.send(session, Prompt(text=params["prompt"][0]["text"], once=f"p{self.prompts}"))
        elif method == "session/cancel":
            self.server.interrupt(session)
        elif method is None:
            self._reply(message)
        asked = [one for one in self.host.take_written() if "id" in one and one.get("method") not in (None, MARK)]
        if method is not None and "id" in message:
            self._ids[message["id"]] = asked[0]["id"] if asked else Name(what="other", more=method).id
        self._answer_marks()

    def _open(self, method: str, number: object, params: Message) -> None:
        session = f"s{len(self.openings) + 1}"
        native = {"id": params["sessionId"], "can": method.removeprefix("session/")} if "sessionId" in params else {}
        self._new[number] = session
        if native:
            self._sessions[native["id"]] = session
        self.openings.append(Opening(session=session, cwd=params["cwd"], native=native))
        self.server.open(self.openings[-1])

    def _reply(self, message: Message) -> None:
        """To what the agent asked under this number."""
        result = message.get("result") or {}
        outcome = result.get("outcome") or {}
        content = result.get("content")
        chosen = outcome.get("optionId") or next(
            iter(content.values()) if isinstance(content, dict) else iter(()), None
        )
        for session, talk in self.server._talks.items():
            for request, asked in list(talk.open.items()):
                if asked.number == message["id"] and chosen is not None:
                    self.server.reply(session, request, Reply(choice=chosen))

    def _attend(self) -> None:
        """What the backend asks by itself: settings are taken."""
        for one in self.host.take_written():
            if str(one.get("method", "")).startswith("session/set_"):
                self.hear(json.dumps({"jsonrpc": "2.0", "id": one["id"], "result": {}}).encode())
        self._answer_marks()

    def _answer_marks(self) -> None:
        """Agents refuse what they do not know."""
        for name in sorted(self.server._due):
            error = {"code": -32601, "message": '"Method not found": ' + MARK}
            self.hear(json.dumps({"jsonrpc": "2.0", "id": name, "error": error}).encode())
