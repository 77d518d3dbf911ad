"""A server that says more than is kept while nobody hears it: told with its range, and no turn stays open for it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import kits
from tests.agents.stage import Stage
from tests.world import World, until

RING = 256 << 10


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, with a small ring and some patience."""
    with kits.scripted(world) as kit:
        kit.config += f'[retention]\nsession = "{RING}"\n'
        kit.patient_s = 8.0
        kit.prepare(world)
        yield Stage(world, kit)


def _while_nobody_hears(stage: Stage, gate: str, done: str) -> None:
    """The supervisor is killed, and its successor may not begin before the server has said all it has to."""
    zygote = stage.world.json("supervisor", "status")["zygote"]
    supervisor = stage.world.supervisor()
    os.kill(zygote, signal.SIGSTOP)
    try:
        os.kill(supervisor, signal.SIGKILL)
        with open(gate, "w", encoding="ascii"):
            pass
        until(lambda: os.path.exists(done), "the server does not say it")
    finally:
        os.kill(zygote, signal.SIGCONT)


def _gaps(stage: Stage, name: str = "it") -> list[dict[str, Any]]:
    return [one for one in stage.events("gap", name) if one.get("of") == "server"]


def _started(stage: Stage, prompt: str, name: str = "it") -> None:
    stage.world.ok("exec", "--detach", name, prompt)
    until(lambda: "begun" in stage.tells(name))


def _script(stage: Stage, *, before: str = "", after: str = "") -> tuple[str, str, str]:
    gate, done = f"{stage.world.folder}/gate", f"{stage.world.folder}/done"
    noise = RING * 6  # a ring for those who read, and more
    return f"say begun\ngate {gate}\n{before}\nnoise {noise}\n{after}\nmake {done}", gate, done


def test_a_turn_that_goes_on_after_the_loss_goes_on(stage: Stage) -> None:
    stage.spawn()
    end = f"{stage.world.folder}/end"
    script, gate, done = _script(stage, before="say unheard of")
    _started(stage, f"{script}\ngate {end}\nsay still here")
    _while_nobody_hears(stage, gate, done)
    until(lambda: _gaps(stage))
    assert stage.agent()["busy"]
    with open(end, "w", encoding="ascii"):
        pass
    stage.world.ok("wait", "it", "--for", "turn")
    (gap,) = _gaps(stage)
    assert gap["end"] - gap["first"] > RING
    assert f"{gap['end'] - gap['first']} bytes of what the agent's server said are lost" in stage.tells()
    said = stage.tells().splitlines()
    assert said[0] == "begun"
    assert said[-1] == "still here"
    assert "unheard of" not in said
    assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["completed"]
    assert stage.says("say next").strip() == "next"


def test_a_turn_whose_end_is_lost_ends_and_the_next_one_works(stage: Stage) -> None:
    stage.spawn("noisy")
    stage.spawn()
    script, gate, done = _script(stage)
    _started(stage, f"say begun\ngate {gate}\nsay the last words")  # its end, and then the other's noise
    _started(stage, script.replace("\nnoise", f"\ngate {gate}.2\nnoise", 1), "noisy")
    zygote = stage.world.json("supervisor", "status")["zygote"]
    supervisor = stage.world.supervisor()
    log = stage.agent()["server"]
    os.kill(zygote, signal.SIGSTOP)
    try:
        os.kill(supervisor, signal.SIGKILL)
        with open(gate, "w", encoding="ascii"):
            pass
        until(lambda: b"turn-ended" in stage.world.log(log))
        with open(f"{gate}.2", "w", encoding="ascii"):
            pass
        until(lambda: os.path.exists(done))
        assert b"last words" not in stage.world.log(log)
    finally:
        os.kill(zygote, signal.SIGCONT)
    stage.world.ok("wait", "it", "--for", "turn", "--timeout", "60s")
    assert len(_gaps(stage)) == 1
    (ended,) = [one for one in stage.events("turn") if one["phase"] == "finished"]
    assert (ended["end"], "lost" in ended["error"]) == ("interrupted", True)
    assert stage.agent()["server"] == log  # nobody else had to suffer
    assert stage.says("say next").strip() == "next"
    assert "prompt number 3" in stage.says("recall")


def test_a_request_that_was_open_stays_open_for_a_human(stage: Stage) -> None:
    stage.spawn("noisy")
    stage.spawn()
    script, gate, done = _script(stage)
    assert stage.exec("ask file\nsay over", "--no-wait-input").returncode == 7
    _started(stage, script, "noisy")
    _while_nobody_hears(stage, gate, done)
    until(lambda: _gaps(stage))
    stage.world.ok("wait", "noisy", "--for", "turn")
    assert [one["session"] for one in stage.pending()] == [stage.world.json("info", "it")["id"]]
    stage.world.ok("approve", "it")
    stage.world.ok("wait", "it", "--for", "turn")
    assert stage.touched("file") == 1
    assert "over" in stage.tells()


def test_what_was_heard_is_neither_lost_nor_doubled_when_the_ring_has_turned(stage: Stage) -> None:
    """A long text, of which the log no longer has the beginning when the supervisor is killed."""
    stage.spawn("quiet")
    stage.says("say hello", "quiet")
    stage.spawn()
    count = RING * 8 // 130
    running = stage.world.start("exec", "it", f"count {count} 0\nsay half\ngate {stage.world.folder}/gate\ncount 9 0")
    until(lambda: "half" in stage.tells())
    stage.kill_supervisor()
    with open(f"{stage.world.folder}/gate", "w", encoding="ascii"):
        pass
    output, _ = running.communicate(timeout=60)
    assert output.decode().split() == [*map(str, range(count)), "half", *map(str, range(9))]
    assert [one["type"] for one in map(json.loads, stage.world.ok("events", "--type", "gap", "it").splitlines())] == []
    assert _gaps(stage, "quiet") == []
