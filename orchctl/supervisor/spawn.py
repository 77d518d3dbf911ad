"""What somebody asks to be started: refused while nothing is made of it yet, or told why it could not be."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from orchctl.agents import registry
from orchctl.errors import BadInput, CannotExecute, CommandNotFound, Conflict, OrchctlError
from orchctl.log.session_files import Spec
from orchctl.paths import repo_of
from orchctl.protocol.messages import SpawnSession
from orchctl.session import manager, run, selection
from orchctl.supervisor import shell_start

LONGEST_S = 10 * 365 * 86400.0


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
    if asked.backend not in ("pty", "pipe", *registry.names()):
        raise BadInput(f"there is no backend {asked.backend!r}", code="bad-backend")
    for seconds in (asked.timeout_s, asked.idle_s):
        if seconds is not None and not 0 < seconds <= LONGEST_S:
            raise BadInput(f"{seconds} seconds", code="bad-duration")
    if asked.stdin not in ("open", "null", "handed"):
        raise BadInput(f"{asked.stdin!r} is none of open, null and handed", code="bad-stdin")
    if not (0 < asked.cols < 1 << 16 and 0 < asked.rows < 1 << 16):
        raise BadInput(f"a terminal of {asked.cols}x{asked.rows}; 1x1 to 65535x65535", code="bad-size")
    shell = shell_start.kind(asked)
    return Spec(
        id=asked.session_id,
        name=asked.name,
        managed_by=asked.managed_by,
        command=(asked.backend,) if asked.backend in registry.names() else asked.command,
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
        nonce=secrets.token_hex(8),
        created_at=time.time(),
        stdin="open" if shell is not None else asked.stdin,  # who types at its prompts has its terminal
    )


async def with_stdin(
    asked: SpawnSession, handed: int | None, zygote_can: Callable[[str], Awaitable[bool]]
) -> SpawnSession:
    """The same, if it can be done; a zygote of an older version starts programs as that version did."""
    if asked.stdin == "handed" and asked.backend in registry.names():
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


def start_error(spec: Spec, step: str, number: int) -> OrchctlError:
    """Why its program does not run."""
    reason = os.strerror(number)
    if step == "cwd":
        return BadInput(f"cannot start in {spec.cwd!r}: {reason}", code="bad-cwd")
    if number == errno.ENOENT:
        return CommandNotFound(f"command not found: {spec.command[0]!r}")
    return CannotExecute(f"cannot execute {spec.command[0]!r}: {reason}")
