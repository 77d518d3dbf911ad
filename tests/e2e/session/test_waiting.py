"""`waiting` is right or `unknown`, never wrong: real programs, many looks, on a machine that has other work to do."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchctl import Client, SessionHandle
from orchctl.session.model import Waiting
from tests.world import World, until

LOOKS = 30
PYTHON = sys.executable
ASKS = {
    "read -p": (("bash", "-c", "read -p 'sure? ' x; exec sleep 1000"), Waiting.YES),
    "input()": ((PYTHON, "-c", "input('name? '); import time; time.sleep(1000)"), Waiting.YES),
    "cat": (("bash", "-c", "head -n 1; exec sleep 1000"), Waiting.YES),
    "getpass": ((PYTHON, "-c", "import getpass, time; getpass.getpass(); time.sleep(1000)"), Waiting.PASSWORD),
    "stty -echo": (("bash", "-c", "stty -echo; read x; stty echo; exec sleep 1000"), Waiting.PASSWORD),
}


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """Other processes that want the processor."""
    code = "while True: pass"
    others = [subprocess.Popen([PYTHON, "-c", code]) for _ in range(4)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def looks(session: SessionHandle, count: int = LOOKS) -> set[Waiting]:
    return {session.info().waiting for _ in range(count)}


def known(session: SessionHandle, count: int = LOOKS) -> set[Waiting]:
    """What was seen, where something was: on a machine that is busy enough, a look may come to nothing."""
    return looks(session, count) - {Waiting.UNKNOWN}


@pytest.mark.parametrize("name", ASKS)
def test_a_program_that_asks_is_seen_to_wait_until_it_is_answered(world: World, name: str) -> None:
    command, expected = ASKS[name]
    with busy(), world.client() as client:
        session = client.spawn(command)
        assert session.wait_for("input") == "input"
        assert known(session) == {expected}
        session.send(b"answer\n")
        assert looks(session) <= {Waiting.NO, Waiting.UNKNOWN}
        until(lambda: session.info().waiting is Waiting.NO)


def test_an_answer_that_is_on_its_way_is_not_waited_for(world: World) -> None:
    """Right after the input was taken, and before the program has seen it, nobody waits for it any more."""
    with busy(), world.client() as client:
        for _ in range(10):
            session = client.spawn(["bash", "-c", "read x; exec sleep 1000"])
            session.wait_for("input")
            session.send(b"answer\n")
            assert session.info().waiting in (Waiting.NO, Waiting.UNKNOWN)
            session.kill()


def test_a_shell_is_at_its_prompt_or_not(world: World) -> None:
    with busy(), world.client() as client:
        shell = client.spawn(["bash"])
        shell.wait_for("prompt")
        until(lambda: shell.info().waiting is Waiting.PROMPT)
        assert known(shell) == {Waiting.PROMPT}
        shell.exec("sleep 1000", detach=True)
        until(lambda: shell.info().waiting is Waiting.NO)
        assert looks(shell) <= {Waiting.NO, Waiting.UNKNOWN}
        shell.interrupt()
        shell.wait_for("input")
        assert known(shell) == {Waiting.PROMPT}
        shell.exec("read -p 'name? ' name", tty_stdin=True, detach=True)
        shell.wait_for_output("name\\? ")
        until(lambda: shell.info().waiting is Waiting.YES)
        shell.send(b"x\n")
        shell.wait_for("prompt")
        shell.send(b"half a line")
        shell.wait_for_output("half a line")
        until(lambda: shell.info().waiting is Waiting.YES)


def test_what_does_not_wait_never_seems_to(world: World) -> None:
    with busy(), world.client() as client:
        sleeping = client.spawn(["sleep", "1000"])
        working = client.spawn([PYTHON, "-c", "while True: pass"])
        silent = client.spawn(["bash", "-c", "stty -echo; sleep 1000"])
        paused = client.spawn(["cat"])
        paused.wait_for("input")
        paused.pause()
        until(lambda: silent.info().waiting is Waiting.NO)
        for session in (sleeping, working, silent, paused):
            assert looks(session) <= {Waiting.NO, Waiting.UNKNOWN}
        paused.unpause()
        assert paused.wait_for("input") == "input"


def test_programs_that_wait_for_several_things_are_not_judged(world: World) -> None:
    code = "import os, select; print('up', flush=True); select.select([0, os.pipe()[0]], [], [])"
    with world.client() as client:
        session = client.spawn([PYTHON, "-c", code])
        session.wait_for_output("up")
        assert looks(session, 10) <= {Waiting.NO, Waiting.UNKNOWN}
        until(lambda: session.info().waiting is Waiting.UNKNOWN)


def test_a_session_on_pipes_waits_at_its_stdin(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["sh", "-c", "read x; exec sleep 1000"], pty=False, stdin="open")
        assert session.wait_for("input") == "input"
        assert known(session) == {Waiting.YES}
        session.send(b"answer\n")
        assert known(session) == {Waiting.NO}


def test_list_tells_it_in_json_and_templates(world: World) -> None:
    world.ok("spawn", "--name", "asks", "cat")
    world.ok("spawn", "--name", "sleeps", "sleep", "1000")
    world.ok("spawn", "--name", "ended", "--wait", "true")
    world.ok("wait", "asks", "--for", "input")
    told = {"asks": "yes", "sleeps": "no", "ended": "no"}
    until(lambda: {one["name"]: one["waiting"] for one in world.json("list", "-a")} == told)
    until(lambda: world.ok("list", "asks", "--template", "{waiting}") == "yes")
    until(lambda: "waiting      yes" in world.ok("info", "asks").splitlines())


def test_a_pair_that_does_not_answer_makes_it_unknown(world: World) -> None:
    stuck = world.ok("spawn", "cat")
    world.ok("spawn", "--name", "well", "cat")
    world.ok("wait", "well", "--for", "input")
    keeper = _keeper(world, stuck)
    os.kill(keeper, signal.SIGSTOP)
    try:
        until(lambda: [one["waiting"] for one in world.json("list")] == ["unknown", "yes"])
    finally:
        os.kill(keeper, signal.SIGCONT)
    until(lambda: world.json("info", stuck)["waiting"] == "yes")


def test_it_is_still_right_when_a_process_of_ours_was_killed(world: World) -> None:
    with world.client() as client:
        asks, sleeps = client.spawn(["cat"]), client.spawn(["sleep", "1000"])
        asks.wait_for("input")
        os.kill(world.supervisor(), signal.SIGKILL)
        assert known(asks) == {Waiting.YES}
        for session, expected in ((asks, Waiting.YES), (sleeps, Waiting.NO)):
            os.kill(_keeper(world, session.id), signal.SIGKILL)
            until(lambda session=session, expected=expected: session.info().waiting is expected)  # type: ignore[misc]
            assert known(session, 10) == {expected}


def _keeper(world: World, session: str) -> int:
    records = [json.loads(line.split(b" ", 1)[1]) for line in world.journal(session).splitlines()]
    return int([record for record in records if record["type"] == "started"][-1]["keeper"])


def test_old_answers_are_understood(world: World) -> None:
    """What a client of an older version does not ask for, it does not get: the field has a default."""
    with Client(state_dir=world.state) as client:
        session = client.spawn(["cat"])
        assert client.list()[0].waiting is Waiting.UNKNOWN
        assert session.value.waiting is Waiting.UNKNOWN
