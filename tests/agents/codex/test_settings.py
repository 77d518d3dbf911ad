"""What is said of a thread whenever it is begun, resumed or brought back."""

from __future__ import annotations

import json
from typing import Any

from orchctl.agents.codex.server import CodexServer
from orchctl.agents.interface import Opening
from tests.agents.codex.test_translate import Listener

TOLD = {"ORCHCTL_SESSION": "s1", "ORCHCTL_MANAGER": "orchestrator:one-1"}
SET = {f"shell_environment_policy.set.{name}": value for name, value in TOLD.items()}  # one by one: it takes none away


def hear(server: CodexServer, **message: Any) -> None:
    """As a line."""
    server.hear(json.dumps({"jsonrpc": "2.0", **message}).encode())


def test_what_commands_are_to_see_is_said_each_time() -> None:
    listener = Listener()
    server = CodexServer(listener)
    opening = Opening(session="s1", cwd="/w", tools_env=TOLD)
    server.open(opening)
    asked = listener.written[-1]
    thread = {"thread": {"id": "t1"}, "sandbox": {"type": "workspaceWrite"}, "approvalPolicy": "on-request"}
    hear(server, id=asked["id"], result={**thread, "cwd": "/w"})
    hear(server, method="thread/closed", params={"threadId": "t1"})  # by itself: it is brought back
    again = listener.written[-1]
    hear(server, id=again["id"], error={"code": -1, "message": "no rollout found for t1"})  # it never had a turn
    anew = listener.written[-1]
    assert [one["method"] for one in (asked, again, anew)] == ["thread/start", "thread/resume", "thread/start"]
    assert [one["params"]["config"] for one in (asked, again, anew)] == [SET] * 3


def test_a_thread_that_a_new_supervisor_knows_is_brought_back_with_the_same() -> None:
    listener = Listener()
    server = CodexServer(listener)
    server.know(Opening(session="s1", cwd="/w", tools_env=TOLD, native={"id": "t1"}))
    hear(server, method="thread/closed", params={"threadId": "t1"})
    (asked,) = listener.written
    assert (asked["params"]["threadId"], asked["params"]["config"]) == ("t1", SET)
