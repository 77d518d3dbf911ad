"""The contract on ACP agents: one without a model always, and Qwen Code in the long form."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from tests.agents.acp import kits
from tests.agents.contract import Contract
from tests.agents.kits import Kit
from tests.agents.stage import Stage
from tests.needs import needs
from tests.world import World


class TestSteps(Contract):
    """All of it, and what only an agent of ours can do."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """The agent without a model."""
        return kits.steps(world)

    def test_garbage_from_the_agent_is_passed_over_and_counted(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.says(stage.kit.steps("garbage", stage.kit.say("sense"))).strip() == "sense"
        assert stage.agent()["unknown"] == 3

    def test_what_nobody_knows_is_counted_and_what_nobody_serves_is_refused(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.says(stage.kit.steps("odd", stage.kit.say("even"))).strip() == "even"
        assert stage.agent()["unknown"] == 3

    def test_an_agent_that_dies_in_its_turn_is_started_again(self, stage: Stage) -> None:
        stage.spawn()
        died = stage.exec(stage.kit.steps(stage.kit.say("last words"), "die"))
        assert died.returncode == 1
        assert "last words" in died.stdout.decode()
        assert "prompt number 2" in stage.says(stage.kit.recall())

    def test_an_agent_that_passes_over_an_interrupt_is_replaced(self, stage: Stage) -> None:
        stage.kit.patient_s = 2.0
        stage.kit.prepare(stage.world)
        stage.spawn()
        with stage.working("deaf") as running:
            stage.world.ok("interrupt", "it")
            assert running.wait(60) == 1
        assert "fine" in stage.says(stage.kit.say("fine"))

    def test_a_question_in_a_permission_is_answered(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec("qwen Which colour?", "--no-wait-input")
        (pending,) = stage.pending()
        assert (pending["need"], pending["choices"]) == ("question", ["red", "blue"])
        stage.world.ok("answer", "it", "green")
        stage.world.ok("wait", "it", "--for", "turn")
        assert "the answer is green" in stage.tells()

    def test_always_is_the_agents_own_choice(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec(stage.kit.ask("file"), "--no-wait-input")
        stage.world.ok("approve", "it", "--always")
        stage.world.ok("wait", "it", "--for", "turn")
        assert [one["reply"] for one in stage.events("answered")] == ["forever"]
        assert stage.touched("file") == 1

    def test_a_refusal_fails_the_turn(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.exec("refuse").returncode == 1
        assert "refuses to go on" in stage.tells()

    def test_all_sessions_with_one_profile_share_a_process(self, stage: Stage) -> None:
        for name in ("one", "two", "three"):
            stage.spawn(name)
            assert stage.says("where", name).strip() == stage.folder(name)
        assert len({stage.agent(name)["server"] for name in ("one", "two", "three")}) == 1


@pytest.fixture
def awkward(world: World, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """An agent of the manners that the test names."""
    with kits.steps(world, **request.param) as kit:
        kit.prepare(world)
        yield Stage(world, kit)
        world.end()


LOADING = {"ACP_CAN": "load", "ACP_MODES": "auto default"}  # it resumes by telling all again, and by itself asks nobody


@pytest.mark.parametrize("awkward", [LOADING], indirect=True)
def test_what_an_agent_tells_again_is_not_told_again(awkward: Stage) -> None:
    awkward.spawn()
    awkward.says("say before")
    native = awkward.agent()["native"]["id"]
    assert awkward.exec("die").returncode == 1
    assert "prompt number 3" in awkward.says("recall")
    assert awkward.agent()["native"]["id"] == native
    awkward.world.ok("kill", "it")
    awkward.spawn("again", "--resume", native)
    assert "prompt number 4" in awkward.says("recall", "again")
    assert "said before" not in awkward.tells() + awkward.tells("again")
    assert awkward.events("tool") == awkward.events("tool", "again") == []


@pytest.mark.parametrize("awkward", [LOADING], indirect=True)
def test_the_mode_is_one_in_which_somebody_is_asked(awkward: Stage) -> None:
    awkward.spawn()
    assert b"orchctl:settle:" in awkward.world.log(awkward.agent()["server"])


@pytest.mark.parametrize("awkward", [{"ACP_SPEAKS": "2"}], indirect=True)
def test_an_agent_of_another_protocol_is_refused(awkward: Stage) -> None:
    refused = awkward.world.run("spawn", "--profile", "it", "--json")
    told = json.loads(refused.stderr)
    assert told["code"] == "unfit"
    assert "version 2" in told["message"]


@pytest.mark.parametrize("awkward", [{"ACP_CAN": "close"}], indirect=True)
def test_a_conversation_that_cannot_be_resumed_begins_anew_and_says_so(awkward: Stage) -> None:
    awkward.spawn()
    awkward.says("say before")
    died = awkward.exec("die")
    assert died.returncode == 1
    assert "prompt number 1" in awkward.says("recall")
    assert "not-resumed" in {one["code"] for one in awkward.events("error")}
    assert awkward.world.run("spawn", "--profile", "it", "--resume", "c123", "--json").returncode != 0


@pytest.mark.parametrize("awkward", [{}], indirect=True)
def test_a_model_that_cannot_be_chosen_is_refused(awkward: Stage) -> None:
    refused = awkward.world.run("spawn", "--profile", "it", "--model", "huge", "--json")
    assert json.loads(refused.stderr)["code"] == "not-offered"


def test_a_profile_without_an_agent_is_told_what_it_needs(world: World) -> None:
    refused = world.run("spawn", "-b", "acp", "--json")
    assert refused.returncode == 127
    assert "argv" in json.loads(refused.stderr)["message"]


@pytest.mark.long  # a real agent takes seconds to start
class TestQwen(Contract):
    """All of it on a real agent."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """Qwen Code."""
        return kits.qwen(world)

    def test_a_conversation_goes_on_in_another_session(self, stage: Stage) -> None:
        """In the same directory: it cannot close a conversation, and moves none that it holds to another directory."""
        stage.spawn()
        stage.says(stage.kit.say("first"))
        native = stage.agent()["native"]["id"]
        stage.world.ok("kill", "it")
        place = ("-w", stage.folder(), "--name", "again")
        stage.world.ok("spawn", "--profile", stage.kit.profile, *place, "--resume", native)
        assert "prompt number 2" in stage.says(stage.kit.recall(), "again")
        assert stage.agent("again")["native"]["id"] == native

    def test_a_server_that_hangs_is_replaced(self, stage: Stage) -> None:
        """By itself it is silent for some seconds now and then."""
        stage.kit.patient_s = 20.0
        stage.kit.prepare(stage.world)
        stage.spawn()
        stage.says(stage.kit.say("before"))
        with stage.working(stage.kit.stay()) as running:
            stopped = stage.server()
            os.kill(stopped, signal.SIGSTOP)
            stage.world.ok("interrupt", "it")
            assert running.wait(60) == 1
        assert "fine" in stage.says(stage.kit.say("fine"))
        assert stage.server() != stopped


@needs("qwen")
def test_a_real_agent_runs_a_tool_with_a_permission(world: World) -> None:
    with kits.qwen(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn()
        asked = stage.exec(kit.steps(kit.say("well"), kit.ask("file"), kit.say("over")), "--no-wait-input")
        assert asked.returncode == 7
        stage.world.ok("approve", "it")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 1
        assert stage.tells().splitlines()[-1] == "over"
        world.end()


@needs("qwen", "strace")
def test_a_real_agent_calls_nobody_but_the_model_on_loopback(world: World) -> None:
    with kits.qwen(world) as kit:
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
