"""The real codex, from npm: one turn with a tool and a permission always, the whole contract with --long."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from tests.harness import kits
from tests.harness.contract import Contract, Stage
from tests.harness.kits import Kit
from tests.world import World

pytestmark = pytest.mark.skipif(kits.codex_program() is None, reason="codex is not installed: .ci/harnesses codex")


class TestCodex(Contract):
    """All of it, in the long form."""

    @pytest.fixture(autouse=True)
    def _only_if_asked(self, long_form: bool) -> None:
        if not long_form:
            pytest.skip("the whole contract on the real codex runs with --long")

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
