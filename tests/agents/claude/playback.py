"""A recorded Claude as the other side of the backend.

The recordings, but for `prompted`, are of a host that gave its prompts no ids; so what Claude says of a prompt with an
id, and the echo of a reply, is put in where it would have been.
"""

from __future__ import annotations

import json
import os
from typing import Any

from orchctl.agents.claude.server import ClaudeServer
from orchctl.agents.interface import Opening, Prompt, Reply
from tests.agents.listening import Listening

FOLDER = os.path.join(os.path.dirname(__file__), "recorded")
OPENING = Opening(session="s", cwd="/w")
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
        self.server = ClaudeServer(self.host, "native")
        self.lines: list[bytes] = []
        self.prompts = 0
        self._queue: list[str] = []  # prompts that are not begun
        self.server.open(OPENING)
        (opening,) = self.host.take_written()
        self.hear({"type": "control_response", "response": {"subtype": "success", "request_id": opening["request_id"]}})
        for row in recording(name):
            if row["dir"] == "in":
                self._in(row["msg"])
            else:
                self._out(row["msg"])

    def hear(self, message: Message) -> None:
        """One line."""
        self.lines.append(json.dumps(message).encode())
        self.server.hear(self.lines[-1])

    def _in(self, message: Message) -> None:
        if message["type"] == "system" and message["subtype"] == "init" and self._queue:
            self._lifecycle("started", self._queue.pop(0))
        self.hear(message)

    def _out(self, message: Message) -> None:
        if message["type"] == "user":
            self.prompts += 1
            once = f"p{self.prompts}"
            self.server.send("s", Prompt(text=str(message["message"]["content"]), once=once))
            self._queue.append(once)
            self._lifecycle("queued", once)
        elif message["type"] == "control_response":
            behavior = message["response"]["response"]["behavior"]
            always = "updatedPermissions" in message["response"]["response"]
            self.server.reply("s", message["response"]["request_id"], Reply(choice="always" if always else behavior))
            self.hear(self.host.take_written()[-1])
        self.host.take_written()

    def _lifecycle(self, state: str, once: str) -> None:
        self.hear({"type": "command_lifecycle", "command_uuid": once, "state": state, "session_id": "native"})
