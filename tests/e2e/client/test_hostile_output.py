"""Hostile output, names and paths: on a terminal only text and colour arrive, and JSON is exact.

The terminal here is one that fails the test when a byte comes that a real one would act on or answer.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import cast

import pexpect
import pytest

from tests.programs import write_raw
from tests.world import DEADLINE_S, ORCHCTL, World, fresh_world

HOSTILE = {
    "title set": b"\x1b]0;owned\x07\x1b]2;owned\x1b\\",
    "title report": b"\x1b[21t\x1b[20t\x1b]l\x1b\\",
    "clipboard": b"\x1b]52;c;ZXZpbA==\x07\x1b]52;c;?\x07",
    "colours asked for": b"\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x07",
    "cursor moves": b"\x1b[H\x1b[10;10H\x1b[A\x1b[2J\x1b[3J\x1b[K\x1b7\x1b8\x1bM",
    "another screen": b"\x1b[?1049h\x1b]52;c;ZXZpbA==\x07\x1b[6n\x1b[?1049l",
    "device attributes": b"\x1b[c\x1b[>c\x1b[=c\x1bZ",
    "status reports": b"\x1b[5n\x1b[6n\x1b[?6n\x1b[?15n",
    "DECRQSS": b"\x1bP$qm\x1b\\",
    "XTGETTCAP": b"\x1bP+q544e\x1b\\",
    "modes": b"\x1b[?1000h\x1b[?2004h\x1b[?25l\x1b[20h\x1b[>4;2m\x1b[>1u\x1b=",
    "answerback and bells": b"\x05\x07\x0e\x0f",
    "eight-bit controls": b"\xc2\x9b6n\xc2\x9d0;x\xc2\x9c\xc2\x90q\xc2\x9c\x9b6n",
    "strings": b"\x1b_app\x1b\\\x1b^priv\x1b\\\x1bXsos\x1b\\\x1bPq\x1b\\",
    "a megabyte of title": b"\x1b]0;" + b"A" * 1_100_000 + b"\x07",
    "a title without an end": b"\x1b]0;",
    "lone return": b"password: \rfake    \r",
    "backspaces": b"rm -rf /\x08\x08\x08\x08\x08\x08\x08\x08ls      ",
    "right to left": "\u202eevil\u202c \u2066x\u2069 \u200f\u061c \u2028".encode(),
    "colour of absurd length": b"\x1b[" + b"1;" * 5000 + b"m",
    "colour with a twist": b"\x1b[31;?1m\x1b[1 m\x1b[31\x18m",
    "half a character": b"\xe2\x82\xff\xf0\x9f",
    "DEL and NUL": b"\x7f\x00",
}
COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
NASTY = "\x1b]0;x\x07\x1b[6n\x9b5n\r\n\t\u202eevil\x7f"


class Terminal:
    """Runs a command on a terminal of its own, and takes nothing but text, newlines, tabs and colour."""

    def __init__(self, world: World) -> None:
        self._env = world.env | {"TERM": "xterm-256color"}

    def run(self, *words: str, cwd: str | None = None, status: int = 0) -> str:
        """What came, checked."""
        running = pexpect.spawn(ORCHCTL, list(words), env=self._env, cwd=cwd, timeout=DEADLINE_S, maxread=1 << 16)
        running.expect(pexpect.EOF)
        running.wait()
        running.close()
        assert running.exitstatus == status, (words, running.before)
        return self.take(cast("bytes", running.before))

    def take(self, data: bytes) -> str:
        """Fails at the first character that a terminal would act on."""
        text = data.decode("utf-8").replace("\r\n", "\n")  # by the terminal's own line discipline
        bad = [char for char in COLOUR.sub("", text) if not (char.isprintable() or char in "\n\t")]
        assert bad == [], bad[:20]
        return text


@pytest.fixture(scope="module")
def home() -> Iterator[World]:
    """One supervisor for all of it."""
    with fresh_world() as made:
        yield made


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_output_reaches_a_terminal_as_text(home: World, name: str) -> None:
    path = f"{home.folder}/hostile"
    with open(path, "wb") as file:
        file.write(b"before\r\n\x1b[31mred\x1b[0m " + HOSTILE[name] + b" after\r\n")
    session = home.ok("spawn", *write_raw(path, step=7 if len(HOSTILE[name]) < 10_000 else 60_000))
    home.run("wait", session)
    terminal = Terminal(home)
    for words in (["tail", "-n", "all"], ["tail", "-f", "-n", "all"], ["tail", "-t"], ["tail", "--since", "@0"]):
        shown = terminal.run(*words, session)
        assert "\x1b[31mred\x1b[0m" in shown or name == "lone return"  # which is written over
        assert "after" in shown
    followed = terminal.run("spawn", "--follow", *write_raw(path))
    assert "after" in followed


def test_hostile_output_of_a_command_reaches_a_terminal_as_text(home: World) -> None:
    home.ok("spawn", "--name", "shell", "bash")
    path = f"{home.folder}/all"
    with open(path, "wb") as file:
        file.write(b"".join(data for name, data in HOSTILE.items() if "megabyte" not in name) + b"\nlast\n")
    for words in (["exec", "shell", f"cat {path}"], ["exec", "shell", "--pipe", f"cat {path}; cat {path} >&2"]):
        assert "last" in Terminal(home).run(*words)
    assert "last" in Terminal(home).run("tail", "--command", "1", "shell")


_PUSH = """
import fcntl, os, sys, termios
for byte in b"echo owned\\n":
    try:
        fcntl.ioctl(0, termios.TIOCSTI, bytes([byte]))
    except OSError as error:
        print(error.strerror)
        break
print("pushed")
"""


def test_input_that_a_session_pushes_reaches_no_terminal_but_its_own(home: World) -> None:
    session = home.ok("spawn", sys.executable, "-c", _PUSH)
    env = home.env | {"PS1": "$ "}
    viewer = pexpect.spawn("bash", ["--norc"], env=env, timeout=DEADLINE_S, encoding="utf-8", echo=False)
    viewer.expect_exact("$ ")
    viewer.sendline(f"{ORCHCTL} tail -f -n all {session}")
    viewer.expect_exact("pushed")
    viewer.expect_exact("$ ")
    viewer.sendline("exit 3")
    viewer.expect(pexpect.EOF)
    viewer.wait()
    viewer.close()
    assert (viewer.exitstatus, "owned" in (viewer.before or "")) == (3, False)


def test_hostile_names_reach_a_terminal_as_text_in_every_listing(home: World) -> None:
    folder = f"{home.folder}/{NASTY}"
    os.mkdir(folder)
    session = home.ok("spawn", "-w", folder, "--name", "nasty", "sh", "-c", "exec sleep 1000", NASTY)
    home.ok("spawn", "--name", "nasty-shell", "-w", folder, "bash")
    home.run("exec", "nasty-shell", f": '{NASTY}'; false")
    terminal = Terminal(home)
    assert "^[]0;x^G" in terminal.run("list")
    home.ok("spawn", "--wait", "printf", NASTY)
    assert "printf '^[]0" in terminal.run("list", "-a")
    assert "^[]0;x^G" in terminal.run("info", session)
    assert "\\u202eevil" in terminal.run("info", session)
    assert "^[]0;x^G" in terminal.run("history", "nasty-shell")
    for words in (["events"], ["list", "--json"], ["info", "--json", "nasty"], ["history", "--json", "nasty-shell"]):
        told = terminal.run(*words)
        assert told.isascii()
    home.ok("kill", "nasty", "nasty-shell")


def test_hostile_words_reach_a_terminal_as_text_in_every_error(home: World) -> None:
    terminal = Terminal(home)
    for status, words in (
        (3, ["info", NASTY]),
        (3, ["kill", NASTY]),
        (3, ["tail", "-f", NASTY]),
        (125, ["exec", NASTY, "true"]),
        (127, ["spawn", NASTY]),
        (127, ["spawn", f"/{NASTY}"]),
        (2, ["spawn", "-w", f"/{NASTY}", "true"]),
        (2, ["spawn", "--name", NASTY, "true"]),
        (2, ["spawn", "-m", NASTY, "true"]),
        (2, ["spawn", "--size", NASTY, "true"]),
        (2, ["spawn", "--timeout", NASTY, "true"]),
        (2, ["spawn", "-e", NASTY, "true"]),
        (2, ["wait", "--for", f"output=({NASTY}", "@last"]),
        (2, [NASTY]),
        (2, ["list", f"--{NASTY}"]),
        (3, ["list", NASTY]),
    ):
        shown = terminal.run(*words, status=status)
        assert shown.startswith("orchctl: "), shown
        assert shown.count("\n") == 1, shown


def test_json_of_the_same_is_exact_and_plain_ascii(home: World) -> None:
    everything = b"".join(HOSTILE.values())
    path = f"{home.folder}/everything"
    with open(path, "wb") as file:
        file.write(everything)
    session = home.ok("spawn", *write_raw(path), NASTY)
    home.run("wait", session)
    lines = home.run("tail", "-n", "all", "--json", session).stdout
    assert lines.isascii()
    assert re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", lines) is None
    pieces = [json.loads(line) for line in lines.splitlines()]
    assert b"".join(_bytes(piece) for piece in pieces) == everything
    assert {"output_b64"} <= {key for piece in pieces for key in piece}, "it is not UTF-8"
    told = home.run("info", "--json", session).stdout
    assert re.search(rb"[\x00-\x09\x0b-\x1f\x7f-\xff]", told) is None
    assert json.loads(told)["command"] == [*write_raw(path), NASTY]
    assert sys.getfilesystemencoding() == "utf-8"


def _bytes(piece: dict[str, str]) -> bytes:
    return base64.b64decode(piece["output_b64"]) if "output_b64" in piece else piece["output"].encode()


def test_text_comes_as_text_and_other_bytes_as_base64_in_the_result_of_a_command(home: World) -> None:
    home.ok("spawn", "--name", "printing", "bash")
    text = json.loads(home.ok("exec", "--json", "printing", "--pipe", r"printf '\033[6n\302\233\t\n'"))
    assert text["output"] == "\x1b[6n\x9b\t\n"
    other = json.loads(home.ok("exec", "--json", "printing", "--pipe", r"printf '\377\033'; printf '\376' >&2"))
    assert (base64.b64decode(other["output_b64"]), base64.b64decode(other["errors_b64"])) == (b"\xff\x1b", b"\xfe")
    assert "output" not in other
