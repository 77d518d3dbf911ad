"""The real opencode: one turn with a tool and a permission always, and the whole contract with `--long`."""

from __future__ import annotations

import asyncio
import glob
import json
import os
import re
import socket
import stat
from contextlib import AbstractContextManager
from typing import Any

import pytest

from orchctl.agents.opencode.http import Answer, Door, Patience
from tests.agents.contract import Contract
from tests.agents.kits import Kit
from tests.agents.opencode.hosting import program
from tests.agents.opencode.kit import OpencodeKit, opencode
from tests.agents.stage import Stage
from tests.needs import needs
from tests.world import World

pytestmark = needs("opencode")


def kit_of(stage: Stage) -> OpencodeKit:
    """With its model."""
    assert isinstance(stage.kit, OpencodeKit)
    return stage.kit


def ask_server(world: World, method: str, path: str, **params: str) -> Answer:
    """Say something to the one server behind the supervisor's back."""
    known = glob.glob(f"{world.state}/sessions/*/server.json")
    assert len(known) == 1
    with open(known[0], encoding="ascii") as file:
        notes = json.load(file)["notes"]

    async def ask() -> Answer:
        async with Door(int(notes["port"]), notes["password"], Patience()) as door:
            return await door.ask(method, path, None, **params)

    return asyncio.run(ask())


def behind_a_script(world: World, text: str) -> None:
    """Have the profile run a script of ours, with `$OPENCODE` the real program."""
    path = f"{world.folder}/opencode"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nOPENCODE={program()}\n{text}\n")
    os.chmod(path, stat.S_IRWXU)
    with open(f"{world.state}/config.toml", encoding="utf-8") as file:
        config = file.read()
    with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
        file.write(config.replace(json.dumps(program()), json.dumps(path)))


def test_one_turn_with_a_tool_and_a_permission(world: World) -> None:
    with opencode(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        session = stage.spawn()
        asked = stage.exec(kit.steps(kit.think("hm"), kit.ask("file"), kit.say("all done")), "--no-wait-input")
        assert asked.returncode == 7, asked
        (pending,) = stage.pending()
        assert (pending["session"], pending["title"]) == (session, "bash: echo touched >> file")
        stage.world.ok("approve", "it")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == 1
        assert "all done" in stage.tells()
        assert [(one["phase"], one.get("end")) for one in stage.events("turn")] == [
            ("started", None),
            ("finished", "completed"),
        ]
        world.end()


@needs("strace")
def test_opencode_calls_nobody_but_the_model_on_loopback(world: World) -> None:
    with opencode(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        trace = f"{world.folder}/trace"
        calls = "trace=connect,sendto,sendmsg"
        behind_a_script(world, f'exec strace -f -qq --seccomp-bpf -e {calls} -o {trace} "$OPENCODE" "$@"')
        stage.spawn("it", "--permission", "allow")
        assert "done" in stage.says(kit.steps(kit.tool("echo touched >> file"), kit.say("done")))
        assert stage.touched("file") == 1
        assert [one["ok"] for one in stage.events("tool") if one["phase"] == "finished"] == [True]
        world.end()
        with open(trace, encoding="utf-8", errors="replace") as file:
            addresses = set(re.findall(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"', file.read()))
        assert {one or other for one, other in addresses} <= {"127.0.0.1", "::1", "0.0.0.0", "::"}
        assert ("127.0.0.1", "") in addresses


@pytest.mark.long  # a server takes seconds to start, and each test has its own
class TestOpencode(Contract):
    """All of it, on the real program, and what only it has."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """The real one."""
        return opencode(world)

    def test_a_turn_survives_killed_supervisors_with_no_text_lost_or_doubled(self, stage: Stage) -> None:
        """Opencode keeps a text only when it is complete: what a supervisor missed is told at the end of it."""
        stage.spawn()
        model = kit_of(stage).model
        words = "".join(f"{number} " for number in range(300))
        with stage.working(f"hold a {words}\nhold b {words}") as running:
            for name in ("a", "b"):
                model.wait_for(name)
                stage.kill_supervisor()
                assert stage.agent()["busy"]
                model.release(name)
            said, _ = running.communicate(timeout=60)
        assert (running.returncode, said.decode().split()) == (0, 2 * [str(number) for number in range(300)])
        assert "prompt number 2" in stage.says(stage.kit.recall())
        assert len([one for one in stage.events("turn") if one["phase"] == "finished"]) == 2

    def test_a_conversation_goes_on_in_another_session(self, stage: Stage) -> None:
        """Opencode binds a conversation to its directory: anywhere else it is refused, not moved."""
        stage.spawn()
        stage.says(stage.kit.say("first"))
        native = stage.agent()["native"]["id"]
        stage.world.ok("kill", "it")
        os.makedirs(stage.folder("elsewhere"))
        words = ("spawn", "--profile", "it", "--name", "again", "--resume", native)
        refused = stage.world.run(*words, "-w", stage.folder("elsewhere"), "--json")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "wrong-directory")
        stage.world.ok(*words, "-w", stage.folder())
        assert "prompt number 2" in stage.says(stage.kit.recall(), "again")
        assert stage.agent("again")["native"]["id"] == native

    @pytest.mark.parametrize("allowed", [True, False])
    def test_what_a_sub_agent_asks_is_asked_under_its_session(self, stage: Stage, allowed: bool) -> None:
        session, kit = stage.spawn(), kit_of(stage)
        prompt = kit.steps(kit.subagent(kit.ask("file"), kit.say("my part")), kit.say("all of it"))
        assert stage.exec(prompt, "--no-wait-input").returncode == 7
        (pending,) = stage.pending()
        assert (pending["session"], pending["subagent"][:4]) == (session, "ses_")
        stage.world.ok("approve" if allowed else "deny", "it")
        stage.world.ok("wait", "it", "--for", "turn")
        assert stage.touched("file") == int(allowed)
        assert stage.tells().splitlines()[-1] == "all of it"
        assert "my part" not in stage.tells().splitlines()

    def test_always_holds_for_the_rest_of_the_session(self, stage: Stage) -> None:
        stage.spawn()
        prompt = stage.kit.steps(stage.kit.ask("file"), stage.kit.say("over"))
        stage.exec(prompt, "--no-wait-input")
        stage.world.ok("approve", "it", "--always")
        stage.world.ok("wait", "it", "--for", "turn")
        stage.says(prompt)
        assert stage.touched("file") == 2
        assert len(stage.events("needs-input")) == 1

    def test_a_model_that_is_overloaded_is_asked_again_and_this_is_told(self, stage: Stage) -> None:
        stage.spawn()
        assert "at last" in stage.says("flaky 2\nsay at last")
        assert [(one["code"], one["again"]) for one in stage.events("error")] == [("retry", True)] * 2

    def test_an_interrupt_while_it_waits_to_ask_again_ends_the_turn(self, stage: Stage) -> None:
        stage.spawn()
        running = stage.world.start("exec", "it", "error 503 overloaded")
        stage.world.ok("wait", "it", "--for", "output=overloaded")
        stage.world.ok("interrupt", "it")
        running.communicate(timeout=60)
        assert running.returncode == 1
        assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["interrupted"]

    def test_a_connection_to_the_model_that_drops_is_told_and_tried_again(self, stage: Stage) -> None:
        stage.spawn()
        running = stage.world.start("exec", "it", "drop")
        stage.world.ok("wait", "it", "--for", "output=error:")
        stage.world.ok("interrupt", "it")
        running.communicate(timeout=60)
        assert "fine" in stage.says(stage.kit.say("fine"))

    def test_an_unknown_model_is_refused_and_a_known_one_is_used(self, stage: Stage) -> None:
        os.makedirs(stage.folder("x"))
        refused = stage.world.run("spawn", "--profile", "it", "-w", stage.folder("x"), "--model", "fake/none", "--json")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "unknown-model")
        stage.spawn("it", "--model", "fake/fake-2")
        stage.says(stage.kit.say("hello"))
        assert stage.agent()["model"] == "fake/fake-2"
        assert [one["model"] for one in kit_of(stage).model.turns] == ["fake-2"]

    def test_a_conversation_that_was_deleted_at_the_server_takes_no_prompt(self, stage: Stage) -> None:
        stage.spawn()
        stage.says(stage.kit.say("hello"))
        native = stage.agent()["native"]["id"]
        assert ask_server(stage.world, "DELETE", f"/session/{native}", directory=stage.folder()).ok
        refused = stage.exec(stage.kit.say("hello"))
        assert refused.returncode != 0
        assert "deleted" in stage.tells() or "not found" in stage.tells()

    def test_our_id_is_with_the_conversation(self, stage: Stage) -> None:
        session = stage.spawn()
        native = stage.agent()["native"]["id"]
        info: dict[str, Any] = ask_server(stage.world, "GET", f"/session/{native}", directory=stage.folder()).value
        told = {"ORCHCTL_SESSION": session, "ORCHCTL_MANAGER": "user", "ORCHCTL_STATE_DIR": stage.world.state}
        assert info["metadata"] == {"orchctl": session, "orchctl_env": told}

    def test_a_server_without_a_password_is_refused(self, stage: Stage) -> None:
        behind_a_script(stage.world, 'exec env -u OPENCODE_SERVER_PASSWORD "$OPENCODE" "$@"')
        os.makedirs(stage.folder("x"))
        refused = stage.world.run("spawn", "--profile", "it", "-w", stage.folder("x"), "--json")
        assert refused.returncode == 5
        assert "password" in json.loads(refused.stderr)["message"]

    def test_a_port_that_somebody_took_is_a_clear_error(self, stage: Stage) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            behind_a_script(stage.world, f'exec "$OPENCODE" serve --hostname 127.0.0.1 --port {port}')
            os.makedirs(stage.folder("x"))
            refused = stage.world.run("spawn", "--profile", "it", "-w", stage.folder("x"), "--json")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "server-died")
