"""The contract on the real Claude Code: one turn with a tool and a permission always, all of it in the long form."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager

import pytest

from tests.agents.claude import kit as kits
from tests.agents.contract import Contract
from tests.agents.kits import Kit
from tests.agents.stage import Stage
from tests.needs import needs
from tests.world import World


@needs("claude")
def test_claude_runs_a_tool_with_a_permission(world: World) -> None:
    with kits.claude(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn()
        asked = stage.exec(kit.steps(kit.say("well"), kit.ask("file"), kit.say("over")), "--no-wait-input")
        assert asked.returncode == 7
        world.ok("approve", "it")
        world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 1
        assert stage.tells().splitlines()[-1] == "over"
        assert stage.agent()["usage"]["input_tokens"] == 22
        world.end()


@needs("claude", "strace")
def test_claude_calls_nobody_but_the_model_on_loopback(world: World) -> None:
    with kits.claude(world) as kit:
        seen = f"{world.folder}/connects"
        kit.config = kit.config.replace(
            'argv = ["', f'argv = ["strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", "{seen}", "'
        )
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn("it", "--permission", "allow")
        stage.says(kit.steps(kit.tool("echo hello"), kit.say("done")))
        world.end()
        with open(seen, encoding="utf-8", errors="replace") as file:
            calls = [line for line in file if "AF_INET" in line]
        assert calls
        assert [line for line in calls if '"127.0.0.1"' not in line] == []


@pytest.mark.long  # it takes seconds to start, and each session is a process
class TestClaude(Contract):
    """All of it, and what only Claude does."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """Claude Code."""
        return kits.claude(world)

    def test_always_holds_for_the_session_and_is_written_nowhere(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.exec(stage.kit.tool("touch file"), "--no-wait-input").returncode == 7
        stage.world.ok("approve", "it", "--always")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.exec(stage.kit.tool("touch file"), "--no-wait-input").returncode == 0
        assert os.listdir(stage.folder()) == ["file"]
        assert [one["reply"] for one in stage.events("answered")] == ["always"]

    def test_trouble_that_passes_is_told_and_the_turn_completes(self, stage: Stage) -> None:
        stage.spawn()
        assert "over" in stage.says(stage.kit.steps("retry busy", stage.kit.say("over")))
        assert [one["again"] for one in stage.events("error")] == [True]

    def test_a_session_that_was_never_spoken_to_survives_its_server(self, stage: Stage) -> None:
        stage.spawn()
        stage.kill_server()
        assert "fine" in stage.says(stage.kit.say("fine"))

    def test_a_conversation_that_is_not_there_cannot_be_resumed(self, stage: Stage) -> None:
        missing = "00000000-0000-4000-8000-000000000000"
        refused = stage.world.run("spawn", "--profile", "it", "--resume", missing, "--json")
        assert refused.returncode != 0
        assert "No conversation found" in json.loads(refused.stderr)["message"]
