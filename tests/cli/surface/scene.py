"""The sessions that the rows speak of, and the surroundings in which every machine shows the same.

What is started here sees no more of the caller's environment than `FIXED`: which programs there are on PATH, the
language and the terminal are then the same everywhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from tests.agents import kits
from tests.world import World, fresh_world, until

FIXED = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash"}
AGENTS = ("agent", "idle")
NAMES = (*AGENTS, "live", "shell", "cat", "pipe", "done", "killed", "ended", "gone", "forbidden")


@contextlib.contextmanager
def surroundings(world: World) -> Iterator[None]:
    """Make the environment of this process what `world` runs its commands in."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):  # all of them, so that the order is ours too
            patch.delenv(name)
        for name, value in world.env.items():
            patch.setenv(name, value)
        yield


@contextlib.contextmanager
def scene(*, agents: bool) -> Iterator[tuple[World, dict[str, str]]]:
    """A world with the sessions, and what the placeholders of a row stand for in it."""
    with fresh_world(base="/tmp") as world:  # a path of the same length everywhere, because output has it
        home = os.environ["HOME"]
        world.env = FIXED | {"HOME": home, "ORCHCTL_STATE_DIR": world.state}
        with open(f"{home}/.bashrc", "w", encoding="ascii") as file:
            file.write("PS1='$ '\n")  # without the user's and the machine's name
        with surroundings(world):
            known = sessions(world)
            if agents:
                ask(world)
        yield world, known


def sessions(world: World) -> dict[str, str]:
    """Terminals and pipes, live and ended, and two whose programs cannot be started again."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
    program = f"{world.folder}/program"
    for name in ("gone", "forbidden"):
        with open(f"{program}-{name}", "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(f"{program}-{name}", 0o700)
    os.makedirs(f"{world.folder}/repo/.git")
    with contextlib.chdir(world.folder), world.client() as client:
        for name in ("gone", "forbidden"):
            client.spawn([f"{program}-{name}"], name=name, managed_by="other").wait()
        live = client.spawn(["sleep", "1000"], name="live").id
        shell = client.spawn(["bash"], name="shell", cwd=f"{world.folder}/repo")
        client.wait_for("shell", "prompt", timeout_s=60)  # or else the command may begin before the state is live
        shell.exec("true")
        client.spawn(["cat"], name="cat")
        client.spawn(["sleep", "1000"], name="pipe", pty=False, stdin="open")
        client.spawn(["true"], name="done", managed_by="user:done").wait()
        client.spawn(["sh", "-c", "kill -9 $$"], name="killed").wait()
        client.spawn(["sh", "-c", "echo over; exit 3"], name="ended").wait()
    os.unlink(f"{program}-gone")
    os.chmod(f"{program}-forbidden", 0o600)
    with open(f"{world.folder}/file", "w", encoding="ascii") as file:
        file.write("A=1\n")
    os.mkdir(f"{world.folder}/dir")
    folders = {"dir": f"{world.folder}/dir", "file": f"{world.folder}/file"}
    return {name: name for name in NAMES} | folders | {"live_id": live}


def ask(world: World) -> None:
    """Two agents: one has ten requests open, called r0 to r9, the other none."""
    with contextlib.chdir(world.folder), world.client() as client:
        client.spawn(profile="it", name="agent", prompt="asks 10")
        client.spawn(profile="it", name="idle")
        client.wait_for("agent", "needs-input", timeout_s=60)
        until(lambda: len(client.pending()) == 10)
