"""`screen`: what full-screen programs show, as tmux shows it for the same bytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.needs import needs
from tests.world import World, until


class Tmux:
    """A server of its own, below the test's directory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}

    def __call__(self, *words: str) -> str:
        argv = ["tmux", "-S", f"{self._folder}/tmux.sock", "-f", "/dev/null", *words]
        done = subprocess.run(argv, env=self._env, capture_output=True, check=True, timeout=60)
        return done.stdout.decode()

    def play(self, parts: list[tuple[int, int, bytes]]) -> None:
        """Bytes into a pane, each part in its size, as a program in raw mode would write them."""
        pipe = f"{self._folder}/played"
        os.mkfifo(pipe)
        self("set", "-g", "status", "off")
        size = ("-x", str(parts[0][0]), "-y", str(parts[0][1]))
        self("new-session", "-d", *size, "-s", "played", f"stty raw -echo; cat {pipe}; sleep 1000")
        with open(pipe, "wb", buffering=0) as file:
            for number, (cols, rows, data) in enumerate(parts):
                self("resize-window", "-t", "played", "-x", str(cols), "-y", str(rows))
                file.write(data + b"\x1b]2;part %d\x07" % number)
                until(partial(self._titled, f"part {number}"))

    def _titled(self, title: str) -> bool:
        return self("display", "-p", "-t", "played", "#{pane_title}") == f"{title}\n"

    def lines(self) -> list[str]:
        """What the pane shows."""
        return [line.rstrip(" ") for line in self("capture-pane", "-p", "-t", "played").split("\n")[:-1]]

    def state(self) -> dict[str, Any]:
        """Where the cursor is, and on which screen."""
        x, y, alternate = self("display", "-p", "-t", "played", "#{cursor_x} #{cursor_y} #{alternate_on}").split()
        return {"x": int(x), "y": int(y), "alternate": alternate == "1"}


@pytest.fixture
def tmux(world: World) -> Iterator[Tmux]:
    made = Tmux(world.folder)
    made("start-server", ";", "set", "-g", "exit-empty", "off")
    yield made
    made("kill-server")


def _until_shown(world: World, name: str, text: str) -> None:
    until(lambda: text in world.ok("screen", name), f"{text!r} never came: {world.ok('screen', name)}")


def _vim(world: World) -> None:
    with open(f"{world.folder}/file.py", "w", encoding="utf-8") as file:
        file.write(
            "".join(f"def f{number}():\n\treturn 'é你好' * {number}  # {'x' * number}\n" for number in range(90))
        )
    world.ok("spawn", "--name", "s", "-w", world.folder, "vim", "-u", "NONE", "-N", "-n", "file.py")
    _until_shown(world, "s", "def f3")
    world.ok("send", "s", "--no-enter", ":set number hlsearch wrap laststatus=2")
    world.ok("send", "s", "--key", "Enter")
    world.ok("send", "s", "--no-enter", "/x\\{70\\}")
    world.ok("send", "s", "--key", "Enter")
    _until_shown(world, "s", "def f70")
    world.ok("send", "s", "--no-enter", "Oinserted")
    _until_shown(world, "s", "inserted")
    world.ok("resize", "s", "100x30")
    assert world.json("screen", "s")["rows"] == 30
    until(lambda: "INSERT" in world.json("screen", "s")["lines"][29], "vim never used its new size")


def _less(world: World) -> None:
    with open(f"{world.folder}/text", "w", encoding="ascii") as file:
        file.write("".join(f"line {number} {'word ' * (number % 30)}\n" for number in range(500)))
    world.ok("spawn", "--name", "s", "-w", world.folder, "less", "-N", "text")
    _until_shown(world, "s", "line 3")
    world.ok("send", "s", "--no-enter", "200g")
    _until_shown(world, "s", "line 205")
    world.ok("send", "s", "--no-enter", "b")
    _until_shown(world, "s", "line 190")


def _htop(world: World) -> None:
    world.ok("spawn", "--name", "s", "-e", f"HOME={world.folder}", "-e", "XDG_CONFIG_HOME=", "htop", "--delay=5")
    _until_shown(world, "s", "F10")
    world.ok("send", "s", "--no-enter", "t")
    _until_shown(world, "s", "F5List")


def _python(world: World) -> None:
    world.ok("spawn", "--name", "s", "python3", "-q", "-i", "-S", "-E")
    _until_shown(world, "s", ">>>")
    world.ok("send", "s", "for i in range(40): print(i, '\\x1b[1;3%dm' % (i % 8) + 'ä' * 2 * i + '\\x1b[0m')")
    world.ok("send", "s", "")
    _until_shown(world, "s", "39 ")


def _parts(world: World, end: int) -> Iterator[tuple[int, int, bytes]]:
    """The log up to `end`, cut where the terminal was resized."""
    with world.client() as client:
        sizes = client.sizes("s")
        log = world.log(client.info("s").id)
    for size, after in zip(sizes, [*(one.offset for one in sizes[1:]), end], strict=True):
        yield size.cols, size.rows, log[size.offset : after]


@pytest.mark.parametrize(
    "drive",
    [
        pytest.param(_vim, id="_vim", marks=needs("vim")),
        pytest.param(_less, id="_less", marks=needs("less")),
        pytest.param(_htop, id="_htop", marks=needs("htop")),
        pytest.param(_python, id="_python"),
    ],
)
@needs("tmux")
def test_a_program_is_shown_as_tmux_shows_it(world: World, tmux: Tmux, drive: Callable[[World], None]) -> None:
    drive(world)
    screen = world.json("screen", "s")
    tmux.play(list(_parts(world, screen["offset"])))
    assert tmux.lines() == screen["lines"]
    assert any(screen["lines"])
    cursor = screen["cursor"]
    assert {"x": cursor["x"], "y": cursor["y"], "alternate": screen["alternate"]} == tmux.state()
    assert screen["alternate"] is (drive is not _python)


def test_colours_and_nothing_else_are_in_the_ansi_form(world: World) -> None:
    paint = r"printf '\033]2;a title\007\033[31mred\033[0m \033]8;;http://x\007link\033]8;;\007\r\n'"
    paint += r"; printf '\033[44mblue\033[K\033[0m'; sleep 1000"
    world.ok("spawn", "--name", "s", "--size", "20x4", "sh", "-c", paint)
    _until_shown(world, "s", "blue")
    text, ansi = world.run("screen", "s").stdout, world.run("screen", "s", "--as", "ansi").stdout
    assert text == b"red link\nblue\n\n\n"
    assert b"\x1b[38;5;1mred" in ansi
    assert [line.rstrip() for line in re.sub(rb"\x1b\[[0-9;:]*m", b"", ansi).split(b"\n")] == text.split(b"\n")
    told = json.loads(world.ok("screen", "s", "--as", "json"))
    assert (told["title"], told["cols"], told["rows"], told["alternate"]) == ("a title", 20, 4, False)
    assert told["cursor"] == {"x": 4, "y": 1, "visible": True}
    assert world.ok("screen", "s", "--template", "{title}:{cursor.y}") == "a title:1"


def test_each_part_is_shown_in_the_size_that_the_terminal_had(world: World) -> None:
    script = "stty -echo; printf '%0100d\\nready\\n' 0; read go; printf '%0100d\\nagain\\n' 0; sleep 1000"
    world.ok("spawn", "--name", "s", "--size", "50x10", "sh", "-c", script)
    _until_shown(world, "s", "ready")
    assert world.ok("screen", "s").splitlines()[:3] == ["0" * 50, "0" * 50, "ready"]
    world.ok("resize", "s", "100x10")
    world.ok("send", "s", "go")
    _until_shown(world, "s", "again")
    screen = world.json("screen", "s")
    assert (screen["cols"], screen["rows"]) == (100, 10)
    assert screen["lines"][-9:].count("0" * 100) >= 1
    assert "again" in screen["lines"]


def test_an_ended_session_shows_what_it_showed_last_and_a_new_run_begins_anew(world: World) -> None:
    world.ok("spawn", "--wait", "--name", "s", "--size", "30x5", "sh", "-c", "echo run $$")
    first = world.ok("screen", "s").rstrip("\n")
    assert re.fullmatch(r"run \d+", first)
    world.ok("restart", "s")
    world.ok("wait", "s")
    second = world.ok("screen", "s").rstrip("\n")
    assert re.fullmatch(r"run \d+", second)
    assert second != first


def test_marks_of_our_shells_are_not_shown(world: World) -> None:
    world.ok("spawn", "--name", "s", "bash")
    world.ok("exec", "s", "echo shown")
    _until_shown(world, "s", "shown")
    assert "]6973;" not in world.ok("screen", "s")


def test_what_cannot_be_shown_says_why(world: World) -> None:
    world.ok("spawn", "--wait", "--no-pty", "--name", "pipes", "true")
    world.ok("spawn", "--wait", "--name", "s", "true")
    for words, status, code in (
        (["pipes"], 5, "no-terminal"),
        (["nobody"], 3, "no-such-session"),
        (["s", "--as", "gif"], 2, "usage"),
    ):
        done = world.run("screen", *words, "--json")
        assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (status, b"", code)


def test_without_the_emulator_it_says_how_to_get_it(world: World) -> None:
    os.mkdir(f"{world.folder}/hidden")
    with open(f"{world.folder}/hidden/pyghostty.py", "w", encoding="ascii") as file:
        file.write("raise ModuleNotFoundError(\"No module named 'pyghostty'\")\n")
    world.ok("spawn", "--wait", "--name", "s", "true")
    env = {**world.env, "PYTHONPATH": f"{world.folder}/hidden"}
    done = world.run("screen", "s", "--json", env=env)
    told = json.loads(done.stderr)
    assert (done.returncode, done.stdout, told["code"]) == (1, b"", "missing-extra")
    assert told["message"].endswith(f"install it with: {sys.executable} -m pip install 'pyghostty>=0.1.3,<0.2'")
