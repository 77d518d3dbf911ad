"""Conversations with agents of every backend: the real ones that `.ci/harnesses` installs, with models on loopback."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from tests.agents.acp import kits as acp
from tests.agents.claude import kit as claude
from tests.agents.kits import Kit, codex, codex_program
from tests.agents.opencode import kit as opencode
from tests.agents.opencode.hosting import program as opencode_program
from tests.golden.place import BASE, HOME, WORK, Place
from tests.golden.terminals import MANAGER

AGENT = "agent"  # of the Agent Client Protocol, without a model: it can complain


@contextlib.contextmanager
def kits(place: Place) -> Iterator[dict[str, Kit]]:
    """Each with a profile of its own name, and its program by a path below the place."""
    with contextlib.ExitStack() as stack:
        made: dict[str, Kit] = {}
        programs: dict[str, str | None] = {
            "codex": codex_program(),
            "claude": claude.program(),
            "opencode": opencode_program(),
            "acp": acp.QWEN if acp.qwen_program() else None,
        }
        makers: dict[str, Callable[[Place], contextlib.AbstractContextManager[Kit]]] = {
            "codex": codex,
            "claude": claude.claude,
            "opencode": opencode.opencode,
            "acp": acp.qwen,
        }
        for name, program in programs.items():
            assert program is not None, f"{name} is not installed; .ci/harnesses does that"
            kit = stack.enter_context(makers[name](place))
            here = place.copy(name, program) if os.path.isdir(program) else place.link(name, program)
            config = kit.config.replace(program, here).replace("[profiles.it", f"[profiles.{name}")
            kit.profile, kit.config = name, config
            made[name] = kit
        yield made


def plain_agent(place: Place) -> str:
    """The settings of an agent that does what it is told, step by step, and writes to stderr as much as it is told."""
    home = f"{BASE}/agent"
    os.makedirs(home, exist_ok=True)
    server = place.link("agent.py", os.path.abspath(sys.modules[acp.__name__].HERE + "/agent.py"))
    program = f"{BASE}/bin/complaining"
    with open(program, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nseq 1 400 >&2\nexec {BASE}/venv/bin/python {server}\n")
    os.chmod(program, 0o700)
    return f'[profiles.{AGENT}]\nharness = "acp"\nargv = ["{program}"]\nenv = {{ACP_HOME = "{home}"}}\n'


def make(place: Place, made: dict[str, Kit]) -> None:
    """With each: a prompt, a tool that is allowed, a question, a refusal, an interrupt, another run, and the end."""
    for name, kit in made.items():
        _spawn(place, name, "-m", MANAGER, "--prompt", kit.say("first words"))
        place.ok("wait", name, "--for", "turn")
        asked = kit.steps(kit.think("a thought"), kit.ask("file"), kit.say("over"))
        assert place.run("exec", "--no-wait-input", name, asked).returncode == 7
        place.ok("approve", name)
        place.ok("wait", name, "--for", "turn")
        assert place.run("exec", "--no-wait-input", name, kit.question()).returncode == 7
        place.ok("answer", name, "blue")
        place.ok("wait", name, "--for", "turn")
        place.ok("restart", name)
        place.ok("exec", "--wait-prompt", "60s", name, kit.recall())
        place.ok("kill", name)
    _agent(place)


def _agent(place: Place) -> None:
    """Denied something, interrupted, cut short by the death of its server, and retried by name."""
    _spawn(place, AGENT)
    place.run("exec", "--no-wait-input", AGENT, "ask other")
    place.ok("deny", AGENT)
    place.ok("wait", AGENT, "--for", "turn")
    place.ok("exec", "--once", "said-once", AGENT, "say once")
    place.ok("exec", "--once", "said-once", AGENT, "say once")
    place.run("exec", "--timeout", "500ms", AGENT, "stay")
    place.run("exec", AGENT, "fail no more tokens")
    place.run("exec", AGENT, "die")
    place.ok("exec", "--wait-prompt", "60s", AGENT, "say back again")
    place.ok("kill", AGENT)


def leave_live(place: Place) -> None:
    """A conversation that waits for a human when the power goes."""
    _spawn(place, AGENT, "--name", "left-agent")
    place.ok("exec", "--wait-prompt", "60s", "left-agent", "say still here")
    assert place.run("exec", "--no-wait-input", "left-agent", "ask something").returncode == 7


def _spawn(place: Place, profile: str, *words: str) -> None:
    folder = f"{WORK}/{profile}"
    os.makedirs(folder, exist_ok=True)
    name = () if "--name" in words else ("--name", profile)
    place.ok("spawn", "--profile", profile, "-w", folder, *name, *words, env=place.env | {"HOME": HOME})
