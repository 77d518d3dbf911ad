"""Somebody at a terminal of their own, attached to a session: a real pseudo-terminal, driven by pexpect."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pexpect

from tests.world import DEADLINE_S, ORCHCTL, World, _read

DETACH, TAKE = b"\x1c\x04", b"\x1c\x14"
NOTICE = re.compile(rb"\x1b7\x1b\[1;1H\x1b\(B\x1b\[0;7m(.*?)\x1b\[0m\x1b\[K\x1b8\x07", re.DOTALL)
BEGIN = b"\x1b[?7h"  # the last of what is painted on an empty screen
END = b"\x1b[0m\x1b[?25h"  # the first of what makes the terminal as it was, where nothing else was changed

_TYPEWRITER = r"""
import os, sys, termios, threading, tty
tty.setraw(0)
keys, pours = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), len(sys.argv) > 2
go_on = threading.Event()
def pour():
    number = 0
    while not go_on.wait(0.002):
        os.write(1, b"line %d of many\r\n" % number)
        number += 1
thread = threading.Thread(target=pour)
if pours:
    thread.start()
os.write(1, b"ready\r\n")
while (typed := os.read(0, 4096)) and not typed.endswith(b"Q"):
    os.write(keys, typed)
go_on.set()
if pours:
    thread.join()
os.write(1, b"over\r\n")
sys.exit(9)
"""


def typewriter(keys: str, *, pours: bool = False) -> list[str]:
    """Writes every byte that is typed to the file `keys`, in raw mode, until a Q; pours numbered lines meanwhile."""
    return [sys.executable, "-c", _TYPEWRITER, keys, *(["pour"] if pours else [])]


class Person:
    """One `orchctl attach`, or a command line of a shell's, on a terminal; `seen` is all that came to it."""

    def __init__(self, world: World, *words: str, shell: str | None = None, size: tuple[int, int] = (80, 24)) -> None:
        command, arguments = ("/bin/sh", ["-c", shell]) if shell is not None else (ORCHCTL, list(words))
        self._process: Any = pexpect.spawn(
            command, arguments, env=world.env, dimensions=(size[1], size[0]), timeout=DEADLINE_S, echo=False
        )
        self._process.delaybeforesend = None
        self.seen = b""
        self.over = False
        self.answer: Callable[[bytes], bytes] | None = None  # what the terminal says to what comes

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return int(self._process.pid)

    @property
    def fd(self) -> int:
        """Our end of the terminal."""
        return int(self._process.child_fd)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        self._process.send(keys)

    def resize(self, cols: int, rows: int) -> None:
        """Make the window another size."""
        self._process.setwinsize(rows, cols)

    def look(self) -> None:
        """Take in what has come."""
        with contextlib.suppress(pexpect.TIMEOUT):
            try:
                data: bytes = self._process.read_nonblocking(1 << 16, timeout=0)
            except pexpect.EOF:
                self.over = True
                return
            self.seen += data
            if self.answer is not None and (said := self.answer(data)):
                self.type(said)

    @property
    def notices(self) -> list[str]:
        """What orchctl itself said on the way."""
        return [found.decode().strip() for found in NOTICE.findall(self.seen)]

    def wait_for(self, text: bytes) -> None:
        """Until that was seen."""
        until(lambda: text in self.seen, self, message=f"{text!r} was never seen")

    def end(self) -> int:
        """The exit code, or minus the signal, once it is over."""
        until(lambda: self.over, self)
        self._process.close()
        return int(self._process.exitstatus if self._process.exitstatus is not None else -self._process.signalstatus)

    def close(self) -> None:
        """Hang up, whatever it does."""
        if not self._process.closed:
            self._process.close(force=True)


def until(holds: Callable[[], object], *people: Person, message: str = "it never happened") -> None:
    """Wait for something, and look at every terminal meanwhile, so that none of them is full."""
    end = time.monotonic() + DEADLINE_S
    while not holds():
        for person in people:
            person.look()
        assert time.monotonic() < end, (message, [person.seen[-2000:] for person in people])
        time.sleep(0.005)


@contextlib.contextmanager
def attached(world: World, *words: str, **options: Any) -> Iterator[Person]:
    """`orchctl attach` with these words, ended in any case."""
    person = Person(world, "attach", *words, **options)
    try:
        yield person
    finally:
        person.close()


def content(path: str) -> bytes:
    """Of a file; nothing if it is not there."""
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    return b""
