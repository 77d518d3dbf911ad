"""What a pair is to run, as the supervisor wrote it down before asking for the fork.

`spec.json` is the intent and may be shown; `env.json` is apart because it holds secrets.
"""

from __future__ import annotations

import encodings.ascii  # noqa: F401 - which `open` would load by its name, in each keeper anew
import json
import os
from dataclasses import dataclass
from typing import Any

from orchctl.log import journal
from orchctl.session import layout

RING_BYTES = 64 << 20
SERVER = "server"  # the backend of an agent server
# What the program's stdin is.
OPEN = "open"  # its terminal, or a pipe that `send` writes to
NULL = "null"  # /dev/null
HANDED = "handed"  # a descriptor of the client that asked, sent ahead on the first connection; in later runs /dev/null


@dataclass(frozen=True, slots=True)
class Plan:
    """The program and the surroundings it gets from the client that asked."""

    folder: str
    executable: str
    command: list[str]
    cwd: str
    env: dict[str, str]
    umask: int
    limits: dict[str, int]
    cols: int
    rows: int
    terminal: bool
    apart: bool  # what it complains about goes to a file of its own: its stdout is for messages alone
    echo: bool
    ring_bytes: int
    timeout_s: float | None
    idle_s: float | None
    bind_pid: int | None
    bind_ticks: int
    stdin: str
    intent: dict[str, Any]  # all of `spec.json`, for a supervisor that finds the file gone or damaged


def keep_environment(folder: str, env: dict[str, str]) -> None:
    """For the next run, which reads and removes it."""
    path = os.path.join(folder, layout.ENVIRONMENT)
    temporary = f"{path}.kept"  # not the name that a supervisor uses
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        json.dump(env, file)
    os.rename(temporary, path)


def read(folder: str) -> Plan:
    """The plan in a session's directory. The environment is deleted once read, unless it may start again."""
    with open(os.path.join(folder, layout.SPEC), "rb") as file:
        spec = journal.load(file.read())
    with open(os.path.join(folder, layout.ENVIRONMENT), encoding="ascii") as file:
        env = json.load(file)
    if spec.get("restart", "no") == "no":
        os.unlink(os.path.join(folder, layout.ENVIRONMENT))
    return Plan(
        folder=folder,
        executable=spec.get("executable") or spec["command"][0],
        command=spec.get("argv") or spec["command"],
        cwd=spec["cwd"],
        env=env,
        umask=spec["umask"],
        limits=spec["limits"],
        cols=spec["cols"],
        rows=spec["rows"],
        terminal=spec.get("backend", "pty") == "pty",
        apart=spec.get("backend") == SERVER,
        echo=spec.get("echo", True),
        ring_bytes=spec.get("ring_bytes", RING_BYTES),
        timeout_s=spec.get("timeout_s"),
        idle_s=spec.get("idle_s"),
        bind_pid=spec.get("bind_pid"),
        bind_ticks=spec.get("bind_ticks", 0),
        stdin=spec.get("stdin", OPEN),
        intent=spec,
    )
