"""A backend that another package brings: the whole contract holds for it, and one that is broken harms nobody."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from tests.agents import kits, outsider
from tests.agents.contract import Contract
from tests.agents.kits import Kit
from tests.agents.stage import Stage
from tests.world import World


@contextlib.contextmanager
def _kit(world: World) -> Iterator[Kit]:
    with kits.scripted(world) as kit:
        yield outsider.outside(world, kit)


@pytest.mark.long
class TestOutsider(Contract):
    """All of it."""

    def kit(self, world: World) -> AbstractContextManager[Kit]:
        """Found by its entry point."""
        return _kit(world)


def test_a_backend_of_another_package_is_found_and_talked_to(world: World) -> None:
    with _kit(world) as kit:
        kit.prepare(world)
        stage = Stage(world, kit)
        stage.spawn()
        assert world.json("info", "it")["backend"] == outsider.NAME
        assert "hello out there" in stage.says(kit.say("hello out there"))
        pid = world.supervisor()
        kit.restart(world)
        assert world.supervisor() != pid
        assert "prompt number 2" in stage.says(kit.recall())
        world.end()


def test_its_name_is_taken_by_spawn_and_a_broken_one_says_what_is_wrong(world: World) -> None:
    with _kit(world) as kit:
        kit.prepare(world)
        names = {one["harness"] for one in json.loads(outsider.run(world, "harness", "list", "--json"))}
        assert {"acp", "claude", "codex", "opencode", outsider.NAME} <= names
        assert "no licence" in outsider.run(world, "doctor", "--json")
        with pytest.raises(AssertionError, match="cannot be loaded: RuntimeError: no licence"):
            outsider.run(world, "spawn", "-b", "broken")
        with pytest.raises(AssertionError, match=outsider.NAME):
            outsider.run(world, "spawn", "-b", outsider.NAME)
        world.end()
