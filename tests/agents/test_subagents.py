"""What a sub-agent of a real program asks is asked under the session that it works for; yes runs it once, no never."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.agents import kits
from tests.agents.acp import kits as acp_kits
from tests.agents.claude import kit as claude_kit
from tests.agents.kits import Kit
from tests.agents.opencode.kit import opencode
from tests.agents.stage import Stage
from tests.needs import needs
from tests.world import World

Maker = Callable[[World], AbstractContextManager[Kit]]


@pytest.mark.parametrize(
    "maker",
    [
        pytest.param(kits.codex, id="codex", marks=needs("codex")),
        pytest.param(opencode, id="opencode", marks=needs("opencode")),
        pytest.param(claude_kit.claude, id="claude", marks=needs("claude")),
        pytest.param(acp_kits.qwen, id="qwen", marks=needs("qwen")),
    ],
)
def test_what_a_sub_agent_asks_is_asked_under_its_session(world: World, maker: Maker) -> None:
    with maker(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        session = stage.spawn()
        stage.spawn("other")
        for verb, file in (("approve", "yes"), ("deny", "no")):
            asked = stage.exec(kit.steps(kit.child(kit.ask(file)), kit.say(f"so {verb}")), "--no-wait-input")
            assert asked.returncode == 7, asked
            if kit.asks_for_children:
                world.ok("approve", "it")
                world.ok("wait", "it", "--for", "needs-input")
            (pending,) = stage.pending()
            assert (pending["session"], pending["name"], pending["need"]) == (session, "it", "permission")
            assert file in pending["title"]
            assert pending["subagent"] or kit.asks_for_children  # qwen does not say who asks
            assert stage.touched(file) == 0
            stage.kill_supervisor()
            assert stage.pending() == [pending]
            world.ok(verb, "it", "--request", pending["request"])
            world.ok("wait", "it", "--for", "turn")
            assert stage.pending() == []
            again = world.run("approve", "it", "--request", pending["request"], "--json")
            assert (again.returncode, json.loads(again.stderr)["code"]) == (5, "request-gone")
        assert (stage.touched("yes"), stage.touched("no")) == (1, 0)
        asked_for = 4 if kit.asks_for_children else 2
        assert len(stage.events("needs-input")) == len(stage.events("answered")) == asked_for
        assert stage.events("needs-input", "other") == []
        assert "so approve" in stage.tells()
        assert ("so deny" in stage.tells()) is kit.goes_on
        world.end()
