"""Deaths at random moments of turns: of the supervisor, and of the mover and the keeper of the agents' server.

Each text is told once, each prompt had once, each permission used once, events come in order, and the server lives.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import kits
from tests.agents.stage import Stage, pair_of
from tests.world import DEADLINE_S, World, until

COUNT, STEP_MS = 40, 25
PAUSE_S = 0.5, 1.5  # between deaths, once somebody has taken the place of the dead; clients need a moment too
NAMES = ("one", "two")


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
        yield Stage(world, kit)


class _Reaper:
    """Kills one of ours at a time, in a thread, until it is told to stop."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._dice = random.Random(seed)
        self._over = threading.Event()
        self._server = stage.agent(NAMES[0])["server"]
        self._thread = threading.Thread(target=self._reap)
        self.killed: list[str] = []

    def __enter__(self) -> _Reaper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(DEADLINE_S)

    def _reap(self) -> None:
        while not self._over.wait(self._dice.uniform(*PAUSE_S)):
            who = self._dice.choice(["supervisor", "mover", "keeper"])
            before = self._pids()
            with contextlib.suppress(ProcessLookupError):
                os.kill(before[who], signal.SIGKILL)
                self.killed.append(who)
            until(lambda: self._whole(before[who]), f"nobody takes the place of the {who}")  # noqa: B023

    def _pids(self) -> dict[str, int]:
        keeper, mover = pair_of(self._stage.world, self._server)
        return {"supervisor": self._stage.world.supervisor(), "mover": mover, "keeper": keeper}

    def _whole(self, dead: int) -> bool:
        """Whether there are three again: of two that die at once nobody can take the place."""
        try:
            found = set(self._pids().values())
        except OSError:
            return False
        return dead not in found and len(found) == 3 and 0 not in found


def _script(number: int) -> str:
    steps = [
        f"say begin {number}",
        f"ask a{number}",
        f"count {COUNT} {STEP_MS}",
        f"tool t{number}",
        f"think of {number}",
    ]
    return "\n".join([*steps, f"ask b{number}", f"count {COUNT} {STEP_MS}", f"say end {number}"])


def _said(number: int) -> list[str]:
    counted = [str(one) for one in range(COUNT)]
    return [f"begin {number}", *counted, *counted, f"end {number}"]


def _told(text: str) -> list[str]:
    """Without what the transcript says of tools, and of who asked."""
    return [line for line in text.splitlines() if line and not line.startswith(("[", ">"))]


def _check_events(stage: Stage, name: str, turns: int) -> None:
    events: list[dict[str, Any]] = [json.loads(line) for line in stage.world.ok("events", name).splitlines()]
    numbers = [one["seq"] for one in events if "seq" in one]
    assert all(one < other for one, other in itertools.pairwise(numbers))
    said = "".join(one["text"] for one in events if one["type"] == "output")
    assert said == stage.world.run("tail", "-n", "all", name).stdout.decode()
    kinds = [
        (one["type"], one.get("phase")) for one in events if one["type"] in ("turn", "tool", "needs-input", "answered")
    ]
    asked = [("tool", "started"), ("needs-input", None), ("answered", None), ("tool", "finished")]
    tool = [("tool", phase) for phase in ("started", "updated", "finished")]
    assert kinds == [("turn", "started"), *asked, *tool, *asked, ("turn", "finished")] * turns
    assert [one["text"] for one in events if one["type"] == "reasoning"] == [f"of {number}" for number in range(turns)]
    assert [one["bytes"] for one in events if one.get("action") == "prompt"] == [
        len(_script(number)) for number in range(turns)
    ]
    states = [one["state"] for one in events if one["type"] == "session.state"]
    assert states == ["idle", "bootstrapping", "live"]
    assert [one["code"] for one in events if one["type"] == "error"] == []


def test_deaths_at_random_moments_lose_and_double_nothing(stage: Stage, long_form: bool) -> None:
    turns = 60 if long_form else 3
    for name in NAMES:
        stage.spawn(name, "--permission", "allow")
    server = stage.server()
    with _Reaper(stage, seed=17) as reaper:
        for number in range(turns):
            asking = [_begun(stage, name, number) for name in NAMES]
            for one in asking:
                output, errors = one.communicate(timeout=DEADLINE_S * 2)
                assert (one.returncode, _told(output.decode())) == (0, _said(number)), (errors, reaper.killed)
    assert len(reaper.killed) >= turns
    for name in NAMES:
        assert _told(stage.tells(name)) == [line for number in range(turns) for line in _said(number)]
        assert [stage.touched(f"{kind}{number}", name) for number in range(turns) for kind in "ab"] == [1, 1] * turns
        assert stage.agent(name)["turns"] == turns
        _check_events(stage, name, turns)
        assert f"prompt number {turns + 1}" in stage.says("recall", name)
    assert stage.server() == server
    stage.world.ok("verify")


def _begun(stage: Stage, name: str, number: int) -> subprocess.Popen[bytes]:
    """A turn that the agent has begun; a prompt that was lost on its way is said to be, and is said anew."""
    for attempt in range(10):
        once = f"{number}-{attempt}"
        asking = stage.world.start("exec", "--once", once, name, _script(number), stderr=subprocess.PIPE)
        session = stage.world.json("info", name)["id"]
        mark = f"begin {number}\n".encode()
        until(lambda: mark in stage.world.log(session) or asking.poll() is not None)  # noqa: B023
        if mark in stage.world.log(session):
            return asking
        _, errors = asking.communicate(timeout=DEADLINE_S)
        assert b"may have been delivered" in errors
    raise AssertionError("it is never delivered")


def test_an_interrupt_is_not_lost_with_whoever_carries_it(stage: Stage, long_form: bool) -> None:
    dice = random.Random(5)
    stage.spawn(NAMES[0])
    rounds = 40 if long_form else 4
    for _ in range(rounds):
        keeper, mover = pair_of(stage.world, stage.agent(NAMES[0])["server"])
        victim = dice.choice([stage.world.supervisor(), mover, keeper])
        with stage.working("stay", NAMES[0]) as running:
            asking = stage.world.start("interrupt", NAMES[0])
            time.sleep(dice.random() * 0.4)  # the moment is what is tried
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            asking.communicate(timeout=DEADLINE_S)
            assert asking.returncode == 0
            assert running.wait(DEADLINE_S) == 1
        until(lambda: 0 not in pair_of(stage.world, stage.agent(NAMES[0])["server"]))
    ends = [one["end"] for one in stage.events("turn", NAMES[0]) if one["phase"] == "finished"]
    assert ends == ["interrupted"] * rounds
    assert f"prompt number {rounds + 1}" in stage.says("recall", NAMES[0])
