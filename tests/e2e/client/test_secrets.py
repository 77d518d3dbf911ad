"""A secret that is given to a session is nowhere but in its program (F69): by /proc and by every file of the store."""

from __future__ import annotations

import os
import signal

import pytest

from tests.needs import needs
from tests.world import World, processes_of, until

SECRET = "canary-" + "5up3r" * 3
_READS = "trap : TERM; stty -echo; echo ready; read word; stty echo; echo got ${#word}; sleep 1000"


def _with_secret(world: World) -> list[str]:
    """The files that have it."""
    found = []
    for folder, _, names in os.walk(world.state):
        for name in names:
            path = f"{folder}/{name}"
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    if SECRET.encode() in file.read():
                        found.append(os.path.relpath(path, world.state))
    return found


def _who_shows_it(world: World) -> set[int]:
    """The processes that have it in their environment or in their words."""
    found = set[int]()
    for pid in processes_of(world.folder):
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if SECRET.encode() in file.read():
                        found.add(pid)
            except OSError:
                continue
    return found


@needs("root")
@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_secret_in_the_environment_is_in_the_program_alone(world: World, how: str) -> None:
    words, env = ["-e", f"TOKEN={SECRET}"], world.env
    if how == "environment":
        words, env = [], world.env | {"TOKEN": SECRET}
    session = world.ok("spawn", *words, "--", "sleep", "1000", env=env)
    program = world.json("info", session)["pid"]
    until(lambda: _who_shows_it(world) == {program}, lambda: f"{program} {_who_shows_it(world)}")
    assert _with_secret(world) == []
    os.kill(world.supervisor(), signal.SIGKILL)  # nor does the next one need it
    world.ok("exec", world.ok("spawn", "bash"), "true")
    for verb in (["info", session], ["list"], ["events"], ["audit"]):
        assert SECRET not in world.ok(*verb, "--json")
    assert _with_secret(world) == []
    assert _who_shows_it(world) == {program}


@needs("root")
def test_a_secret_that_is_typed_where_nothing_is_shown_is_written_nowhere(world: World) -> None:
    session = world.ok("spawn", "--", "sh", "-c", _READS)
    until(lambda: b"ready" in world.log(session))
    with world.client() as client:
        client.send(session, f"{SECRET}\n".encode())
    until(lambda: f"got {len(SECRET)}".encode() in world.log(session))
    assert _with_secret(world) == []
    assert _who_shows_it(world) == set()
    assert SECRET not in world.ok("events", "--json")
