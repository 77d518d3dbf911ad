"""`exec --json` tells the status of each part of a pipe, in the shells that can."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.conformance.kinds import BASH, DASH, FISH, ZSH, Kind
from tests.needs import marks
from tests.world import World, until

TELLING = (BASH, ZSH, FISH)


def _each(*kinds: Kind) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in kinds])


def _told(world: World, *words: str) -> tuple[Any, Any]:
    done = json.loads(world.run("exec", "s", "--json", *words).stdout)
    return done["exit_code"], done["pipestatus"]


@_each(*TELLING, DASH)
def test_the_statuses_of_a_pipe_are_in_the_result_where_the_shell_knows_them(world: World, kind: Kind) -> None:
    world.ok("spawn", "--name", "s", *kind.command)
    parts = [f"sh -c 'exit {number}'" for number in range(12)]
    for text, code, statuses in (
        ("sh -c 'exit 3'", 3, [3]),
        ("false | true | sh -c 'exit 3'", 3, [1, 0, 3]),
        (" | ".join(parts), 11, list(range(12))),
    ):
        assert _told(world, text) == (code, statuses if kind in TELLING else None), text


@_each(*TELLING)
def test_they_are_there_after_an_interrupt_and_a_time_out_too(world: World, kind: Kind) -> None:
    session = world.ok("spawn", "--name", "s", *kind.command)
    text = "echo up; sleep 1000"
    assert _told(world, "--timeout", "500ms", text) == (124, [130])

    def interrupt() -> None:
        until(lambda: world.log(session).count(b"up\r\n") == 2)
        world.ok("interrupt", "s")

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    assert _told(world, text) == (130, [130])
    interrupter.join()
    code, statuses = _told(world, "--timeout", "500ms", "false | sleep 1000 | cat")
    assert (code, statuses) in [(124, [1, 130, 130]), (124, None)]  # never those of our own line
    assert _told(world, "false | true") == (0, [1, 0])
