"""What a session inherits from the client that asks for it, besides the directory."""

from __future__ import annotations

import os

from orchctl.errors import BadInput


def environment() -> dict[str, str]:
    """This process's environment, without the LC_CTYPE that Python itself puts there in the C locale."""
    env = dict(os.environ)
    if env.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8"):
        try:
            with open("/proc/self/environ", "rb") as file:
                given = file.read().split(b"\0")
        except OSError:
            return env
        if b"LC_CTYPE=" + os.fsencode(env["LC_CTYPE"]) not in given:
            del env["LC_CTYPE"]
    return env


def umask() -> int:
    """This process's file mode mask, read without changing it where the kernel shows it."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except (OSError, ValueError):
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def soft_limits() -> dict[str, int]:
    """The soft resource limits, by name."""
    import resource

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {name: resource.getrlimit(getattr(resource, name))[0] for name in names}


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot; with its number, that names it for ever."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, *rest = file.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        state, rest = b"Z", []
    if state == b"Z":
        raise BadInput(f"there is no process {pid} to be bound to", code="no-such-process")
    return int(rest[18])
