"""What the kernel knows of a real terminal and of real processes on it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchctl.pair import kill, look, tree
from orchctl.pair.shared import Pair
from tests.world import until

FIELDS = {"front", "name", "image", "child", "output", "local", "reading", "cwd"}


@dataclass(frozen=True, slots=True)
class Terminal:
    """A program with a terminal of its own, which is in front there."""

    master: int
    child: int

    def seen(self) -> dict[str, Any]:
        return look.seen(self.master, self.child)

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def shows(self, word: bytes) -> None:
        """Wait until the program has written this."""
        shown = b""
        while word not in shown:
            shown += os.read(self.master, 65536)


@contextlib.contextmanager
def running(*argv: str, cwd: str = "/") -> Iterator[Terminal]:
    master, slave = os.openpty()
    words = ["setsid", "--ctty", *argv]
    with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=cwd) as program:
        os.close(slave)
        try:
            yield Terminal(master, program.pid)
        finally:
            program.kill()
            os.close(master)


def is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().split()[2] == "Z"


def test_a_shell_at_its_prompt_is_in_front_and_reads_its_terminal(tmp_path: Path) -> None:
    with running("bash", "--norc", "-i", cwd=str(tmp_path)) as terminal:
        until(lambda: terminal.seen()["reading"])
        seen = terminal.seen()
    assert set(seen) == FIELDS
    assert (seen["front"], seen["child"]) == (terminal.child, terminal.child)
    assert (seen["name"], seen["cwd"]) == ("bash", str(tmp_path))


@pytest.mark.parametrize("script", ["read -r line", "read -r -t 100 line", "read -r -n 1 key"])
def test_a_script_that_asks_is_seen_to_read(script: str) -> None:
    with running("bash", "-c", script) as terminal:
        until(lambda: terminal.seen()["reading"])
        assert terminal.seen()["name"] == "bash"


def test_a_child_that_reads_in_the_same_group_is_not_the_program_itself() -> None:
    with running("bash", "-c", "cat; :") as terminal:
        until(lambda: tree.children(terminal.child))
        seen = terminal.seen()
        assert (seen["front"], seen["reading"]) == (terminal.child, False)


def test_a_program_in_front_of_the_shell_is_seen_by_its_name() -> None:
    with running("bash", "--norc", "-i") as terminal:
        until(lambda: terminal.seen()["reading"])
        terminal.type(b"sleep 1000\n")
        until(lambda: terminal.seen()["name"] == "sleep")
        seen = terminal.seen()
        assert seen["front"] not in (0, terminal.child)
        assert not seen["reading"]
        terminal.type(b"\x03")
        until(lambda: terminal.seen()["reading"])


def test_a_program_that_waits_for_something_else_does_not_read() -> None:
    with running("bash", "-c", "exec 4<> <(:); echo ready; read -r _ <&4") as terminal:
        terminal.shows(b"ready")
        until(lambda: Path(f"/proc/{terminal.child}/syscall").read_text().startswith("0 "))
        assert not terminal.seen()["reading"]


def test_the_modes_are_those_of_the_terminal() -> None:
    with running("bash", "-c", "stty -onlcr -icanon; echo ready; read -r line") as terminal:
        terminal.shows(b"ready")
        seen = terminal.seen()
        assert (seen["output"], seen["local"]) == tuple(termios.tcgetattr(terminal.master)[1:4:2])
        assert not seen["output"] & termios.ONLCR
        assert not seen["local"] & termios.ICANON


def test_the_directory_is_where_the_program_is_now(tmp_path: Path) -> None:
    with running("bash", "-c", f"cd '{tmp_path}'; echo ready; read -r line") as terminal:
        terminal.shows(b"ready")
        assert terminal.seen()["cwd"] == str(tmp_path)


def test_a_program_that_is_gone_is_not_seen() -> None:
    with running("true") as terminal:
        until(lambda: is_zombie(terminal.child))
        seen = terminal.seen()
    assert (seen["reading"], seen["cwd"]) == (False, None)


def test_what_is_no_terminal_shows_nothing() -> None:
    with open(os.devnull, "rb") as null:
        seen = look.seen(null.fileno(), os.getpid())
    assert set(seen) == FIELDS
    assert (seen["front"], seen["name"], seen["child"], seen["reading"]) == (0, "", os.getpid(), False)


def test_a_terminal_without_anybody_in_front_says_so() -> None:
    master, slave = os.openpty()
    try:
        seen = look.seen(master, os.getpid())
    finally:
        os.close(master)
        os.close(slave)
    assert (seen["front"], seen["name"], seen["reading"]) == (0, "", False)


def test_a_signal_to_what_is_in_front_tells_which_group_that_was() -> None:
    with running("bash", "--norc", "-i") as terminal, socket.socket(socket.AF_UNIX) as nobody:
        pair = Pair("", nobody, terminal.master, {}, (-1, -1), -1, 0, None, terminal.child, 0)
        terminal.shows(b"bash-")
        until(lambda: terminal.seen()["reading"])
        assert kill.signal_foreground(pair, signal.SIGINT) == terminal.child
        terminal.shows(b"bash-")  # the next prompt: what is typed before it may be thrown away
        until(lambda: terminal.seen()["reading"])
        terminal.type(
            b"(trap '' INT; exec sleep 1000)\n"
        )  # one that stays in front: else nobody can tell whom it reached
        until(lambda: terminal.seen()["name"] == "sleep")
        program = terminal.seen()["front"]
        assert kill.signal_foreground(pair, signal.SIGINT) == program != terminal.child


def test_a_signal_to_a_terminal_that_nobody_has_reaches_nobody() -> None:
    master, slave = os.openpty()
    try:
        with socket.socket(socket.AF_UNIX) as nobody:
            pair = Pair("", nobody, master, {}, (-1, -1), -1, 0, None, os.getpid(), 0)
            assert kill.signal_foreground(pair, signal.SIGINT) is None
    finally:
        os.close(master)
        os.close(slave)
