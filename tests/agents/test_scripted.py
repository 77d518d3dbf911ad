"""The contract on the scripted harness, and what only its server can do: die, hang and talk nonsense when told to."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

from tests.agents import kits
from tests.agents.contract import Contract
from tests.agents.kits import Kit
from tests.agents.stage import Stage
from tests.world import World


class TestScripted(Contract):
    """All of it."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """The fake."""
        return kits.scripted(world)

    def test_garbage_from_the_server_is_passed_over(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.says(stage.kit.steps("garbage", stage.kit.say("sense"))).strip() == "sense"

    def test_what_nobody_knows_is_counted_and_told_to_nobody(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.says(stage.kit.steps("odd", stage.kit.say("even"))).strip() == "even"
        assert stage.agent()["unknown"] == 2

    def test_trouble_that_passes_is_told_and_the_turn_completes(self, stage: Stage) -> None:
        stage.spawn()
        assert "over" in stage.says(stage.kit.steps("retry", stage.kit.say("over")))
        assert [one["again"] for one in stage.events("error")] == [True]

    def test_a_server_that_dies_in_its_turn_is_started_again(self, stage: Stage) -> None:
        stage.spawn()
        died = stage.exec(stage.kit.steps(stage.kit.say("last words"), "die"))
        assert died.returncode == 1
        assert "last words" in died.stdout.decode()
        assert "prompt number 2" in stage.says(stage.kit.recall())

    def test_what_a_child_conversation_asks_is_asked_under_its_session(self, stage: Stage) -> None:
        session = stage.spawn()
        stage.exec("subask play", "--no-wait-input")
        (pending,) = stage.pending()
        assert (pending["session"], pending["subagent"]) == (session, "child-1")

    def test_an_untested_version_is_warned_about(self, stage: Stage) -> None:
        stage.world.env["SCRIPTED_VERSION"] = "9.9"
        warned = stage.world.run("spawn", "--profile", "it")
        assert warned.returncode == 0
        assert b"9.9 is not tested" in warned.stderr

    def test_another_environment_has_another_server(self, stage: Stage) -> None:
        stage.spawn("one")
        stage.spawn("two")
        stage.spawn("three", "-e", "SCRIPTED_X=1")
        servers = [stage.agent(name)["server"] for name in ("one", "two", "three")]
        assert servers[0] == servers[1] != servers[2]

    def test_unknown_models_profiles_and_harnesses_are_refused(self, stage: Stage) -> None:
        for words, code, status in (
            (("--profile", "it", "--model", "huge"), "unknown-model", 2),
            (("--profile", "nowhere"), "unknown-profile", 2),
            (("-b", "codex", "--profile", "it"), "unknown-profile", 2),
        ):
            refused = stage.world.run("spawn", *words, "--json")
            assert (refused.returncode, json.loads(refused.stderr)["code"]) == (status, code)
        assert stage.world.json("list", "-a") == []

    def test_a_harness_that_is_not_installed_says_how_to_get_it(self, stage: Stage) -> None:
        stage.world.env["PATH"] = "/nowhere"
        refused = stage.world.run("spawn", "-b", "codex", "--json")
        told = json.loads(refused.stderr)
        assert (refused.returncode, told["code"]) == (127, "harness-not-installed")
        assert "npm install" in told["message"]
