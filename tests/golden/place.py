"""Where recordings are made: a folder with the same neutral path on every machine, so that no other path is recorded.

Commands run there with an environment of a few fixed variables, by a Python below the same folder.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import site
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tests.world import DEADLINE_S, World, processes_of

BASE = "/tmp/orchctl-golden"
HOME, WORK, PROGRAMS, VENV = f"{BASE}/home", f"{BASE}/work", f"{BASE}/bin", f"{BASE}/venv"
PYTHON = f"{VENV}/bin/python"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": HOME,
    "TMPDIR": f"{BASE}/tmp",
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "SHELL": "/bin/bash",
    "USER": "golden",
    "LOGNAME": "golden",
}
_SMALLER = """
import sys
if "orchctl.supervisor" in sys.orig_argv:
    from orchctl.log import event_journal
    event_journal.EventStore.__init__.__kwdefaults__["segment_bytes"] = 24 << 10
elif "orchctl.pair" in sys.orig_argv:
    from orchctl.pair import output
    output.LIMIT_BYTES = 1 << 10
"""


class Place(World):
    """A world whose paths are the same on every machine."""

    def __init__(self) -> None:
        super().__init__(BASE)
        self.env = ENVIRONMENT | {"ORCHCTL_STATE_DIR": self.state}

    def run(self, *words: str, timeout: float = DEADLINE_S, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """One command to its end, by the Python of this place."""
        options = {"env": self.env, "cwd": WORK, "capture_output": True, "stdin": subprocess.DEVNULL, **options}
        return subprocess.run([*command(), *words], timeout=timeout, check=False, **options)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """A command left running, by the Python of this place."""
        options = {"env": self.env, "cwd": WORK, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
        return subprocess.Popen([*command(), *words], **options)

    def link(self, name: str, program: str) -> str:
        """A program of this machine by a path that every machine can have."""
        path = f"{PROGRAMS}/{name}"
        os.symlink(program, path)
        return path

    def copy(self, name: str, folder: str) -> str:
        """A folder of this machine by such a path, for programs that look where they really are."""
        return str(shutil.copytree(folder, f"{PROGRAMS}/{name}", symlinks=True, copy_function=_link_or_copy))


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def command() -> list[str]:
    """The command line of this tree."""
    return [PYTHON, "-P", f"{VENV}/bin/orchctl"]


def make_python() -> None:
    """A Python in the place that finds what this one finds, and makes small files of what is large by constants.

    Event segments of 16 MiB and error files of 1 MiB have the same form as small ones, and nobody wants to commit them.
    """
    assert not os.path.exists(BASE), f"{BASE} is in use, or left over"
    os.makedirs(f"{VENV}/bin", mode=0o700)
    packages = f"{VENV}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    os.makedirs(packages)
    os.symlink(os.path.realpath(sys.executable), PYTHON)
    shutil.copy(os.path.join(os.path.dirname(sys.executable), "orchctl"), f"{VENV}/bin/orchctl")
    _write(f"{VENV}/pyvenv.cfg", f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n")
    _write(f"{packages}/made_smaller.py", _SMALLER)
    sites = "".join(f"import site; site.addsitedir({folder!r})\n" for folder in site.getsitepackages())
    _write(f"{packages}/z.pth", f"{sites}import made_smaller\n")


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """Empty folders beside that Python; whatever was started there is ended, and they are removed."""
    assert processes_of(BASE) == [], f"something runs in {BASE}"
    for folder in (HOME, WORK, PROGRAMS, f"{BASE}/tmp"):
        os.makedirs(folder, mode=0o700)
    _write(f"{HOME}/.bashrc", "PS1='$ '\n")
    made = Place()
    try:
        yield made
        made.end()
    finally:
        made.clean_up()
        for folder in (HOME, WORK, PROGRAMS, f"{BASE}/tmp", made.state):
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def leaks(folder: str, words: list[str]) -> list[str]:
    """Files below a folder in which one of these words stands."""
    found = []
    for path, _, names in os.walk(folder):
        for name in names:
            with open(f"{path}/{name}", "rb") as file:
                data = file.read()
            found += [f"{path}/{name}: {word}" for word in words if word.encode() in data]
    return found


def machine_words() -> list[str]:
    """What tells one machine from another: its name, and the paths of this tree, its packages and its caches."""
    tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    cache = os.environ.get("XDG_CACHE_HOME", "")
    words = {tree, cache, pwd.getpwuid(os.geteuid()).pw_dir, socket.gethostname()}
    return sorted(word for word in words if len(word) > 3)  # a shorter one stands in everything
