"""The machine: its kernel, disk space, what it lets a process have, its terminals, and the user's locale."""

from __future__ import annotations

import contextlib
import locale
import os
import re
import resource
import sys
from collections.abc import Iterator

import psutil

from orchctl import procfs
from orchctl.client.doctor.check import Case, Finding, note, ok, problem, warning
from orchctl.client.doctor.state_dir import nearest
from orchctl.paths import Root
from orchctl.units import about_size

SPACE, FILES, KIND = "disk-space", "disk-files", "file-system"
FEW_FILES, FEWER_FILES = 10_000, 500  # a session takes about eight
LITTLE_BYTES = 64 << 20
REMOTE = ("nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "vboxsf")


def check_space(case: Case, root: Root) -> Iterator[Finding]:
    """Bytes and files left, against what may still come."""
    found = os.statvfs(nearest(root.path))
    free, used = found.f_bavail * found.f_frsize, _output_bytes(root.sessions)
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


def check_file_system(_: Case, root: Root) -> Iterator[Finding]:
    """Locks and sockets want a local one."""
    kind = _kind(os.path.realpath(nearest(root.path)))
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
    with contextlib.suppress(OSError):
        for mount in psutil.disk_partitions(all=True):
            if f"{path}/".startswith(mount.mountpoint.rstrip("/") + "/") and len(mount.mountpoint) >= len(best):
                best, kind = mount.mountpoint, mount.fstype
    return kind


KERNEL, ULIMIT, PTY, LOCALE = "kernel", "ulimit", "terminals", "locale"
OLDEST = (5, 10)
PR_GET_CHILD_SUBREAPER = 37
FDS_PER_SESSION, FDS_BESIDE = 3, 64
PROCESSES_PER_SESSION = 4  # keeper, mover, the program and one that it starts
LARGEST_FILE_BYTES = 16 << 20  # a segment of the event journal
LITTLE_MEMORY_BYTES = 512 << 20
FEW_TERMINALS = 16


def check_kernel(_: Case) -> Iterator[Finding]:
    """Check its age, the calls that are used, and /proc."""
    if not os.path.exists("/proc/self/stat"):
        yield problem(KERNEL, "/proc is not mounted; no supervisor starts without it", "mount -t proc proc /proc")
    release = os.uname().release
    found = re.match(r"(\d+)\.(\d+)", release)
    if sys.platform != "linux":
        yield warning(KERNEL, f"{sys.platform}: the death of a session's keeper ends it here")
    elif found is None or (int(found[1]), int(found[2])) < OLDEST:
        yield problem(KERNEL, f"Linux {release}, and 5.10 is the oldest that is known to work", "uname -r")
    else:
        missing = [
            name for name, works in (("pidfd", _pidfd), ("splice", _splice), ("subreaper", _subreaper)) if not works()
        ]
        if missing:
            what = f"Linux {release} without {', '.join(missing)}; a sandbox (seccomp) may forbid it"
            yield problem(KERNEL, what, "grep Seccomp /proc/self/status")
        else:
            yield ok(KERNEL, f"Linux {release} with pidfd, splice and subreaper")


def check_limits(case: Case) -> Iterator[Finding]:
    """Of the supervisor, or of us where none runs: it gets ours."""
    whose = f"of the supervisor, pid {case.supervisor}" if case.supervisor else "here"
    pid = case.supervisor or 0
    sessions = case.config.limits.total or case.config.limits.default.get("sessions") or 200
    found = list(_narrow(pid, int(sessions), whose))
    yield from found or [ok(ULIMIT, f"open files, processes, file size and memory suffice {whose}")]
    core = resource.prlimit(pid, resource.RLIMIT_CORE)[0]
    if core != 0:
        size = "any size" if core == resource.RLIM_INFINITY else about_size(core)
        yield note(ULIMIT, f"programs that crash may leave their memory in core files of {size}", "ulimit -c 0")


def check_terminals(_: Case) -> Iterator[Finding]:
    """How many more there can be; and one is really made."""
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError as error:
        yield problem(
            PTY, f"no terminal can be made: {error.strerror}", "mount -t devpts devpts /dev/pts -o ptmxmode=0666"
        )
        return
    most, there = procfs.number("sys/kernel/pty/max"), procfs.number("sys/kernel/pty/nr")
    if most is None or there is None:
        yield ok(PTY, "one can be made")
    elif most - there < FEW_TERMINALS:
        yield problem(PTY, f"{there} of {most} are in use", f"sudo sysctl kernel.pty.max={most * 2}")
    elif there > most * 0.8:
        yield warning(PTY, f"{there} of {most} are in use", f"sudo sysctl kernel.pty.max={most * 2}")
    else:
        yield ok(PTY, f"{there} of {most} are in use")


def check_locale(case: Case) -> Iterator[Finding]:
    """What programs in sessions will think that text is."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    name, value = next(((name, case.environ[name]) for name in names if case.environ.get(name)), ("", ""))
    if not value:
        yield note(LOCALE, "none is set; sessions get LANG=C.UTF-8", "export LANG=C.UTF-8")
        return
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, value)
        codeset = locale.nl_langinfo(locale.CODESET)
    except locale.Error:
        yield warning(LOCALE, f"{name}={value} is not installed here", f"export {name}=C.UTF-8")
        return
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    if codeset.upper().replace("-", "") != "UTF8":
        yield warning(LOCALE, f"{name}={value} is {codeset}, not UTF-8", f"export {name}=C.UTF-8")
    else:
        yield ok(LOCALE, f"{name}={value}")


def _narrow(pid: int, sessions: int, whose: str) -> Iterator[Finding]:
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    needed = FDS_BESIDE + FDS_PER_SESSION * sessions
    if soft != resource.RLIM_INFINITY and soft < needed:
        more = min(hard, needed) if hard != resource.RLIM_INFINITY else needed
        make = problem if soft < FDS_BESIDE * 2 else warning
        what = f"{soft} open files {whose}; {sessions} sessions may need {needed}"
        yield make(ULIMIT, what, f"ulimit -n {more}; orchctl supervisor restart")
    size = resource.prlimit(pid, resource.RLIMIT_FSIZE)[0]
    if size != resource.RLIM_INFINITY and size < LARGEST_FILE_BYTES:
        what = f"files of no more than {about_size(size)} {whose}; orchctl writes files of up to 16M"
        yield problem(ULIMIT, what, "ulimit -f unlimited; orchctl supervisor restart")
    memory = resource.prlimit(pid, resource.RLIMIT_AS)[0]
    if memory != resource.RLIM_INFINITY and memory < LITTLE_MEMORY_BYTES:
        yield warning(
            ULIMIT, f"{about_size(memory)} of memory {whose}", "ulimit -v unlimited; orchctl supervisor restart"
        )
    processes = resource.prlimit(pid, resource.RLIMIT_NPROC)[0]
    left = processes - _own_tasks()
    if processes != resource.RLIM_INFINITY and left < PROCESSES_PER_SESSION * 16 and os.geteuid() != 0:
        yield problem(
            ULIMIT,
            f"{max(0, left)} more processes {whose}; a session takes three or more",
            f"ulimit -u {processes * 2}",
        )


def _own_tasks() -> int:
    """Threads count, and so do those in other sessions of the same user."""
    return sum(len(procfs.threads(pid)) for pid in procfs.pids() if procfs.user(pid) == os.getuid())


def _pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError):
        return False
    return True


def _splice() -> bool:
    if not hasattr(os, "splice"):
        return False
    reading, writing = os.pipe()
    target = os.memfd_create("orchctl-doctor")
    try:
        os.write(writing, b"x")
        return os.splice(reading, target, 1, offset_dst=0) == 1
    except OSError:
        return False
    finally:
        for fd in (reading, writing, target):
            os.close(fd)


def _subreaper() -> bool:
    import ctypes

    answer = ctypes.c_int()
    return bool(ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0)
