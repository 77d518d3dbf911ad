"""Room on the disk: for what retention lets output grow to, in bytes and in files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from orchctl.client.doctor.check import Case, Finding, note, ok, problem, warning
from orchctl.client.doctor.state_dir import nearest
from orchctl.units import about_size

SPACE, FILES, KIND = "disk-space", "disk-files", "file-system"
FEW_FILES, FEWER_FILES = 10_000, 500  # a session takes about eight
LITTLE_BYTES = 64 << 20
REMOTE = ("nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "vboxsf")


def check_space(case: Case) -> Iterator[Finding]:
    """Bytes and files left, against what may still come."""
    if case.root is None:
        return
    found = os.statvfs(nearest(case.root.path))
    free, used = found.f_bavail * found.f_frsize, _output_bytes(case.root.sessions)
    growth = max(0, case.config.total_bytes - used)
    if free < LITTLE_BYTES:
        yield problem(SPACE, f"{about_size(free)} left: programs will have to wait", "orchctl prune --older-than 1d")
    elif free < growth:
        room = max(1, (used + free // 2) >> 20)
        what = f"{about_size(free)} left, and output may grow by {about_size(growth)} more"
        yield warning(SPACE, what, f"orchctl config set retention.total {room}M")
    else:
        yield ok(SPACE, f"{about_size(free)} left; output may grow by {about_size(growth)}")
    if found.f_files == 0:
        return  # made as they are needed
    if found.f_favail < FEWER_FILES:
        yield problem(FILES, f"{found.f_favail} more files can be made", "orchctl prune --older-than 1d")
    elif found.f_favail < FEW_FILES:
        yield warning(FILES, f"{found.f_favail} more files can be made", "orchctl config set retention.ended 1d")
    else:
        yield ok(FILES, f"{found.f_favail} more files can be made")


def check_file_system(case: Case) -> Iterator[Finding]:
    """Locks and sockets want a local one."""
    if case.root is None:
        return
    kind = _kind(os.path.realpath(nearest(case.root.path)))
    if kind in REMOTE:
        what = f"the state directory is on {kind}, where locks and sockets may not hold"
        yield warning(KIND, what, f"export ORCHCTL_STATE_DIR=/var/tmp/orchctl-{os.geteuid()}")
    elif kind in ("tmpfs", "ramfs"):
        yield note(KIND, f"the state directory is on {kind}: it goes with the next reboot")
    elif kind:
        yield ok(KIND, kind)


def _output_bytes(sessions: str) -> int:
    """What is there now, by the sizes of files alone."""
    total = 0
    for folder, _, files in os.walk(sessions):
        if os.path.basename(folder) == "out":
            for name in files:
                if name.endswith(".seg"):
                    try:
                        total += os.lstat(f"{folder}/{name}").st_size
                    except OSError:
                        continue  # retention took it
    return total


def _kind(path: str) -> str:
    """The type of the file system that a path is on: the longest mount point before it, the last of equals."""
    best, kind = "", ""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                first, _, second = line.partition(" - ")
                point = first.split()[4].replace("\\040", " ")
                if (path == point or path.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
                    best, kind = point, second.split()[0]
    except (OSError, IndexError):
        return ""
    return kind
