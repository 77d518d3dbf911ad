"""Restarts of conversations, beside the contract: those that fail, and those at bad moments."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.agents import kits
from tests.agents.stage import Stage
from tests.world import World, until


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, configured."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
        yield Stage(world, kit)


def _put_away(stage: Stage, session: str) -> None:
    stage.world.ok("kill", session)
    until(lambda: os.path.exists(f"{stage.world.state}/sessions/{session}/ended.json"))


def test_one_that_has_said_nothing_is_started_again(stage: Stage) -> None:
    session = stage.spawn()
    _put_away(stage, session)
    stage.world.ok("restart", session)
    assert "prompt number 1" in stage.says("recall")
    stage.world.ok("verify")
    _put_away(stage, session)
    stage.world.ok("verify")


def test_a_conversation_that_cannot_be_resumed_is_closed_and_says_why(stage: Stage) -> None:
    session = stage.spawn()
    stage.says("say hello")
    shutil.rmtree(f"{stage.world.folder}/scripted")
    os.mkdir(f"{stage.world.folder}/scripted")
    failed = stage.world.run("restart", "it", "--json")
    told = json.loads(failed.stderr)
    assert (failed.returncode, told["code"]) == (5, "not-opened")
    assert "no conversation" in told["message"]
    shown = stage.world.json("info", session)
    assert (shown["state"], shown["end_reason"], shown["run"]) == ("closed", "failed", 2)
    assert "no conversation" in stage.tells(session)
    until(lambda: os.path.exists(f"{stage.world.state}/sessions/{session}/ended.json"))
    stage.world.ok("verify")


def test_what_cannot_be_started_again_is_refused_and_goes_on(stage: Stage) -> None:
    session = stage.spawn()
    stage.says("say hello")
    shutil.rmtree(stage.folder())
    refused = stage.world.run("restart", "it", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (2, "bad-cwd")
    shown = stage.world.json("info", "it")
    assert (shown["state"], shown["run"]) == ("live", 1)
    stage.world.ok("kill", session)
    stage.spawn()
    taken = stage.world.run("restart", session, "--json")
    assert (taken.returncode, json.loads(taken.stderr)["code"]) == (5, "name-taken")


def test_the_limits_of_a_session_hold_in_its_next_run_too(stage: Stage) -> None:
    stage.spawn("it", "--timeout", "2s")
    with stage.world.client() as client:
        assert client.wait("it", timeout_s=60).end_reason == "timeout"
        again = client.restart("it")
        assert (again.run, again.state) == (2, "live")
        ended = client.wait("it", timeout_s=60)
    assert (ended.run, ended.end_reason) == (2, "timeout")
    assert (ended.ended_at or 0) - (ended.started_at or 0) >= 2


def test_a_supervisor_killed_while_it_starts_one_again_leaves_one_new_run(stage: Stage) -> None:
    session = stage.spawn()
    stage.says("say hello")
    server = stage.server()
    os.kill(server, signal.SIGSTOP)  # so that its end takes the grace period, and its resumption for ever
    asking = stage.world.start("restart", "it", "--grace", "1s")
    until(lambda: stage.world.journal(session).count(b'"started"') == 2)
    stage.kill_supervisor()
    with contextlib.suppress(ProcessLookupError):
        os.kill(server, signal.SIGCONT)
    out, _ = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (0, b"run 2\n")
    assert "prompt number 2" in stage.says("recall")
    assert stage.world.journal(session).count(b'"started"') == 2
    states = [(one["run"], one["state"]) for one in stage.events("session.state")]
    assert states == [
        *((1, state) for state in ("idle", "bootstrapping", "live", "closed")),
        *((2, state) for state in ("idle", "bootstrapping", "live")),
    ]


def test_a_server_of_one_conversation_is_gone_before_the_next_run_begins(stage: Stage) -> None:
    """The profile's server is about to end because nobody needs it, and is not taken for one that may be used."""
    with open(f"{stage.world.state}/config.toml", "r+", encoding="utf-8") as file:
        text = file.read().replace("[harness]\n", '[harness]\nidle = "1s"\n')
        file.seek(0)
        file.write(text)
    session = stage.spawn()
    before = stage.server()
    stage.world.ok("kill", "it")
    os.kill(before, signal.SIGSTOP)  # told to end, it does not for a while
    until(lambda: b'"kill"' in stage.world.journal(_server(stage)))
    stage.world.ok("restart", session)
    assert stage.server() != before
    assert not os.path.exists(f"/proc/{before}")
    assert "prompt number 1" in stage.says("recall")


def _server(stage: Stage) -> str:
    """The one server's session."""
    (found,) = [
        one
        for one in os.listdir(f"{stage.world.state}/sessions")
        if os.path.exists(f"{stage.world.state}/sessions/{one}/server.json")
    ]
    return found
