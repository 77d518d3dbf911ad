"""The README tells the truth: its blocks are run, in order, and print what stands there.

Every `console` block runs in one shell, in a home directory and a state directory of its own. Below a command stands
what it prints (`tests/readme.py` says what may differ). Every `python` block runs as a program, every `toml` block is
taken as settings.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time

import pytest
from _pytest.mark.structures import ParameterSet

from tests.readme import Block, blocks, commands, fits
from tests.world import DEADLINE_S, ORCHCTL, World


class Shell:
    """One bash for the whole README."""

    def __init__(self, world: World) -> None:
        self.home = f"{world.folder}/me"
        os.mkdir(self.home)
        self.env = world.env | {"HOME": self.home, "PATH": f"{os.path.dirname(ORCHCTL)}:{os.environ['PATH']}"}
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            env=self.env,
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, command: str) -> str:
        """What a command prints, errors too."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f"{command}\nprintf '\\001'\n".encode())
        self._bash.stdin.flush()
        said, until = b"", time.monotonic() + DEADLINE_S
        while not said.endswith(b"\x01"):
            ready, _, _ = select.select([self._bash.stdout], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"no end of {command!r}: {said!r}"
            data = os.read(self._bash.stdout.fileno(), 65536)
            assert data, f"the shell ended in {command!r}: {said!r}"
            said += data
        return said[:-1].decode()

    def end(self) -> None:
        """The shell's own end."""
        with self._bash:
            pass


def test_the_console_blocks_print_what_stands_there(world: World) -> None:
    shell = Shell(world)
    wrong = []
    try:
        for block in blocks("console"):
            for line, command, shown in commands(block):
                printed = shell.run(command)
                if not fits(printed, shown, shell.home):
                    wrong.append(
                        f"line {line}: $ {command}\nprinted:\n{printed}\nwhere there stands:\n" + "\n".join(shown)
                    )
    finally:
        shell.end()
    assert wrong == [], "\n\n".join(wrong)


def numbered(kind: str) -> list[ParameterSet]:
    """Each block as a parameter, named by its number: lines move whenever the text above them changes."""
    return [pytest.param(block, id=f"{kind}{number}") for number, block in enumerate(blocks(kind), 1)]


@pytest.mark.parametrize("block", numbered("python"))
def test_the_python_blocks_run(world: World, block: Block) -> None:
    shell = Shell(world)
    shell.end()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        env=shell.env,
        cwd=shell.home,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()


@pytest.mark.parametrize("block", numbered("toml"))
def test_the_settings_are_settings(world: World, block: Block) -> None:
    os.makedirs(world.state, mode=0o700)
    with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
        file.write(block.text)
    world.supervisor()
    assert world.json("supervisor", "status")["problems"] == []


def test_there_are_blocks_of_each_kind() -> None:
    assert {kind: bool(blocks(kind)) for kind in ("console", "python", "toml")} == dict.fromkeys(
        ("console", "python", "toml"), True
    )


@pytest.mark.parametrize(
    ("printed", "shown", "fitting"),
    [
        ("a\nb\n", ["a", "b"], True),
        ("a\nb\n", ["a"], False),
        ("a\n", [], False),
        ("", [], True),
        ("a\nb\nc\n", ["a", "…"], True),
        ("a\nb\nc\n", ["…", "c"], True),
        ("x 42dc67c1 0.25  y\n", ["x 7d3e7b2c 2.08 y"], True),
        ("exit 3\n", ["exit 4"], False),
        ("decade 12345678\n", ["decade 1234567"], False),
        ("/real/home is it\n", ["/home/me is it"], True),
        ('{"seq": 4, "type": "x"}\n', ['{"seq": …, "type": "x"}'], True),
        ('{"seq": 4, "type": "x"}\n', ['{"seq": …, "type": "y"}'], False),
    ],
)
def test_what_fits_is_told_from_what_does_not(printed: str, shown: list[str], fitting: bool) -> None:
    assert fits(printed, shown, "/real/home") is fitting
