"""Every look into /proc, and what the kernel says of this process. Standard library only: the pair imports it.

`stat` gives the fields of /proc/PID/stat from the state on, nothing where there is no such process; the names above
say which is which. A number and its start ticks name a process for ever; a number alone may be somebody else's.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Mapping

STATE, PARENT, GROUP, SESSION, TERMINAL, FOREGROUND = range(6)
STARTED = 19  # clock ticks since boot


def read(path: str) -> bytes:
    """A file below /proc; empty if it is not there or not ours to look at."""
    try:
        with open(f"/proc/{path}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def stat(pid: int | str) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on; none of a process that is gone or cannot be seen.

    `PID/task/THREAD` gives those of a thread.
    """
    return read(f"{pid}/stat").rpartition(b")")[2].split()


def start_ticks(pid: int | None) -> int:
    """When a process started; 0 if it is gone."""
    fields = stat(pid) if pid is not None else []
    return int(fields[STARTED]) if len(fields) > STARTED else 0


def pids() -> list[int]:
    """The numbers of all processes, lowest first."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def name(pid: int) -> str:
    """What `ps` shows, 15 bytes at most; empty if the process is gone."""
    return read(f"{pid}/comm").decode("utf-8", "replace").rstrip("\n")


def command_line(pid: int) -> list[bytes]:
    """The words a process was started with; none if it is gone."""
    return read(f"{pid}/cmdline").split(b"\0")[:-1]


def environment(pid: int | str) -> list[bytes] | None:
    """The variables a process was started with, as `NAME=value`; None if it is gone or not ours to look at."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")[:-1]
    except OSError:
        return None


def status(pid: int | str) -> dict[str, str]:
    """The lines of /proc/PID/status by their names; none of a process that is gone."""
    lines = read(f"{pid}/status").decode("ascii", "replace").splitlines()
    return {name: value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}


def user(pid: int) -> int:
    """Its real user; the owner of its entry is root where nobody may look into it. -1 if it is gone."""
    return int(status(pid).get("Uid", "-1").split()[0])


def threads(pid: int) -> list[int]:
    """The numbers of a process's threads; none if it is gone."""
    try:
        return [int(thread) for thread in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def children(pid: int) -> list[int]:
    """Of all threads of a process, by the kernel's own list, which also names the dead and those hidden from us."""
    return [int(child) for thread in threads(pid) for child in read(f"{pid}/task/{thread}/children").split()]


def link(path: str) -> str:
    """Where a link below /proc points to; empty if it cannot be read."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end of a socket, as they were when it connected."""
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def boot_id() -> str:
    """Which boot this is."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def number(path: str) -> int | None:
    """The number in a file below /proc; None where the kernel has no such file."""
    text = read(path)
    return int(text) if text.strip().isdigit() else None


# not the cgroup: it is another one in every login, and says nothing about what a program may do
_NAMESPACES = ("mnt", "net", "pid", "user", "ipc", "uts")
_STATUS = {"Seccomp": "seccomp filter", "NoNewPrivs": "no new privileges"}


def security_context() -> dict[str, str]:
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
    told = status("self")
    return {words: told[name] for name, words in _STATUS.items() if name in told}


def _namespaces() -> dict[str, str]:
    found = {}
    for name in _NAMESPACES:
        try:
            found[f"{name} namespace"] = os.readlink(f"/proc/self/ns/{name}").partition(":")[2].strip("[]")
        except OSError:
            continue
    return found


DEEPEST = 1000  # no tree is deeper, and a race must not make a loop


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether `pid` is `ancestor` or below it; a process that cannot be seen is not."""
    return ancestor in lineage(pid)


def lineage(pid: int) -> Iterator[int]:
    """A process and those above it, up to the last that can be seen."""
    for _ in range(DEEPEST):
        yield pid
        fields = stat(pid)
        pid = int(fields[PARENT]) if len(fields) > PARENT else 0
        if pid <= 1:
            return


def told_below(pid: int, ancestor: int, name: str) -> str | None:
    """The variable as the process was started with it, else as the nearest one above it was, below `ancestor`."""
    start = f"{name}=".encode()
    for one in lineage(pid):
        if one == ancestor:
            return None
        found = next((entry for entry in environment(one) or () if entry.startswith(start)), None)
        if found is not None:
            return found[len(start) :].decode("utf-8", "replace")
    return None
