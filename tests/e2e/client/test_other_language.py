"""A client in another language, written from docs/PROTOCOL.md alone: it gets every byte, also when supervisors die."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.needs import needs
from tests.programs import pour, pour_by_steps, pour_bytes, step_ends
from tests.world import DEADLINE_S, World, until

CLIENT = Path(__file__).parents[2] / "protocol" / "client.mjs"
NODE = shutil.which("node")
TOTAL = 600_000

pytestmark = needs("node")


@contextlib.contextmanager
def _client(world: World, credit: int, kill_at: int, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    with open(f"{world.folder}/copy", "wb"):
        pass
    words = [str(NODE), str(CLIENT), f"{world.folder}/copy", str(credit), str(kill_at), *command]
    with subprocess.Popen(words, env=world.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
        try:
            yield running
        finally:
            running.kill()


def _told(running: subprocess.Popen[bytes]) -> Any:
    out, _ = running.communicate(timeout=DEADLINE_S)
    return json.loads(out.splitlines()[-1])


def _copy(world: World) -> bytes:
    with open(f"{world.folder}/copy", "rb") as file:
        return file.read()


def _session(running: subprocess.Popen[bytes]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().decode().strip()


@pytest.mark.parametrize("credit", [1000, 1 << 20])
def test_it_spawns_follows_with_credit_and_tells_the_exit_code(world: World, credit: int) -> None:
    world.supervisor()
    with _client(world, credit, 0, pour(TOTAL, seed=12, exit_code=41)) as running:
        session = _session(running)
        told = _told(running)
    assert (told["exit_code"], told["end_reason"], told["next_offset"]) == (41, "exited", TOTAL)
    assert told["connections"] == 2
    assert _copy(world) == world.log(session) == pour_bytes(TOTAL, seed=12)


def test_it_goes_on_at_its_byte_when_the_supervisor_is_killed(world: World) -> None:
    gate, kills = f"{world.folder}/gate", 3
    os.mkfifo(gate)
    fd = os.open(gate, os.O_RDWR)
    ends = step_ends(TOTAL, seed=13, steps=kills + 1)
    world.supervisor()
    with _client(world, 5000, 0, pour_by_steps(TOTAL, seed=13, steps=kills + 1, gate=gate, exit_code=7)) as running:
        session = _session(running)
        for end in ends[:kills]:
            os.write(fd, b".")
            until(lambda wanted=end: len(_copy(world)) > wanted - 4000)  # type: ignore[misc]
            os.kill(world.supervisor(), signal.SIGKILL)
        os.write(fd, b".")
        told = _told(running)
    os.close(fd)
    assert (told["exit_code"], told["next_offset"]) == (7, TOTAL)
    assert told["connections"] >= 2 + kills
    assert _copy(world) == world.log(session) == pour_bytes(TOTAL, seed=13)


def test_it_kills_what_it_follows(world: World) -> None:
    world.supervisor()
    with _client(world, 100, 6, ["sh", "-c", "echo begun; exec sleep 1000"]) as running:
        session = _session(running)
        told = _told(running)
    assert told["killed"] == [session]
    assert (told["exit_code"], told["end_reason"]) == (None, "killed")
    assert _copy(world) == world.log(session) == b"begun\r\n"


def test_it_hears_why_something_cannot_be_done(world: World) -> None:
    world.supervisor()
    with _client(world, 100, 0, ["/no/such/program"]) as running:
        assert _told(running)["failed"] == "command-not-found"
    with _client(world, 0, 0, ["true"]) as running:
        _session(running)
        assert _told(running)["failed"] == "bad-credit"
