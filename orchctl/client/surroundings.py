"""What a session inherits from the client that asks for it, besides environment and directory."""

from __future__ import annotations

import os


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
