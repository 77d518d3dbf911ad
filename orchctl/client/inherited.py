"""What a session inherits from the client that asks for it, besides the directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Literal, Protocol

from orchctl import procfs
from orchctl.errors import BadInput
from orchctl.paths import Root


def environment() -> dict[str, str]:
    """This process's environment, without the LC_CTYPE that Python itself puts there in the C locale."""
    env = dict(os.environ)
    if env.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8"):
        given = procfs.environment("self")
        if given is not None and b"LC_CTYPE=" + os.fsencode(env["LC_CTYPE"]) not in given:
            del env["LC_CTYPE"]
    return env


def in_ci() -> bool:
    """Whether this process runs in a continuous-integration job."""
    from orchctl.session.environment import runs_in

    return runs_in(os.environ)


def terminal_viewer() -> str:
    """The secret of whoever works in this terminal, as a viewer; empty without a controlling terminal.

    It is the same in all that was started in the terminal and another in each other one: made from the device, the
    session of processes that it controls, and when that session's leader was started, so that the next one to get the
    same device is not taken for it.
    """
    try:
        session, device = procfs.stat("self")[procfs.SESSION : procfs.TERMINAL + 1]
        ticks = procfs.stat(int(session))[procfs.STARTED]
        boot = procfs.boot_id().encode("ascii")
    except (OSError, ValueError, IndexError):
        return ""
    if device == b"0":
        return ""
    import hashlib

    return hashlib.blake2b(b"/".join((b"terminal", boot, device, session, ticks)), digest_size=16).hexdigest()


def umask() -> int:
    """This process's file mode mask, read without changing it where the kernel shows it."""
    told = procfs.status("self").get("Umask")
    if told is not None:
        return int(told, 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def soft_limits() -> dict[str, int]:
    """The soft resource limits, by name."""
    import resource

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {name: resource.getrlimit(getattr(resource, name))[0] for name in names}


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot; with its number, that names it for ever.

    A zombie is no process any more, and a thread is none: both have a directory in /proc.
    """
    try:
        held = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        try:
            fields = procfs.stat(pid)
        finally:
            if held is not None:
                os.close(held)
    except (OSError, OverflowError):
        fields = []
    if not fields or fields[procfs.STATE] in (b"Z", b"X"):
        raise BadInput(f"there is no process {pid} to be bound to", code="no-such-process")
    return int(fields[procfs.STARTED])


def default_shell(root: Root) -> str:
    """The one in the settings, else the password entry's."""
    import pwd

    from orchctl import config

    if chosen := config.of(root).config.shell:
        return chosen
    try:
        return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"


def current_directory() -> str:
    """Where we are."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BadInput("the current directory no longer exists; say where with -w", code="bad-cwd") from None


class HasDescriptor(Protocol):
    """An open file, a socket, a pipe's end of a subprocess."""

    def fileno(self) -> int:
        """Its descriptor."""


Stdin = Literal["open", "null"] | bytes | int | HasDescriptor


@contextlib.contextmanager
def stdin_of(given: Stdin | None, *, pipes: bool) -> Iterator[tuple[str, int | None]]:
    """How it is called on the wire, and the descriptor to hand over if there is one.

    Nothing given is `null` for a session on pipes, and its terminal for another.
    """
    if given is None:
        yield ("null" if pipes else "open"), None
    elif isinstance(given, str):
        if given not in ("open", "null"):
            raise BadInput(
                f"{given!r} as stdin; 'open', 'null', bytes, or something with a descriptor", code="bad-stdin"
            )
        yield given, None
    elif isinstance(given, bytes):
        with os.fdopen(os.memfd_create("orchctl-stdin"), "w+b") as file:
            file.write(given)
            file.seek(0)
            yield "handed", file.fileno()
    else:
        fd = given if isinstance(given, int) else given.fileno()
        if os.isatty(fd):
            raise BadInput(
                "stdin is a terminal, which a session cannot share with its caller; "
                "attach to the session to type, or leave its input open for 'send'",
                code="bad-stdin",
            )
        yield "handed", fd
