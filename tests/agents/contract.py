"""What holds for every harness. A backend's tests subclass `Contract` and say which kit it is tried with.

Everything is done through the command line and the client, on real processes; prompts tell the agent what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from orchctl.errors import OrchctlError
from tests.agents.kits import Kit
from tests.agents.stage import Stage
from tests.world import World, until


class Contract:
    """Each test gets a stage with a fresh world."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """Said by the subclass."""
        raise NotImplementedError

    @pytest.fixture
    def stage(self, world: World) -> Iterator[Stage]:
        """The harness, configured."""
        with self.kit(world) as kit:
            kit.prepare(world)
            yield Stage(world, kit)
            world.end()

    # turns

    def test_a_prompt_is_answered_and_the_turn_completes(self, stage: Stage) -> None:
        stage.spawn()
        assert "hello over there" in stage.says(stage.kit.say("hello over there"))
        assert stage.agent()["turns"] == 1
        assert stage.agent()["native"]["id"]
        assert [(one["phase"], one.get("end")) for one in stage.events("turn")] == [
            ("started", None),
            ("finished", "completed"),
        ]

    def test_a_session_can_be_spawned_with_its_first_prompt(self, stage: Stage) -> None:
        stage.spawn("it", "--prompt", stage.kit.say("first words"))
        stage.world.ok("wait", "it", "--for", "turn")
        assert "first words" in stage.tells()

    def test_the_agent_remembers_what_was_said(self, stage: Stage) -> None:
        stage.spawn()
        stage.says(stage.kit.say("one"))
        assert "prompt number 2" in stage.says(stage.kit.recall())
        assert [one["exit_code"] for one in stage.world.json("history", "it")] == [0, 0]

    def test_text_streams_in_order_and_whole(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.says(stage.kit.count(200, 1)).split() == [str(number) for number in range(200)]

    def test_reasoning_is_told_and_not_in_the_transcript(self, stage: Stage) -> None:
        stage.spawn()
        said = stage.says(stage.kit.steps(stage.kit.think("quietly thinking"), stage.kit.say("done")))
        assert "quietly" not in said
        assert "quietly thinking" in "".join(one["text"] for one in stage.events("reasoning"))

    def test_a_tool_call_is_told_from_start_to_end(self, stage: Stage) -> None:
        stage.spawn("it", "--permission", "allow")
        said = stage.says(stage.kit.steps(stage.kit.tool("echo from-the-tool"), stage.kit.say("ready")))
        assert "ready" in said
        tools = stage.events("tool")
        assert tools[0]["phase"] == "started"
        assert (tools[-1]["phase"], tools[-1]["ok"]) == ("finished", True)
        assert {one["id"] for one in tools} == {tools[0]["id"]}

    def test_a_turn_that_fails_says_why_and_the_next_one_works(self, stage: Stage) -> None:
        stage.spawn()
        failed = stage.exec(stage.kit.fail("no more tokens"))
        assert failed.returncode == 1
        assert "no more tokens" in stage.tells()
        assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["failed"]
        assert stage.events("error")
        assert "fine" in stage.says(stage.kit.say("fine"))

    # permissions and questions

    def test_a_permission_is_asked_for_and_given_once(self, stage: Stage) -> None:
        session = stage.spawn()
        asked = stage.exec(stage.kit.steps(stage.kit.ask("file"), stage.kit.say("over")), "--no-wait-input")
        assert asked.returncode == 7
        (pending,) = stage.pending()
        assert (pending["session"], pending["need"]) == (session, "permission")
        assert stage.world.json("info", "it")["waiting"] == "yes"
        assert stage.touched("file") == 0
        stage.world.ok("approve", "it", "--request", pending["request"])
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 1
        assert stage.pending() == []
        gone = stage.world.run("approve", "it", "--request", pending["request"], "--json")
        assert (gone.returncode, json.loads(gone.stderr)["code"]) == (5, "request-gone")

    def test_what_is_denied_is_not_done_and_the_turn_goes_on(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec(stage.kit.steps(stage.kit.ask("file"), stage.kit.say("as you like")), "--no-wait-input")
        stage.world.ok("deny", "it")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 0
        assert ("as you like" in stage.tells()) is stage.kit.goes_on
        assert [one["ok"] for one in stage.events("tool") if one["phase"] == "finished"] == [False]

    def test_permission_allow_and_deny_reply_by_themselves(self, stage: Stage) -> None:
        stage.spawn("yes", "--permission", "allow")
        stage.spawn("no", "--permission", "deny")
        for name in ("yes", "no"):
            stage.says(stage.kit.steps(stage.kit.ask("file"), stage.kit.say("over")), name)
        assert (stage.touched("file", "yes"), stage.touched("file", "no")) == (1, 0)
        assert len(stage.events("answered", "yes")) == 1

    def test_a_question_is_answered(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec(stage.kit.steps(stage.kit.question(), stage.kit.say("thanks")), "--no-wait-input")
        (pending,) = stage.pending()
        assert (pending["need"], pending["choices"]) == ("question", ["red", "blue"])
        stage.world.ok("answer", "it", "blue")
        stage.world.ok("wait", "it", "--for", "turn")
        assert [one["reply"] for one in stage.events("answered")] == ["blue"]
        assert "thanks" in stage.tells()

    # interrupts

    def test_an_interrupt_ends_the_turn_and_the_next_one_works(self, stage: Stage) -> None:
        stage.spawn()
        with stage.working(stage.kit.stay()) as running:
            stage.world.ok("interrupt", "it")
            assert running.wait(60) == 1
        assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["interrupted"]
        assert "still here" in stage.says(stage.kit.say("still here"))

    def test_an_interrupt_that_comes_at_once_is_not_lost(self, stage: Stage) -> None:
        stage.spawn()
        with stage.world.client() as client:
            client.send("it", stage.kit.stay().encode(), enter=True)
            client.interrupt("it")
            client.wait_for("it", "turn", timeout_s=60)
        assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["interrupted"]

    def test_interrupting_twice_ends_one_turn(self, stage: Stage) -> None:
        stage.spawn()
        with stage.working(stage.kit.stay()) as running:
            stage.world.ok("interrupt", "it")
            stage.world.ok("interrupt", "it")
            assert running.wait(60) == 1
        stage.world.ok("interrupt", "it")
        assert "fine" in stage.says(stage.kit.say("fine"))
        assert len([one for one in stage.events("turn") if one["phase"] == "finished"]) == 2

    def test_an_interrupt_takes_an_open_request_back(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec(stage.kit.ask("file"), "--no-wait-input")
        (pending,) = stage.pending()
        stage.world.ok("interrupt", "it")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.pending() == []
        assert stage.world.run("approve", "it", "--request", pending["request"]).returncode == 5
        assert stage.touched("file") == 0
        assert "fine" in stage.says(stage.kit.say("fine"))

    def test_a_turn_past_its_time_is_interrupted(self, stage: Stage) -> None:
        stage.spawn()
        assert stage.exec(stage.kit.stay(), "--timeout", "1s").returncode == 124
        assert not stage.agent()["busy"]

    # several

    def test_two_sessions_work_at_once_each_in_its_directory(self, stage: Stage) -> None:
        stage.spawn("one")
        stage.spawn("two")
        for name in ("one", "two"):
            prompt = stage.kit.steps(stage.kit.ask(f"of-{name}"), stage.kit.say(f"this is {name}"))
            assert stage.exec(prompt, "--no-wait-input", name=name).returncode == 7
        assert len(stage.pending()) == 2
        for name in ("two", "one"):
            stage.world.ok("approve", name)
            stage.world.ok("wait", name, "--for", "turn")
        for name, other in (("one", "two"), ("two", "one")):
            assert (stage.touched(f"of-{name}", name), stage.touched(f"of-{name}", other)) == (1, 0)
            assert f"this is {name}" in stage.tells(name)
            assert f"this is {other}" not in stage.tells(name)

    def test_a_prompt_to_a_busy_agent_is_refused_or_waits(self, stage: Stage) -> None:
        stage.spawn()
        with stage.working(stage.kit.stay()):
            busy = stage.exec(stage.kit.say("me too"), "--json")
            assert (busy.returncode, json.loads(busy.stderr)["code"]) == (125, "busy")
            waiting = stage.world.start("exec", "--wait-prompt", "60s", "it", stage.kit.say("me then"))
            stage.world.ok("interrupt", "it")
            said, _ = waiting.communicate(timeout=60)
            assert "me then" in said.decode()

    def test_a_prompt_is_said_once_for_each_name(self, stage: Stage) -> None:
        stage.spawn()
        first = stage.exec(stage.kit.recall(), "--once", "a-name")
        again = stage.exec(stage.kit.recall(), "--once", "a-name")
        assert first.stdout == again.stdout
        assert stage.agent()["turns"] == 1

    # ends

    def test_killing_a_session_closes_it_and_leaves_the_others(self, stage: Stage) -> None:
        stage.spawn("one", "-m", "orchestrator:fleet-1:a")
        stage.spawn("two", "-m", "orchestrator:fleet-1:b")
        stage.spawn("three")
        with stage.working(stage.kit.stay(), "one"):
            assert stage.world.ok("kill-by-manager", "orchestrator:fleet-1") == "2"
        ended = {one["name"]: one["end_reason"] for one in stage.world.json("list", "-a")}
        assert ended == {"one": "killed", "two": "killed", "three": None}
        assert stage.world.run("exec", "one", stage.kit.say("hello")).returncode == 125
        assert "fine" in stage.says(stage.kit.say("fine"), "three")

    def test_a_conversation_goes_on_in_another_session(self, stage: Stage) -> None:
        stage.spawn()
        stage.says(stage.kit.say("first"))
        native = stage.agent()["native"]["id"]
        stage.world.ok("kill", "it")
        stage.spawn("again", "--resume", native)
        assert "prompt number 2" in stage.says(stage.kit.recall(), "again")
        assert stage.agent("again")["native"]["id"] == native

    # restarts

    def test_a_restart_is_a_new_run_of_the_same_conversation(self, stage: Stage) -> None:
        session = stage.spawn("it", "--permission", "allow")
        stage.says(stage.kit.say("first"))
        before = stage.world.json("info", "it")
        again = stage.world.json("restart", "it")
        assert (again["id"], again["run"], again["state"]) == (session, 2, "live")
        assert again["agent"]["native"]["id"] == before["agent"]["native"]["id"]
        assert again["agent"]["permission"] == "allow"
        assert again["output"]["next_offset"] >= before["output"]["next_offset"]
        assert "prompt number 2" in stage.says(stage.kit.recall())
        said = stage.tells()
        assert (said.count("first"), said.count("prompt number 2")) == (1, 1)
        states = [(one["run"], one["state"]) for one in stage.events("session.state")]
        assert states == [
            *((1, state) for state in ("idle", "bootstrapping", "live", "closed")),
            *((2, state) for state in ("idle", "bootstrapping", "live")),
        ]
        assert [one["code"] for one in stage.events("error")] == []

    def test_an_ended_conversation_is_started_again(self, stage: Stage) -> None:
        session = stage.spawn()
        stage.says(stage.kit.say("first"))
        native = stage.agent()["native"]["id"]
        stage.world.ok("kill", "it")
        until(lambda: os.path.exists(f"{stage.world.state}/sessions/{session}/ended.json"))
        assert stage.world.ok("restart", session) == "run 2"
        assert stage.agent()["native"]["id"] == native
        assert "prompt number 2" in stage.says(stage.kit.recall())
        stage.kill_supervisor()
        assert "prompt number 3" in stage.says(stage.kit.recall())
        assert stage.tells().count("first") == 1
        stage.world.ok("verify")

    def test_a_restart_interrupts_the_turn_first(self, stage: Stage) -> None:
        stage.spawn()
        with stage.working(stage.kit.stay()) as running:
            assert stage.world.ok("restart", "it") == "run 2"
            assert running.wait(60) == 1
        told = [(one["run"], one["end"]) for one in stage.events("turn") if one["phase"] == "finished"]
        assert told == [(1, "interrupted")]
        assert not stage.agent()["busy"]
        assert "fine" in stage.says(stage.kit.say("fine"))

    # deaths

    def test_a_turn_survives_killed_supervisors_with_no_text_lost_or_doubled(self, stage: Stage) -> None:
        stage.spawn()
        session = stage.world.json("info", "it")["id"]
        with stage.working(stage.kit.count(1000, 10)) as running:
            for _ in range(3):
                said = len(stage.world.log(session))
                stage.kill_supervisor()
                until(lambda: len(stage.world.log(session)) > said, "nothing more is said")  # noqa: B023
            output, _ = running.communicate(timeout=60)
        assert (running.returncode, output.decode().split()) == (0, [str(number) for number in range(1000)])
        assert "prompt number 2" in stage.says(stage.kit.recall())
        assert len([one for one in stage.events("turn") if one["phase"] == "finished"]) == 2

    def test_a_request_survives_a_killed_supervisor(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec(stage.kit.steps(stage.kit.ask("file"), stage.kit.say("over")), "--no-wait-input")
        before = stage.pending()
        stage.kill_supervisor()
        assert stage.pending() == before
        stage.world.ok("approve", "it")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 1
        assert len(stage.events("needs-input")) == 1

    def test_a_killed_server_interrupts_the_turn_and_the_conversation_goes_on(self, stage: Stage) -> None:
        stage.spawn()
        stage.says(stage.kit.say("before"))
        native = stage.agent()["native"]["id"]
        with stage.working(stage.kit.stay()) as running:
            os.kill(stage.server(), signal.SIGKILL)
            assert running.wait(60) == 1
        stage.world.ok("wait", "it", "--for", "turn")
        ends = [one["end"] for one in stage.events("turn") if one["phase"] == "finished"]
        assert ends == ["completed", "interrupted"]
        assert "server-ended" in {one["code"] for one in stage.events("error")}
        assert "prompt number" in stage.says(stage.kit.recall())
        assert stage.agent()["native"]["id"] == native

    def test_a_server_killed_with_a_request_open_takes_it_back(self, stage: Stage) -> None:
        stage.spawn()
        stage.exec(stage.kit.ask("file"), "--no-wait-input")
        os.kill(stage.server(), signal.SIGKILL)
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.pending() == []
        assert [one["reply"] for one in stage.events("answered")] == ["withdrawn"]
        assert "fine" in stage.says(stage.kit.say("fine"))

    def test_supervisor_and_server_killed_together_lose_the_turn_alone(self, stage: Stage) -> None:
        stage.spawn()
        stage.says(stage.kit.say("before"))
        with stage.working(stage.kit.stay()):
            server = stage.server()
            stage.kill_supervisor()
            with contextlib.suppress(ProcessLookupError):
                os.kill(server, signal.SIGKILL)
            stage.world.ok("wait", "it", "--for", "turn")
        assert "fine" in stage.says(stage.kit.say("fine"))
        ends = [one["end"] for one in stage.events("turn") if one["phase"] == "finished"]
        assert ends == ["completed", "interrupted", "completed"]

    def test_a_server_that_hangs_is_replaced(self, stage: Stage) -> None:
        stage.kit.patient_s = 2.0
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

    def test_a_restarted_supervisor_keeps_conversations(self, stage: Stage) -> None:
        stage.spawn()
        stage.says(stage.kit.say("before"))
        server = stage.server()
        stage.kit.restart(stage.world)
        assert "prompt number 2" in stage.says(stage.kit.recall())
        assert stage.server() == server

    def test_bad_prompts_are_refused_and_nothing_is_said(self, stage: Stage) -> None:
        stage.spawn()
        with stage.world.client() as client:
            for prompt, code in ((" \n", "empty-prompt"), ("a\0b", "nul-byte"), ("x" * 5_000_000, "prompt-too-long")):
                with pytest.raises(OrchctlError) as refused:
                    client.exec("it", prompt)
                assert refused.value.code == code
        assert stage.agent()["turns"] == 0
        assert "fine" in stage.says(stage.kit.say("fine"))
