"""What the kernel lets nobody hand over: hard limits, groups, namespaces, seccomp.

Sessions have the supervisor's, whoever asks for them; whoever asks and has others is told.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# not the cgroup: it is another one in every login, and says nothing about what a program may do
_NAMESPACES = ("mnt", "net", "pid", "user", "ipc", "uts")
_STATUS = {"Seccomp": "seccomp filter", "NoNewPrivs": "no new privileges"}


def of_this_process() -> dict[str, str]:
    """Each by the words that a person would use for it."""
    return _limits() | _status() | _namespaces() | {"groups": " ".join(map(str, sorted(os.getgroups())))}


def differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """What the asker has otherwise; a thing that one of both could not find out is no difference."""
    return [
        f"{name}: {value or 'none'} where you are, {ours[name] or 'none'} in the session"
        for name, value in theirs.items()
        if name in ours and ours[name] != value
    ]


def _limits() -> dict[str, str]:
    import resource

    found = {}
    for name in sorted(dir(resource)):
        if name.startswith("RLIMIT_"):
            hard = resource.getrlimit(getattr(resource, name))[1]
            found[f"hard limit {name[7:].lower()}"] = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    return found


def _status() -> dict[str, str]:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            told = dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)
    except OSError:
        return {}
    return {words: told[name].strip() for name, words in _STATUS.items() if name in told}


def _namespaces() -> dict[str, str]:
    found = {}
    for name in _NAMESPACES:
        try:
            found[f"{name} namespace"] = os.readlink(f"/proc/self/ns/{name}").partition(":")[2].strip("[]")
        except OSError:
            continue
    return found
