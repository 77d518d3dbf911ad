"""The real codex, from npm: one turn with a tool and a permission always, the whole contract with --long."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

import pytest

from tests.agents import kits
from tests.agents.contract import Contract
from tests.agents.kits import Kit
from tests.agents.stage import Stage
from tests.needs import needs
from tests.world import World

pytestmark = needs("codex")


@pytest.mark.long
class TestCodex(Contract):
    """All of it, in the long form."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """The real one."""
        return kits.codex(world)


def test_a_turn_with_a_tool_and_a_permission_on_the_real_codex(world: World) -> None:
    with kits.codex(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn()
        prompt = kit.steps(kit.think("let me see"), kit.ask("file"), kit.say("all done"))
        assert stage.exec(prompt, "--no-wait-input").returncode == 7
        world.ok("approve", "it")
        world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 1
        assert "all done" in stage.tells()
        assert stage.agent()["usage"]["output_tokens"] > 0
        assert stage.events("tool")[-1]["ok"] is True
        assert "let me see" in stage.events("reasoning")[0]["text"]
        world.end()


@needs("strace")
def test_codex_calls_nobody_but_the_model_on_loopback(world: World) -> None:
    with kits.codex(world) as kit:
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


def test_the_settings_are_said_and_checked_on_every_resume(world: World) -> None:
    """codex would come back from a resume in the sandbox of its own configuration."""
    with kits.codex(world) as kit:
        kit.config = kit.config.replace('sandbox = "danger-full-access"', 'sandbox = "workspace-write"')
        kit.prepare(world)
        home = f"{world.folder}/codex-home/config.toml"
        with open(home, encoding="utf-8") as file:
            text = file.read()
        with open(home, "w", encoding="utf-8") as file:
            file.write(f'sandbox_mode = "danger-full-access"\n{text}')
        stage = Stage(world, kit)
        session = stage.spawn()
        stage.says(kit.say("before"))
        stage.kill_server()
        assert "prompt number 2" in stage.says(kit.recall())
        with open(f"{world.state}/sessions/{session}/harness.jnl", encoding="ascii") as file:
            records = [json.loads(line.partition(" ")[2]) for line in file]
        opened = [one for record in records for one in record.get("happened", ()) if one["happening"] == "opened"]
        assert [one["details"]["sandbox"]["type"] for one in opened] == ["workspaceWrite", "workspaceWrite"]
        world.end()
