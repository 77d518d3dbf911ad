"""The real opencode for the contract suite, with a model of ours on loopback."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

from tests.agents.kits import Kit
from tests.agents.opencode.hosting import environment, program
from tests.agents.opencode.model import Model
from tests.world import World


@dataclass(slots=True, kw_only=True)
class OpencodeKit(Kit):
    """With the model that its prompts are for."""

    model: Model

    def call(self, name: str, **given: object) -> str:
        """It calls a tool of opencode's."""
        return f"call {name} {json.dumps(given)}"

    def child(self, prompt: str) -> str:
        """The one that can do everything."""
        return self.subagent(prompt)

    def subagent(self, *prompts: str) -> str:
        """It has a sub-agent do that."""
        return self.call("task", description="part of it", prompt=self.steps(*prompts), subagent_type="general")


@contextlib.contextmanager
def opencode(world: World) -> Iterator[OpencodeKit]:
    """Hermetic: a home of its own, and no address but the model's."""
    found = program()
    assert found is not None, "opencode is not installed; .ci/harnesses opencode does that"
    home = f"{world.folder}/opencode-home"
    os.makedirs(home, exist_ok=True)
    with Model() as model:
        settings = environment(home, model.url)
        env = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items() if name != "PATH")
        config = f'[profiles.it]\nharness = "opencode"\nargv = [{json.dumps(found)}]\n[profiles.it.env]\n{env}'
        yield OpencodeKit(profile="it", config=config, model=model)
