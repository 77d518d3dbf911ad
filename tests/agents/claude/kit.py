"""The real Claude Code, with a model of ours on loopback and a home of its own."""

from __future__ import annotations

import contextlib
import glob
import json
import os
from collections.abc import Iterator

from tests.agents.kits import CACHE, Kit
from tests.agents.model.server import model
from tests.world import World

VERSION = "2.1.325"


def program() -> str | None:
    """The one that `.ci/harnesses` installed."""
    found = glob.glob(f"{CACHE}/claude-code@{VERSION}/node_modules/@anthropic-ai/claude-code-*/claude")
    return found[0] if found else None


@contextlib.contextmanager
def claude(world: World) -> Iterator[Kit]:
    """Its settings, its conversations and its home are in the world's folder."""
    found = program()
    assert found is not None, "claude is not installed; .ci/harnesses claude does that"
    home = f"{world.folder}/claude-home"
    os.makedirs(f"{home}/.claude", exist_ok=True)
    with model() as served:
        env = {
            "HOME": home,
            "CLAUDE_CONFIG_DIR": f"{home}/.claude",
            "ANTHROPIC_BASE_URL": served.url,
            "ANTHROPIC_API_KEY": "none",
            "NO_PROXY": "127.0.0.1",
        }
        given = ", ".join(f'{name} = "{value}"' for name, value in env.items())
        argv = json.dumps([found])
        yield Kit(profile="it", config=f'[profiles.it]\nharness = "claude"\nargv = {argv}\nenv = {{{given}}}\n')
