"""Whether real programs, on real terminals and pipes, sleep until there is input."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from orchctl.pair import input_wait
from orchctl.pair.shared import Pair
from tests.needs import needs
from tests.world import until

PYTHON = sys.executable
EPOLL = "import os; from select import *; e = epoll()"


@dataclass(frozen=True, slots=True)
class Seen:
    """A session as its keeper has it; here the keeper is this process."""

    shared: Pair

    def look(self) -> dict[str, Any]:
        return input_wait.seen(self.shared, leave_out=0)

    def kernel(self) -> str:
        return str(self.look()["kernel"])

    def shows(self, word: bytes) -> None:
        shown = b""
        while word not in shown:
            shown += os.read(self.shared.master, 65536)

    def becomes(self, kernel: str) -> dict[str, Any]:
        """The second of two looks that agree: a program on its way there may look like it for a moment."""
        looks = [self.look(), self.look()]

        def settled() -> bool:
            looks[:] = [looks[1], self.look()]
            return [one["kernel"] for one in looks] == [kernel, kernel]

        until(settled, lambda: f"it is {looks[1]}, never {kernel}")
        return looks[1]


@contextlib.contextmanager
def on_terminal(*argv: str, user: int | None = None) -> Iterator[Seen]:
    master, slave = os.openpty()
    env = {**os.environ, "TERM": "xterm"}
    words = ["setsid", "--ctty", *argv]
    with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, user=user) as program:
        os.close(slave)
        seen = Seen(_pair(master, program.pid, terminal=True))
        try:
            yield seen
        finally:
            for pid in input_wait._members(seen.shared, 0):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.close(master)


def _pair(master: int, child: int, *, terminal: bool) -> Pair:
    nobody = socket.socket(socket.AF_UNIX)
    nobody.close()
    made = Pair("", nobody, master, {master: 0}, (-1, -1), -1, 0, None, child, os.getpid())
    made.terminal = terminal
    return made


def script(text: str) -> tuple[str, ...]:
    return PYTHON, "-c", text


@pytest.mark.parametrize(
    ("argv", "kernel"),
    [
        (("cat",), "reads"),
        (("bash", "-c", "read -p 'sure? ' x"), "reads"),
        (script("input('name? ')"), "reads"),
        (script("open('/dev/tty').readline()"), "reads"),
        (script("import os; os.readv(0, [bytearray(9)])"), "reads"),
        (script("import select; select.select([0], [], [])"), "polls"),
        (script("import select as s; p = s.poll(); p.register(0, s.POLLIN); p.poll()"), "polls"),
        (script("import select as s; e = s.epoll(); e.register(0, s.EPOLLIN); e.poll()"), "polls"),
        (("bash", "--norc", "-i"), "polls"),
        (script("import select; select.select([0], [], [], 1000)"), "watches"),
        (script("import os, select; select.select([0, os.pipe()[0]], [], [])"), "watches"),
        (script(f"{EPOLL}; e.register(0, 1); e.register(os.pipe()[0], 1); e.poll()"), "watches"),
        (script("import threading, time; threading.Thread(target=input).start(); time.sleep(1000)"), "watches"),
        (("sleep", "1000"), "no"),
        (("bash", "-c", "sleep 1000 | sleep 1001"), "no"),
        (("bash", "-c", "stty -echo; sleep 1000"), "no"),
        (script("import os; os.read(os.pipe()[0], 1)"), "no"),
        (script("import os, select; select.select([os.pipe()[0]], [], [])"), "no"),
        (script("import select as s; p = s.poll(); p.register(1, 0); p.poll()"), "no"),
        (script("import time\nwhile True: pass"), "no"),
        (script(f"{EPOLL}; f = epoll(); e.register(f, 1); f.register(0, 1); e.poll()"), "unknown"),
    ],
)  # fmt: skip
def test_what_a_program_sleeps_in_is_told_as_it_is(argv: tuple[str, ...], kernel: str) -> None:
    with on_terminal(*argv) as seen:
        told = seen.becomes(kernel)
    assert told["kernel"] == kernel
    assert told["own"] or kernel in ("no", "unknown")


def test_whoever_reads_the_terminal_counts_wherever_it_is() -> None:
    for words in ("cat; :", "cat | sleep 1000", "cat /dev/tty | sleep 1000", "setsid -w cat"):
        with on_terminal("bash", "-c", words) as seen:
            assert not seen.becomes("reads")["own"], words


def test_a_job_in_the_background_reads_nothing() -> None:
    with on_terminal("bash", "-c", "set -m; cat & sleep 1000; :") as seen:
        until(lambda: len(input_wait._members(seen.shared, 0)) == 3)
        assert not seen.becomes("no")["own"]


def test_input_that_is_typed_already_is_not_waited_for() -> None:
    for _ in range(100):
        with on_terminal("bash", "-c", "read x; exec sleep 1000") as seen:
            seen.becomes("reads")
            os.write(seen.shared.master, b"word\n")
            assert seen.kernel() in ("no", "unknown")
            seen.becomes("no")


def test_half_a_line_is_still_waited_for() -> None:
    with on_terminal("cat") as seen:
        seen.becomes("reads")
        os.write(seen.shared.master, b"half")
        seen.shows(b"half")
        assert seen.kernel() == "reads"


def test_the_modes_are_told_with_it() -> None:
    import termios

    with on_terminal(*script("import getpass; getpass.getpass()")) as seen:
        local = seen.becomes("reads")["local"]
    assert local & termios.ICANON
    assert not local & termios.ECHO


def test_a_program_that_is_stopped_waits_for_nothing() -> None:
    with on_terminal("cat") as seen:
        seen.becomes("reads")
        os.kill(seen.shared.child, signal.SIGSTOP)
        seen.becomes("no")
        os.kill(seen.shared.child, signal.SIGCONT)
        seen.becomes("reads")


def test_a_program_without_a_terminal_reads_its_pipe() -> None:
    theirs, ours = os.pipe()
    with subprocess.Popen(["sh", "-c", "cat; exec sleep 1000"], stdin=theirs, stdout=subprocess.DEVNULL) as program:
        os.close(theirs)
        seen = Seen(_pair(ours, program.pid, terminal=False))
        told = seen.becomes("reads")
        assert (told["own"], told["local"]) == (False, None)
        os.kill(input_wait._members(seen.shared, 0)[-1], signal.SIGSTOP)
        os.write(ours, b"pending")
        assert seen.kernel() in ("no", "unknown")
        os.kill(input_wait._members(seen.shared, 0)[-1], signal.SIGCONT)
        seen.becomes("reads")
        os.close(ours)
        until(lambda: _calls(program.pid) == "clock_nanosleep")
        program.kill()


def _calls(pid: int) -> str:
    found = input_wait.sleeps_in(pid, pid)
    return found[0] if found is not None else ""


@pytest.mark.parametrize("hide", [False, True], ids=["", "hidepid"])
@needs("namespaces")
def test_what_may_not_be_looked_at_is_unknown(hide: bool) -> None:
    """As a user who is not root, of a program that belongs to root."""
    code = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from tests.pair.test_input_wait import on_terminal
from tests.world import until
with on_terminal("cat") as own, on_terminal("sh", "-c", "cat; :") as other:
    own.becomes("reads"); other.becomes("reads")
    master, child = other.shared.master, other.shared.child
    pid = os.fork()
    if pid == 0:
        os.setresgid(12345, 12345, 12345); os.setresuid(12345, 12345, 12345)
        other.shared.keeper = os.getppid()
        os._exit(0 if other.kernel() == "unknown" else 1)
    assert os.waitpid(pid, 0)[1] == 0
"""
    mount = ["mount", "-t", "proc", "-o", "hidepid=2", "proc", "/proc"] if hide else ["true"]
    words = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        '"$@" && exec "$0" -c "$CODE"',
        PYTHON,
    ]
    done = subprocess.run([*words, *mount], env={**os.environ, "CODE": code}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@needs("root")
def test_one_of_our_own_is_looked_at_without_being_root() -> None:
    code = f"""
import codecs, ctypes, os, sys
sys.path[:0] = {sys.path!r}
from tests.pair.test_input_wait import on_terminal
codecs.lookup("ascii")  # while it can still be read
os.setresgid(12345, 12345, 12345); os.setresuid(12345, 12345, 12345)
ctypes.CDLL(None).prctl(4, 1)
with on_terminal("cat") as own:
    own.becomes("reads")
with on_terminal("sleep", "1000") as own:
    own.becomes("no")
"""
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_terminal_that_is_gone_is_unknown() -> None:
    with on_terminal("true") as seen:
        until(lambda: not _alive(seen.shared.child))
        assert seen.kernel() == "unknown"


def _alive(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().split()[2] != "Z"


def test_looking_takes_no_input_and_hangs_nobody_up() -> None:
    with on_terminal("bash", "-c", "read x; echo got $x; read y; echo got $y; sleep 1000") as seen:
        for word in (b"one", b"two"):
            seen.becomes("reads")
            for _ in range(20):
                assert seen.kernel() == "reads"
            os.write(seen.shared.master, word + b"\n")
            seen.kernel()
            seen.shows(b"got " + word)
        poll = select.poll()
        poll.register(seen.shared.master, 0)
        seen.becomes("no")
        assert poll.poll(0) == []
