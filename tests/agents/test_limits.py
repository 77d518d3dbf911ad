"""How long a conversation may last: by its time, by its silence, and with the process it is bound to."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator

import pytest

from orchctl.session.model import Session
from tests.agents import kits
from tests.agents.stage import Stage
from tests.world import World, until


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, configured."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
        yield Stage(world, kit)


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[bytes]]:
    """A process to be bound to."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def _ended(stage: Stage, name: str) -> Session:
    with stage.world.client() as client:
        return client.wait(name, timeout_s=60)


def test_each_limit_ends_it_and_says_which(stage: Stage, owner: subprocess.Popen[bytes]) -> None:
    stage.spawn("bound", "--bind-pid", str(owner.pid))
    stage.spawn("timed", "--timeout", "1s")
    stage.spawn("idle", "--idle-timeout", "1s")
    stage.spawn("free")
    owner.kill()
    owner.wait()
    for name, reason in (("bound", "killed"), ("timed", "timeout"), ("idle", "idle-timeout")):
        assert _ended(stage, name).end_reason == reason
    assert stage.world.json("info", "free")["is_alive"]


def test_a_turn_that_is_under_way_is_interrupted_by_its_time(stage: Stage) -> None:
    stage.spawn("it", "--timeout", "3s")
    running = stage.exec("stay")
    assert running.returncode == 1
    assert _ended(stage, "it").end_reason == "timeout"
    assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["interrupted"]


def test_its_time_goes_on_when_the_supervisor_is_killed(stage: Stage) -> None:
    stage.spawn("it", "--timeout", "4s")
    stage.kill_supervisor()
    ended = _ended(stage, "it")
    assert ended.end_reason == "timeout"
    assert (ended.ended_at or 0) - (ended.started_at or 0) >= 4


def test_an_agent_that_says_something_is_not_idle(stage: Stage) -> None:
    stage.spawn("it", "--idle-timeout", "3s")
    assert len(stage.says("count 50 100").split()) == 50
    assert _ended(stage, "it").end_reason == "idle-timeout"


def test_what_passed_while_no_supervisor_was_there_counts(stage: Stage, owner: subprocess.Popen[bytes]) -> None:
    stage.spawn("idle", "--idle-timeout", "6s")
    stage.spawn("bound", "--bind-pid", str(owner.pid))
    stage.world.ok("supervisor", "stop", "--leave")
    owner.kill()
    owner.wait()
    back_at = time.time() + 6
    until(lambda: time.time() >= back_at)
    stage.world.ok("supervisor", "start")
    for name, reason in (("bound", "killed"), ("idle", "idle-timeout")):
        ended = _ended(stage, name)
        assert ended.end_reason == reason
        assert (ended.ended_at or 0) < back_at + 6, "the time began anew"


def test_what_cannot_be_is_refused_and_nothing_is_started(stage: Stage) -> None:
    for words, code, status in (
        (("--bind-pid", "4194305"), "no-such-process", 2),
        (("--timeout", "0"), "bad-duration", 2),
        (("--idle-timeout", "99999d"), "usage", 2),
        (("--restart", "on-failure:3"), "usage", 2),
        (("--attach",), "usage", 125),
    ):
        refused = stage.world.run("spawn", "--profile", "it", "--json", *words)
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (status, code), words
    assert stage.world.json("list", "-a") == []
