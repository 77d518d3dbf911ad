"""What somebody asks to be started: refused while nothing is made of it yet, or told why it could not be."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from orchctl import procfs
from orchctl.agents import registry
from orchctl.errors import BadInput, CannotExecute, CommandNotFound, Conflict, OrchctlError, PeerBroke
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader
from orchctl.log.journal import Record
from orchctl.log.session_files import SessionStore, Spec
from orchctl.pair import tree
from orchctl.paths import repo_of
from orchctl.plain import from_plain
from orchctl.protocol.messages import SpawnSession
from orchctl.session import manager, run, selection
from orchctl.shell import base, detect
from orchctl.units import LONGEST_S


def checked(asked: SpawnSession) -> Spec:
    """The intent, if it makes sense."""
    selection.check_id(asked.session_id)  # a directory is called that
    if asked.name is not None:
        selection.check_name(asked.name)
    manager.parse(asked.managed_by)
    selection.check_labels(asked.labels)
    if not asked.command or not asked.command[0]:
        raise BadInput("there is no command to run")
    given = (*asked.given, *asked.given.values())
    if any("\0" in word for word in (*asked.command, asked.cwd, *given)):
        raise BadInput("a NUL byte in the command, the directory or the environment")
    if asked.backend not in ("pty", "pipe") and not registry.is_agent(asked.backend):
        raise BadInput(f"there is no backend {asked.backend!r}", code="bad-backend")
    for seconds in (asked.timeout_s, asked.idle_s):
        if seconds is not None and not 0 < seconds <= LONGEST_S:
            raise BadInput(f"{seconds} seconds", code="bad-duration")
    if asked.stdin not in ("open", "null", "handed"):
        raise BadInput(f"{asked.stdin!r} is none of open, null and handed", code="bad-stdin")
    if not (0 < asked.cols < 1 << 16 and 0 < asked.rows < 1 << 16):
        raise BadInput(f"a terminal of {asked.cols}x{asked.rows}; 1x1 to 65535x65535", code="bad-size")
    shell = kind(asked)
    return Spec(
        id=asked.session_id,
        name=asked.name,
        managed_by=asked.managed_by,
        command=(asked.backend,) if registry.is_agent(asked.backend) else asked.command,
        cwd=asked.cwd,
        cols=asked.cols,
        rows=asked.rows,
        umask=asked.umask,
        limits=asked.limits,
        backend=asked.backend,
        restart=run.check(asked.restart),
        timeout_s=asked.timeout_s,
        idle_s=asked.idle_s,
        bind_pid=asked.bind_pid,
        bind_ticks=asked.bind_ticks,
        repo=repo_of(os.path.realpath(asked.cwd)),
        labels=asked.labels,
        remove=asked.remove,
        echo=asked.echo,
        shell=shell,
        nonce=f"{secrets.randbelow(10**16):016}",  # digits: a terminal may change letters
        created_at=time.time(),
        stdin="open" if shell is not None else asked.stdin,  # who types at its prompts has its terminal
    )


async def with_stdin(
    asked: SpawnSession, handed: int | None, zygote_can: Callable[[str], Awaitable[bool]]
) -> SpawnSession:
    """The same, if it can be done; a zygote of an older version starts programs as that version did."""
    if asked.stdin == "handed" and registry.is_agent(asked.backend):
        raise BadInput("an agent reads no stdin; 'exec' says to it what comes on stdin", code="bad-stdin")
    if asked.stdin == "handed" and handed is None:
        raise BadInput("the stdin to be handed over did not come with the request", code="bad-stdin")
    if asked.stdin == "open" or await zygote_can("stdin"):
        return asked
    if asked.stdin == "handed":
        raise Conflict(
            "the running zygote is of an older version, which cannot hand stdin over; "
            "'orchctl supervisor restart' replaces it and ends no session",
            code="older-version",
        )
    return replace(asked, stdin="open")


_RESOURCES = {
    "keeper": "no process for its keeper",
    "terminal": "no pseudo-terminal for it; end sessions, or raise the sysctl kernel.pty.max",
    "pipes": "no pipes for it",
}


def start_error(spec: Spec, step: str, number: int) -> OrchctlError:
    """Why its program does not run."""
    reason = os.strerror(number)
    if step == "cwd":
        return BadInput(f"cannot start in {spec.cwd!r}: {reason}", code="bad-cwd")
    if step in _RESOURCES:
        return OrchctlError(f"cannot start {spec.command[0]!r}: {_RESOURCES[step]}: {reason}", code="no-resources")
    if number == errno.ENOENT:
        (word, *more), hint = spec.command, ""
        if " " in word and not more:  # a line meant for a shell
            hint = f"; a shell runs it with: orchctl spawn sh -c {shlex.quote(word)}"
        return CommandNotFound(f"command not found: {word!r}{hint}")
    return CannotExecute(f"cannot execute {spec.command[0]!r}: {reason}")


def kind(asked: SpawnSession) -> str | None:
    """Which shell the command is, if it is nothing but a shell that people and `exec` talk to.

    Without a terminal it has no prompt, and from a stdin that was handed over it reads a script.
    """
    if asked.backend != "pty" or asked.stdin == "handed":
        return None
    name = base.program(asked.command)
    path = {**asked.env, **asked.given}.get("PATH")
    found = os.path.join(asked.cwd, name) if "/" in name else shutil.which(name, path=path)
    return detect.known(asked.command, os.path.basename(os.path.realpath(found)) if found else None)


def equipped(spec: Spec, folder: str) -> tuple[Spec, dict[str, str]]:
    """The session with the words its shell is started with, and the start-up files to put into `folder`."""
    if spec.shell is None:
        return spec, {}
    kind = detect.named(spec.shell)
    words = replace(spec, argv=tuple(kind.argv(folder, spec.command)), executable=base.program(spec.command))
    return words, kind.start_up(spec.nonce, folder, spec.command)


def environment(spec: Spec, folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """The session's environment, which points a shell to its start-up files."""
    return detect.named(spec.shell).environment(folder, env, spec.command) if spec.shell else dict(env)


COLS, ROWS = 80, 24
EVENTS = "events"
CREATED_S = 60.0  # a session is created so long before its program starts, at most
EVENTS_READ = 1000


def salvaged(store: SessionStore, session: str) -> Spec | None:
    """The spec as the last start was recorded with it; after an older version, one made of what else is known.

    None where not even a start is on record, or for a conversation that an older version began.
    """
    starts = [one for one in store.read_journal(session).records if one.get("type") == "started"]
    if not starts or starts[-1].get("session", session) != session:
        return None
    with contextlib.suppress(PeerBroke):
        if (spec := from_plain(Spec, starts[-1].get("spec"))).id == session:
            return spec
    began_at = float(starts[0].get("time", 0.0))
    told = _created(f"{store.state_dir}/{EVENTS}", session, began_at)
    if registry.is_agent(str(told.get("backend", "pty"))):
        return None
    seen = _program(starts[-1])
    return Spec(
        id=session,
        command=tuple(map(str, told.get("command") or seen.get("command", ()))),
        cwd=str(told.get("cwd") or seen.get("cwd", "/")),
        cols=COLS,
        rows=ROWS,
        created_at=float(told.get("time", began_at)),
        name=told.get("name"),
        backend=str(told.get("backend") or seen.get("backend", "pty")),
        managed_by=str(told.get("managed_by", "user")),
    )


def _created(events: str, session: str, started_at: float) -> Record:
    """The event that told of its creation; empty where that is gone or damaged."""
    with contextlib.suppress(OSError):
        reader = EventReader(REAL, events)
        for event in reader.read(reader.seq_at(started_at - CREATED_S), EVENTS_READ):
            if event.get("session") == session and event.get("state") == "idle":
                return event
    return {}


def _program(started: Record) -> dict[str, Any]:
    """What the kernel tells of the program, if it still runs."""
    pid, ticks = started.get("pid"), started.get("ticks")
    if not isinstance(pid, int) or not ticks or tree.start_ticks(pid) != ticks:
        return {}
    words, fields, cwd = procfs.command_line(pid), procfs.stat(pid), procfs.link(f"/proc/{pid}/cwd")
    if not words or len(fields) <= procfs.TERMINAL or not cwd:
        return {}
    return {
        "command": [os.fsdecode(word) for word in words],
        "cwd": cwd,
        "backend": "pty" if int(fields[procfs.TERMINAL]) else "pipe",
    }
