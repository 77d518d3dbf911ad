"""Ctrl-C, closed pipes and exit codes, as a shell sees them."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.world import DEADLINE_S, ORCHCTL, World, interrupt_twice


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 42", 42), ("kill -TERM $$", 143), ("kill -9 $$", 137)]
)
@pytest.mark.parametrize("how", ["--wait", "--follow"])
def test_wait_and_follow_end_with_the_programs_own_code(world: World, how: str, script: str, status: int) -> None:
    assert world.run("spawn", how, "sh", "-c", script).returncode == status


@pytest.mark.parametrize(
    "words", [["--wait", "no-such-command"], ["--wait", "-w", "/none", "true"], ["--wait", "--bad"]]
)
def test_our_own_trouble_there_is_125(world: World, words: list[str]) -> None:
    done = world.run("spawn", *words)
    assert done.returncode == 125
    assert done.stderr.startswith(b"orchctl: ")


def test_the_first_interrupt_goes_to_the_program_and_then_ends_us_by_the_real_signal(world: World) -> None:
    running = world.start("spawn", "--follow", "sh", "-c", "echo up; sleep 1000")
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=DEADLINE_S)
    assert running.returncode == -signal.SIGINT
    assert world.json("info", "@last")["signal"] == signal.SIGINT


def test_a_program_that_handles_the_interrupt_goes_on_with_its_own_code(world: World) -> None:
    running = world.start(
        "spawn", "--follow", "sh", "-c", "trap 'echo caught; exit 8' INT; echo up; while :; do sleep 1; done"
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, b"caught" in out) == (8, True)


def test_a_second_interrupt_leaves_the_program_and_ends_us(world: World) -> None:
    running = world.start("spawn", "--follow", "sh", "-c", "trap '' INT; echo up; sleep 1000")
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    interrupt_twice(running)
    running.communicate(timeout=DEADLINE_S)
    assert running.returncode == 130
    assert world.json("info", "@last")["is_alive"] is True


def test_an_interrupted_tail_ends_itself_and_never_the_session(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "echo up; sleep 1000")
    tail = world.start("tail", "-f", session)
    assert tail.stdout is not None
    assert tail.stdout.readline() == b"up\n"
    tail.send_signal(signal.SIGINT)
    tail.communicate(timeout=DEADLINE_S)
    assert tail.returncode == 130
    assert world.json("info", session)["is_alive"] is True


def test_a_closed_pipe_ends_tail_by_sigpipe_without_a_word(world: World) -> None:
    session = world.ok("spawn", "yes")
    script = f"{ORCHCTL} tail -f -n all {session} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], env=world.env, capture_output=True, timeout=DEADLINE_S, check=True)
    assert (done.stdout, done.stderr) == (b"y\n141\n", b"")
    assert os.path.isdir(world.state)
