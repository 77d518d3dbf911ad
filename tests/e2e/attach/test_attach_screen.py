"""What somebody sees who comes later: the screen as it is, and nothing that their terminal would answer."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyghostty as ghostty
import pytest

from tests.attached import DETACH, attached, content, until
from tests.needs import needs
from tests.world import ORCHCTL, World
from tests.world import until as world_until

HOSTILE = (
    b"\x1b[c\x1b[>c\x1b[=c\x05\x1b[5n\x1b[6n\x1b[?6n\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1b[>q\x1b[?2004$p\x1b[4$p"
    b"\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x1b\\\x1b]52;c;?\x07\x1b]52;c;aGVsbG8=\x07\x1b[14t\x1b[18t\x1b[21t"
    b"\x1b]2;title\x07\x1b[?u\x1b[?996n\x1b[?2048h\x1bZ\x1b[6\r\x0bn\xc2\x9b6nshown \x1b[31mred\x1b[0m"
)
_ASKING = r"""
import os, sys, tty
tty.setraw(0)
keys = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(1, bytes.fromhex(sys.argv[2]) + b" asked")
while (typed := os.read(0, 4096)) and not typed.endswith(b"Q"):
    os.write(keys, typed)
    if typed.endswith(b"?"):
        os.write(1, b"\x1b[5n live")
"""
_FULL_SCREEN = r"""
import os, sys, time
os.write(1, b"\x1b[?1049h\x1b[2J\x1b[5;10Hmiddle \x1b[1;32mgreen\x1b[0m\x1b[24;1Hbottom\x1b[1;75H top\x1b[12;1H"
    + "漢字 é".encode() + b"\x1b[3;3H")
os.write(1, b"\x1b]2;drawn\x07")
time.sleep(1000)
"""


@pytest.fixture(params=["with the extra", "without it"])
def somewhere(request: pytest.FixtureRequest, world: World) -> World:
    """A world with the terminal emulator, and one in which it cannot be imported."""
    if request.param == "without it":
        os.mkdir(f"{world.folder}/hidden")
        with open(f"{world.folder}/hidden/pyghostty.py", "w", encoding="ascii") as file:
            file.write("raise ModuleNotFoundError('not installed', name='pyghostty')\n")
        world.env["PYTHONPATH"] = f"{world.folder}/hidden"
    return world


@pytest.fixture
def emulator() -> Iterator[tuple[Any, Callable[[bytes], bytes]]]:
    """A terminal that answers what it is asked, as people's terminals do."""
    said = list[bytes]()
    with ghostty.Terminal(80, 24) as terminal:
        terminal.on_reply(said.append)

        def answer(data: bytes) -> bytes:
            said.clear()
            terminal.feed(data)
            return b"".join(said)

        yield terminal, answer


def test_no_answer_to_an_old_question_reaches_the_program(
    somewhere: World, emulator: tuple[Any, Callable[[bytes], bytes]]
) -> None:
    world, (terminal, answer), keys = somewhere, emulator, f"{somewhere.folder}/keys"
    world.ok("spawn", "--name", "s", sys.executable, "-c", _ASKING, keys, HOSTILE.hex())
    world.ok("wait", "s", "--for", "output=asked")
    with ghostty.Terminal(80, 24) as other:
        replies = list[bytes]()
        other.on_reply(replies.append)
        other.feed(world.log(world.json("info", "s")["id"]))
        assert len(replies) > 5  # it would have answered
    with attached(world, "s") as person:
        person.answer = answer
        person.wait_for(b"asked")
        person.type(b".")
        until(lambda: content(keys), person)
        assert content(keys) == b"."
        assert b"]52" not in person.seen
        assert "shown red" in terminal.text()
        person.type(b"?")  # what is asked from now on is answered, once
        until(lambda: content(keys) == b".?\x1b[0n", person)
        person.type(DETACH)
        assert person.end() == 0
    assert content(keys) == b".?\x1b[0n"


def test_the_screen_of_a_full_screen_program_is_there_at_once(
    world: World, emulator: tuple[Any, Callable[[bytes], bytes]]
) -> None:
    world.ok("spawn", "--name", "s", sys.executable, "-c", _FULL_SCREEN)
    world.ok("wait", "s", "--for", "output=drawn")
    terminal, answer = emulator
    with attached(world, "s") as person:
        person.answer = answer
        until(lambda: "bottom" in terminal.text(), person)
        shown = world.json("screen", "s")
        until(lambda: terminal.cursor == (2, 2), person)
        assert terminal.text().rstrip("\n").split("\n") == [line.rstrip() for line in shown["lines"]]
        assert terminal.get("active_screen", "int32_t") == 1
        person.type(DETACH)
        assert person.end() == 0
        assert terminal.get("active_screen", "int32_t") == 0


class Tmux:
    """A server of its own, below the test's directory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}

    def __call__(self, *words: str) -> str:
        argv = ["tmux", "-S", f"{self._folder}/tmux.sock", "-f", "/dev/null", *words]
        done = subprocess.run(argv, env=self._env, capture_output=True, check=True, timeout=60)
        return done.stdout.decode()

    def open(self, name: str, words: list[str]) -> None:
        """A window that runs a command."""
        self("new-session", "-d", "-x", "80", "-y", "24", "-s", name, shlex.join(words))

    def shown(self, name: str) -> str:
        """What it shows, with colours in one spelling, and where its cursor is."""
        where = self("display", "-p", "-t", name, "#{cursor_x} #{cursor_y} #{alternate_on}")
        return re.sub(r"38;5;(\d)m", r"3\1m", self("capture-pane", "-p", "-e", "-t", name)) + where

    def lines(self, name: str) -> str:
        """The text it shows, without blanks at the ends of rows and without empty rows below."""
        return "\n".join(row.rstrip() for row in self("capture-pane", "-p", "-t", name).split("\n")).rstrip("\n")

    def until(self, name: str, holds: Callable[[str], bool]) -> str:
        """What it shows once something holds for that."""
        shown = list[str]()

        def look() -> bool:
            shown.append(self.lines(name))
            return holds(shown[-1])

        world_until(look, lambda: shown[-1])
        return shown[-1]


@needs("tmux")
def test_under_tmux_it_looks_as_if_the_program_ran_there(world: World) -> None:
    tmux = Tmux(world.folder)
    tmux("start-server", ";", "set", "-g", "exit-empty", "off", ";", "set", "-g", "status", "off")
    try:
        program = [sys.executable, "-c", _FULL_SCREEN]
        tmux.open("plain", program)
        world.ok("spawn", "--name", "s", *program)
        world.ok("wait", "s", "--for", "output=drawn")
        tmux.open("ours", ["env", f"ORCHCTL_STATE_DIR={world.state}", ORCHCTL, "attach", "s"])
        until(lambda: "bottom" in tmux.shown("plain") and tmux.shown("plain") == tmux.shown("ours"))
    finally:
        tmux("kill-server")


def test_what_has_only_begun_is_left_to_what_follows(somewhere: World) -> None:
    """Half a sequence is on the screen's side of nothing: it comes whole, with its other half."""
    script = r"printf 'ab\033[3'; read line; printf '1mred\303'; read line; printf '\251.'; sleep 1000"
    session = somewhere.ok("spawn", "--name", "s", "sh", "-c", f"stty -echo; {script}")
    until(lambda: somewhere.log(session) == b"ab\x1b[3")
    for line, whole in ((b"\x1b[3", b"\x1b[31mred"), (b"\xc3", "é.".encode())):
        until(lambda: somewhere.log(session).endswith(line))  # noqa: B023 - waited for here
        with attached(somewhere, "s") as person:
            until(lambda: b"ab" in person.seen, person)
            person.type(b"\r")
            until(lambda: whole in person.seen, person)  # noqa: B023
            person.type(DETACH)
            assert person.end() == 0
