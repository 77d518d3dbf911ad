"""Keepers are forked from a zygote that has loaded everything they need."""

from __future__ import annotations

import re
import subprocess

from tests.needs import needs
from tests.world import DEADLINE_S, ORCHCTL, World, until

pytestmark = needs("strace")
SESSIONS = (["true"], ["--no-pty", "true"], ["sh", "-c", "echo out; exit 3"])


def test_a_keeper_loads_no_module(world: World) -> None:
    trace = f"{world.folder}/trace"
    words = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-s",
        "300",
        "-o",
        trace,
        "-e",
        "trace=openat",
        "-e",
        "signal=none",
    ]
    with subprocess.Popen([*words, ORCHCTL, "supervisor", "run"], env=world.env, stderr=subprocess.PIPE) as running:
        until(lambda: world.run("supervisor", "status").returncode == 0)
        with world.client() as client:
            for one in SESSIONS:
                client.spawn([word for word in one if word != "--no-pty"], pty="--no-pty" not in one).wait()
        world.end()
        running.communicate(timeout=DEADLINE_S)
    opened: dict[str, list[str]] = {}
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            if found := re.match(r'(\d+) +openat\(\w+, "([^"]*)"', line):
                opened.setdefault(found[1], []).append(found[2])
    keepers = [files for files in opened.values() if any(path.endswith("/spec.json") for path in files[:4])]
    assert len(keepers) == len(SESSIONS)
    assert [path for files in keepers for path in files if path.endswith((".py", ".pyc", ".so"))] == []
