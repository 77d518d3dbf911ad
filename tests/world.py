"""One state directory under test: run the command line in it, reach its processes, and clean up by pid."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchctl import Client, OrchctlError
from tests.forked import forks

ORCHCTL = os.path.join(os.path.dirname(sys.executable), "orchctl")
DEADLINE_S = 60.0  # generous: the machines that run this are busy


_APART: dict[str, Any] = {"start_new_session": True}  # whoever runs tests in a terminal is not their lease's holder


class World:
    """Everything below one temporary directory."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.state = f"{folder}/state"
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ORCHCTL_", "XDG_", "COV_")) and name != "CI"
        } | {"ORCHCTL_STATE_DIR": self.state}

    def run(self, *words: str, timeout: float = DEADLINE_S, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """One command to its end."""
        options = {"env": self.env, "capture_output": True, "stdin": subprocess.DEVNULL, **_APART, **options}
        return subprocess.run([ORCHCTL, *words], timeout=timeout, check=False, **options)

    def ok(self, *words: str, **options: Any) -> str:
        """What a command printed; it must succeed."""
        done = self.run(*words, **options) if options else self.look(*words)
        assert done.returncode == 0, (words, done)
        return str(done.stdout.decode().strip())

    def json(self, *words: str) -> Any:
        """What a command printed with `--json`."""
        return json.loads(self.ok(*words, "--json"))

    def look(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """The same as `run`, forked from a process that has all modules: most commands only prepare or look."""
        return forks().run(list(words), env=self.env, cwd=os.getcwd(), deadline_s=DEADLINE_S)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """A command left running; the caller waits for it."""
        options = {"env": self.env, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **_APART, **options}
        return subprocess.Popen([ORCHCTL, *words], **options)

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """The library, in this directory."""
        with Client(state_dir=self.state) as client:
            yield client

    def supervisor(self) -> int:
        """The supervisor's pid, asked of itself."""
        with self.client() as client:
            pid = client.start_supervisor().pid
        assert pid is not None
        return pid

    def keep_of_each_session(self, size: str) -> None:
        """How much output is kept of each; a supervisor reads it when it starts."""
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        with open(f"{self.state}/config.toml", "w", encoding="ascii") as file:
            file.write(f'[retention]\nsession = "{size}"\ntotal = "16G"\n')

    def log(self, session: str) -> bytes:
        """A session's output as it is on disk."""
        folder = f"{self.state}/sessions/{session}/out"
        while True:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".seg"))
            with contextlib.suppress(FileNotFoundError):  # the ring has turned meanwhile
                return b"".join(_read(f"{folder}/{name}") for name in names)

    def journal(self, session: str) -> bytes:
        """A session's journal as it is on disk."""
        return _read(f"{self.state}/sessions/{session}/run.jnl")

    def end(self) -> None:
        """Stop everything, the way a user would, and wait until the processes are gone."""
        stopped = None
        if os.path.isdir(self.state):
            try:
                with self.client() as client:  # not one more command: every test ends with this
                    client.stop_supervisor(kill=True)
            except (OrchctlError, OSError):  # it is another user's, or not to be reached: a command says more
                stopped = self.run("supervisor", "stop", "--kill")
        known = list[int]()
        until(lambda: self._are_gone(known), lambda: f"{stopped} left {self._left()}")

    def _are_gone(self, known: list[int]) -> bool:
        """Whether nothing is left; all processes are looked through only when those that are known have ended."""
        if not any(_read_where_some(f"/proc/{pid}/cmdline") for pid in known):
            known[:] = processes_of(self.folder)
        return not known

    def _left(self) -> list[str]:
        """What a person needs to know of processes that should not be there."""
        return [f"{pid} ({_read_where_some(f'/proc/{pid}/cmdline')!r})" for pid in processes_of(self.folder)]

    def clean_up(self) -> None:
        """Whatever a failed test left, by pid."""
        for pid in processes_of(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def fresh_world(base: str | None = None) -> Iterator[World]:
    """A state directory; whatever was started in it is ended, and then nothing may be left."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ORCHCTL_") or name == "CI"]:
            patch.delenv(name)
        folder = tempfile.mkdtemp(prefix="oc-", dir=base)  # short: socket paths have their own tests
        home = tempfile.mkdtemp(prefix="oc-home-")  # what shells do when they start is not their user's to say
        patch.setenv("HOME", home)
        made = World(folder)
        try:
            yield made
            made.end()
            assert processes_of(folder) == []
        finally:
            made.clean_up()
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)
        assert not os.path.exists(folder)


def processes_of(folder: str) -> list[int]:
    """Every living process that was started for this directory: it names it, or inherited it."""
    wanted = os.fsencode(folder)
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            words = [_read_where_some(f"/proc/{entry}/{name}") for name in ("cmdline", "environ")]
            if any(wanted in one for one in words):  # our daemons show their environment to nobody but root
                found.append(int(entry))
    return found


def until(
    holds: Callable[[], object], message: str | Callable[[], str] = "it never happened", deadline_s: float = DEADLINE_S
) -> None:
    """Wait for something that gives no event of its own, with a deadline; looking slows down what is waited for."""
    end, pause_s = time.monotonic() + deadline_s, 0.005
    while not holds():
        assert time.monotonic() < end, message() if callable(message) else message
        time.sleep(pause_s)
        pause_s = min(0.05, 1.3 * pause_s)


def interrupt_twice(running: subprocess.Popen[bytes]) -> None:
    """Two interrupts soon after each other, to its end. Python makes one of two that come before it has looked."""
    while running.poll() is None:
        for _ in range(2):
            running.send_signal(signal.SIGINT)
            until(lambda: running.poll() is not None or _no_interrupt_pending(running.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(DEADLINE_S / 10)


def _no_interrupt_pending(pid: int) -> bool:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        pending = [line.split()[1] for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return all(int(mask, 16) & 1 << (signal.SIGINT - 1) == 0 for mask in pending)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_where_some(path: str) -> bytes:
    with contextlib.suppress(OSError):
        return _read(path)
    return b""
