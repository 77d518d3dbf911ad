"""The holder of a lease is known by its terminal: what runs there needs no token, and no other one counts as it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pexpect
import pytest

from tests.attached import DETACH, Person, until
from tests.world import DEADLINE_S, ORCHCTL, World


class Terminal:
    """A shell with a controlling terminal of its own, in which command lines are run."""

    def __init__(self, world: World) -> None:
        self._shell = pexpect.spawn("/bin/sh", env=world.env | {"PS1": "", "ENV": ""}, timeout=DEADLINE_S, echo=False)
        self._shell.delaybeforesend = None
        self._count = 0

    def run(self, words: str) -> tuple[int, str]:
        """The exit code, and what was printed."""
        self._count += 1
        self._shell.sendline(f'{ORCHCTL} {words}; echo "<{self._count}:$?>"')
        self._shell.expect(rf"(?s)(.*)<{self._count}:(\d+)>\r\n")
        found: Any = self._shell.match
        return int(found[2]), found[1].decode().replace("\r\n", "\n").strip()

    def close(self) -> None:
        """With all that runs in it."""
        self._shell.close(force=True)


@pytest.fixture
def terminal(world: World) -> Iterator[Terminal]:
    made = Terminal(world)
    yield made
    made.close()


def test_the_terminal_that_took_the_lease_needs_no_token(world: World, terminal: Terminal) -> None:
    world.ok("spawn", "--name", "work", "bash", "--norc")
    world.ok("wait", "work", "--for", "prompt")
    assert terminal.run("lease take work >/dev/null") == (0, "")
    assert terminal.run("exec work 'echo $((6 * 7))'") == (0, "42")
    assert terminal.run("send work true") == (0, "")
    assert terminal.run("resize work 100x30 -q")[0] == 0
    code, shown = terminal.run("lease show work")
    assert (code, shown.endswith("(yours)"), "/dev/pts/" in shown) == (0, True, True)
    assert terminal.run("lease take work --ttl 1h -q")[0] == 0  # it lasts longer
    for words in (["send", "work", "x"], ["exec", "work", "true"], ["lease", "take", "work"]):
        refused = world.run(words[0], *words[1:], "--json") if words[0] != "exec" else world.run(*words)
        assert refused.returncode in (5, 125)
        assert b"lease" in refused.stderr
    assert terminal.run("lease release work") == (0, "")
    assert world.json("lease", "show", "work")["lease"] is None
    world.ok("send", "work", "true")


def test_no_other_terminal_is_taken_for_it(world: World, terminal: Terminal) -> None:
    world.ok("spawn", "--name", "work", "cat")
    terminal.run("lease take work -q")
    other = Terminal(world)
    try:
        assert other.run("send work x")[0] == 5
        assert other.run("lease release work")[0] == 5
        code, shown = other.run("lease show work")
        assert (code, "(yours)" in shown) == (0, False)
    finally:
        other.close()
    assert world.json("lease", "show", "work")["yours"] is False
    assert terminal.run("send work x") == (0, "")


def test_the_next_shell_on_the_same_device_is_another(world: World) -> None:
    """The kernel gives out the lowest free number, so the next terminal as a rule is the same device."""
    world.ok("spawn", "--name", "work", "cat")
    seen = []
    for _ in range(2):
        terminal = Terminal(world)
        code, told = terminal.run("lease take work --json")
        seen.append((code, json.loads(told)["lease"]["terminal"] if code == 0 else None))
        terminal.close()
    assert [code for code, _ in seen] == [0, 5]


def test_a_token_is_still_enough_elsewhere_and_goes_before_the_terminal(world: World, terminal: Terminal) -> None:
    world.ok("spawn", "--name", "work", "cat")
    _, token = terminal.run("lease take work")
    world.ok("send", "work", "x", "--lease", token)
    assert terminal.run(f"send work x --lease {'0' * 32}")[0] == 5
    world.ok("lease", "release", "work", "--lease", token)


def test_without_a_terminal_the_token_is_asked_for(world: World) -> None:
    world.ok("spawn", "--name", "work", "cat")
    world.ok("lease", "take", "work")
    refused = world.run("lease", "release", "work", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (2, "usage")


def test_who_attaches_from_the_terminal_that_has_the_lease_may_type_and_keeps_it(world: World) -> None:
    session = world.ok("spawn", "--name", "work", "cat")
    script = f"{ORCHCTL} lease take work >/dev/null; {ORCHCTL} attach work; {ORCHCTL} lease show work"
    person = Person(world, shell=script)
    try:
        until(lambda: len(world.json("lease", "show", "work")["viewers"]) == 1, person)
        person.type(b"typed by its holder\r")
        until(lambda: world.log(session).count(b"typed by its holder") == 2, person)
        person.type(DETACH)
        assert person.end() == 0
        assert b"(yours)" in person.seen
    finally:
        person.close()


def test_a_terminal_is_known_by_device_session_and_start() -> None:
    """All that runs there has one name; a session without a terminal has none."""
    code = "from orchctl.client.inherited import terminal_viewer as v; print(v())"
    script = f"for i in 1 2; do {sys.executable} -c '{code}'; done"
    names = []
    for _ in range(2):
        pid, master = pty.fork()
        if pid == 0:
            os.execv("/bin/sh", ["/bin/sh", "-c", script])
        said = b""
        while b"\n" not in said or said.count(b"\n") < 2:
            said += os.read(master, 4096)
        os.waitpid(pid, 0)
        os.close(master)
        names.append(said.decode().split())
    assert all(len(one) == 32 and first == one for first, one in names)
    assert names[0][0] != names[1][0]
    done = subprocess.run(["setsid", "-w", "sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"
