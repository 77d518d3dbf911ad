"""What the contract suite has to know about a harness: how to configure it, and what to say to have it do something."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.agents.codex import model as codex_model
from tests.world import World

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "orchctl", "harnesses")
HERE = os.path.dirname(__file__)


@dataclass(slots=True)
class Kit:
    """A harness to be tried. Prompts are steps, one a line; a harness with another language overrides them."""

    profile: str
    config: str  # for config.toml of the state directory
    env: dict[str, str] = field(default_factory=dict)
    can_die: bool = False  # prompts can have the server itself die, hang or talk nonsense
    goes_on: bool = True  # with its turn, when it is denied something
    asks_for_children: bool = False  # whether it may have a sub-agent, before that asks anything
    patient_s: float = 60.0  # how long a server that owes may be silent; short ones are for tests of just that

    def say(self, text: str) -> str:
        """The agent says that."""
        return f"say {text}"

    def think(self, text: str) -> str:
        """It thinks that."""
        return f"think {text}"

    def tool(self, command: str) -> str:
        """It runs a command, for which it needs a permission."""
        return f"tool {command}"

    def ask(self, file: str) -> str:
        """It wants to add a line to a file in its directory."""
        return f"ask {file}"

    def question(self) -> str:
        """It asks for a colour, red or blue, and goes on."""
        return "question Which colour?"

    def count(self, last: int, pause_ms: int) -> str:
        """It says the numbers from 0 on, one a line, with pauses."""
        return f"count {last} {pause_ms}"

    def recall(self) -> str:
        """It says how many prompts it had: `prompt number N`."""
        return "recall"

    def child(self, prompt: str) -> str:
        """It has a sub-agent do that, and waits for it."""
        return f"child {prompt}"

    def stay(self) -> str:
        """It goes on until it is interrupted."""
        return "stay"

    def fail(self, text: str) -> str:
        """The turn fails."""
        return f"fail {text}"

    def steps(self, *prompts: str) -> str:
        """One after another."""
        return "\n".join(prompts)

    def restart(self, world: World) -> None:
        """Have the supervisor replaced by the version that the command line has."""
        world.ok("supervisor", "restart")

    def prepare(self, world: World) -> None:
        """Before anything is started there."""
        os.makedirs(world.state, mode=0o700, exist_ok=True)
        with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
            file.write(f'[harness]\nanswer = "{self.patient_s:g}s"\n{self.config}')
        world.env |= self.env


@contextlib.contextmanager
def scripted(world: World) -> Iterator[Kit]:
    """The harness without an agent."""
    home = f"{world.folder}/scripted"
    os.makedirs(home, exist_ok=True)
    argv = [sys.executable, f"{HERE}/scripted_server.py"]
    config = f'[profiles.it]\nharness = "scripted"\nargv = {argv}\nenv = {{SCRIPTED_HOME = "{home}"}}\n'.replace(
        "'", '"'
    )
    yield Kit(profile="it", config=config, can_die=True)


def codex_program() -> str | None:
    """The codex that `.ci/harnesses` installed."""
    found = sorted(glob.glob(f"{CACHE}/codex@*/node_modules/@openai/codex-*/vendor/*/bin/codex"))
    return found[-1] if found else None


@contextlib.contextmanager
def codex(world: World) -> Iterator[Kit]:
    """The real codex, with a model of ours on loopback."""
    program = codex_program()
    assert program is not None, "codex is not installed; .ci/harnesses codex does that"
    home = f"{world.folder}/codex-home"
    os.makedirs(home, exist_ok=True)
    with codex_model.model() as model:
        with open(f"{home}/config.toml", "w", encoding="utf-8") as file:
            file.write(codex_model.settings(model.url))
        argv = [program, "app-server", "--enable", "default_mode_request_user_input"]
        config = (
            f'[profiles.it]\nharness = "codex"\nargv = {argv}\n'.replace("'", '"')
            + f'env = {{CODEX_HOME = "{home}", HOME = "{world.folder}"}}\n'
            + 'options = {sandbox = "danger-full-access", approval = "untrusted"}\n'
        )
        yield Kit(profile="it", config=config)
