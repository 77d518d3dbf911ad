"""What a test needs of the machine beyond Python, git and the programs of a minimal Debian.

A test or a module declares it once, `@needs("zsh")` or `pytestmark = needs("root", "strace")`; `conftest.py` skips it
where something of that is absent, and the summary has one line for each reason with the command that mends it. With
`--no-skips`, which `.ci/run` sets, an absent need is a failure. Tests never look for programs themselves, and what is
collected is the same on every machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import glob
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest
from _pytest.mark.structures import ParameterSet

from orchctl.pair import reaper

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "orchctl", "harnesses")
COMPLETION = "/usr/share/bash-completion/bash_completion"
SKIPPED = "needs "  # how the reason of every such skip begins
_CLONE_NEWNS, _CLONE_NEWPID = 0x00020000, 0x20000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a machine may lack."""

    what: str  # to be read after "needs"
    mend: str  # what to do about it
    there: Callable[[], bool]

    @property
    def reason(self) -> str:
        """Why a test is skipped."""
        return f"{SKIPPED}{self.what}: {self.mend}"


def _program(name: str, package: str = "") -> Need:
    return Need(name, f"apt-get install {package or name}", lambda: shutil.which(name) is not None)


def _agent(name: str, package: str) -> Need:
    return Need(f"the agent {name}", f".ci/harnesses {name}", lambda: bool(glob.glob(f"{CACHE}/{package}@*/.done")))


def _root() -> bool:
    return os.geteuid() == 0


def _may_unshare() -> bool:
    """Whether a child of ours gets namespaces of its own: containers often refuse them to root too.

    In a chroot whose top is no mount point, what unshare(1) does next fails.
    """
    if not _root():
        return False
    pid = os.fork()
    if pid == 0:
        libc = ctypes.CDLL(None)
        apart = libc.unshare(_CLONE_NEWNS | _CLONE_NEWPID) == 0
        os._exit(0 if apart and libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) == 0 else 1)
    return os.waitpid(pid, 0)[1] == 0


def kernel_tells_ends() -> bool:
    """Whether a held descriptor tells how a process ended that somebody else has reaped."""
    with subprocess.Popen(["true"]) as program:
        pidfd = os.pidfd_open(program.pid)
    try:
        return reaper.status_of_reaped(pidfd) == 0
    finally:
        os.close(pidfd)


def memory_groups() -> str:
    """The control group below which others with a limit of memory can be made; nothing where there is none."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        own = [line.rstrip("\n").split(":", 2) for line in file]
    found = [f"/sys/fs/cgroup/memory{path}" for _, kind, path in own if "memory" in kind.split(",")]
    with contextlib.suppress(OSError), open("/sys/fs/cgroup/cgroup.subtree_control", encoding="ascii") as file:
        found += ["/sys/fs/cgroup"] if "memory" in file.read().split() else []
    return next((path for path in found if os.access(path, os.W_OK)), "")


_AS_ROOT = "run the tests as root"
NEEDS: dict[str, Need] = {
    **{
        name: _program(name)
        for name in ("zsh", "fish", "mksh", "busybox", "mandoc", "strace", "tmux", "vim", "less", "htop")
    },
    "claude": _agent("claude", "claude-code"),
    "codex": _agent("codex", "codex"),
    "opencode": _agent("opencode", "opencode-ai"),
    "qwen": _agent("qwen", "qwen-code"),
    "dash": _program("dash"),
    "ksh93": _program("ksh93", "ksh93u+m"),
    "asciinema": _program("asciinema"),
    "debootstrap": _program("debootstrap"),
    "node": _program("node", "nodejs"),
    "ps": _program("ps", "procps"),
    "gcc": _program("gcc", "gcc libc6-dev"),
    "bash-completion": Need("bash-completion", "apt-get install bash-completion", lambda: os.path.exists(COMPLETION)),
    "root": Need("root", _AS_ROOT, _root),
    "exit-info": Need("a kernel that tells the ends of reaped processes", "use Linux 6.15 or later", kernel_tells_ends),
    "memory-cgroup": Need("root with a control group for memory", _AS_ROOT, lambda: _root() and bool(memory_groups())),
    "namespaces": Need("root in a system that lets it mount and unshare", _AS_ROOT, _may_unshare),
}


def needs(*names: str) -> pytest.MarkDecorator:
    """Declare what a test or a module cannot do without."""
    unknown = set(names) - set(NEEDS)
    assert not unknown, f"tests/needs.py knows no {', '.join(map(repr, sorted(unknown)))}"
    return pytest.mark.needs(*names)


def each(*names: str) -> list[ParameterSet]:
    """Parameters that are names of programs, each of which needs the program."""
    return [pytest.param(name, id=name, marks=marks(name)) for name in names]


def marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """The mark of a parameter that stands for a program; none for one that is always there."""
    return (needs(name),) if name in NEEDS else ()


@functools.cache
def _is_there(name: str) -> bool:
    return NEEDS[name].there()


def absent(item: pytest.Item) -> Need | None:
    """The first thing that a test declares and this machine lacks."""
    names = [name for mark in item.iter_markers("needs") for name in mark.args]
    return next((NEEDS[name] for name in names if not _is_there(name)), None)


def summary(reasons: Iterable[str]) -> list[str]:
    """A line for each reason why tests were skipped, the most frequent first."""
    counted = Counter(reasons)
    return [
        f"{count} skipped: {reason}" for reason, count in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    ]
