"""Long prompts, and deaths while they are typed: said at most once, always answered, and the next one works."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import kits
from tests.agents.stage import Stage, pair_of
from tests.world import World, until

BYTES = 900 << 10


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, with some patience."""
    with kits.scripted(world) as kit:
        kit.patient_s = 6.0
        kit.prepare(world)
        yield Stage(world, kit)


def _prompt(stage: Stage, number: int, size: int = BYTES) -> str:
    """A file with a prompt that says how many it had, and how long this one is."""
    path = f"{stage.world.folder}/prompt-{number}"
    with open(path, "w", encoding="ascii") as file:
        file.write("recall\nsize\n# ".ljust(size, "x"))
    return path


def _say(stage: Stage, number: int, size: int = BYTES) -> subprocess.Popen[bytes]:
    words = ("exec", "--json", "--once", f"p{number}", "--script", _prompt(stage, number, size), "it")
    return stage.world.start(*words, stderr=subprocess.PIPE)


def _prompts(stage: Stage) -> int:
    """How many the server had."""
    (name,) = [one for one in os.listdir(f"{stage.world.folder}/scripted") if one.endswith(".json")]
    with open(f"{stage.world.folder}/scripted/{name}", encoding="utf-8") as file:
        return len(json.load(file))


def _recorded(stage: Stage, number: int) -> bool:
    session = stage.world.json("info", "it")["id"]
    with open(f"{stage.world.state}/sessions/{session}/harness.jnl", encoding="ascii") as file:
        return f'"p{number}"' in file.read()


def _answer(asking: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, errors = asking.communicate(timeout=60)
    assert b"Traceback" not in errors
    found: dict[str, Any] = json.loads(out if asking.returncode == 0 else errors)
    return found


def test_a_long_prompt_arrives_whole(stage: Stage) -> None:
    stage.spawn()
    for number, size in enumerate((BYTES, 1 << 20, (1 << 19) - 1, 1 << 19), 1):
        asking = _say(stage, number, size)
        out, errors = asking.communicate(timeout=60)
        assert asking.returncode == 0, errors
        assert f"prompt number {number}\n{size} characters\n" in json.loads(out)["output"]


@pytest.mark.parametrize("who", ["supervisor", "mover", "keeper", "both"])
def test_a_death_in_the_middle_of_a_prompt_is_told_and_the_next_one_works(stage: Stage, who: str) -> None:
    stage.spawn()
    stage.says("say before")
    server = stage.server()
    keeper, mover = pair_of(stage.world, stage.agent()["server"])
    supervisor = stage.world.supervisor()
    os.kill(server, signal.SIGSTOP)  # so that only as much is typed as its pipe takes
    try:
        asking = _say(stage, 1)
        until(lambda: _recorded(stage, 1))
        until(lambda: _is_full(server), "nothing is typed")
        victims = {"supervisor": (supervisor,), "mover": (mover,), "keeper": (keeper,), "both": (supervisor, mover)}
        for pid in victims[who]:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.kill(server, signal.SIGCONT)
    told, had = _answer(asking), 1
    if who in ("mover", "keeper"):  # the one that is left goes on where the other stopped
        had += 1
        assert f"prompt number {had}\n{BYTES} characters\n" in told["output"]
    else:
        assert (asking.returncode, told["code"]) == (125, "maybe-delivered")
    assert _prompts(stage) == had
    assert not stage.agent()["busy"]
    assert f"prompt number {had + 1}" in stage.says("recall")
    assert stage.server() == server  # nobody had to suffer
    assert [one["end"] for one in stage.events("turn") if one["phase"] == "finished"] == ["completed"] * (had + 1)


def _is_full(pid: int) -> bool:
    """Whether what is typed waits in a process's stdin: it takes no more."""
    fd = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), "little") >= 1 << 16
    finally:
        os.close(fd)


def test_deaths_at_random_moments_of_a_prompt(stage: Stage, long_form: bool) -> None:
    """Whatever the answer is, it is true: delivered means had once, `maybe` once or never."""
    dice = random.Random(900)
    stage.spawn()
    had = 0
    for number in range(1, 41 if long_form else 5):
        server = stage.agent()["server"]
        keeper, mover = pair_of(stage.world, server)
        victim = dice.choice([stage.world.supervisor(), mover, keeper])
        asking = _say(stage, number)
        if dice.random() < 0.8:
            until(lambda: _recorded(stage, number) or asking.poll() is not None)  # noqa: B023
        time.sleep(dice.random() * 0.05)  # the moment is what is tried
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        told = _answer(asking)
        if asking.returncode == 0:
            had += 1
            assert f"prompt number {had}\n{BYTES} characters\n" in told["output"]
        else:
            assert told["code"] == "maybe-delivered"
            assert _prompts(stage) in (had, had + 1)
            had = _prompts(stage)
        had += 1
        assert f"prompt number {had}" in stage.says("recall")
        assert _prompts(stage) == had
