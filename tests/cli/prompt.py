"""A person at the prompt of a real shell, on a terminal: types, presses Tab, and sees what comes."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import time
from collections.abc import Iterator

import pexpect

from tests.test_build import TOP
from tests.world import DEADLINE_S, ORCHCTL, World

SCRIPTS = {"bash": "orchctl.bash", "zsh": "_orchctl", "fish": "orchctl.fish"}
READY = "ready> "
_ESCAPES = re.compile(
    r"\x1b\[[0-9;:?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78DEHM]|[\r\x07\x00\x0f]"
)
_START = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--private"]}
# in the place of orchctl: answers the completion scripts, and of anything else tells the words it was called with
_STAND_IN = """#!/bin/sh
[ "$2" = --candidates ] && exec {orchctl} "$@"
printf '%s\\0' "$@" end-of-words > {told}
echo all-is-told
"""


class Prompt:
    """One shell with the committed script loaded, and nothing else of the user's."""

    def __init__(self, shell: str, world: World, *first: str) -> None:
        self.shell = shell
        self.folder = f"{world.folder}/here"
        os.makedirs(self.folder, exist_ok=True)
        self._stand_in(world)
        env = world.env | {"HOME": self.folder, "ZDOTDIR": self.folder, "XDG_CONFIG_HOME": f"{self.folder}/.config"}
        env |= {"TERM": "xterm", "LC_ALL": "C.UTF-8", "PATH": f"{world.folder}/bin:{env['PATH']}"}
        env.pop("LS_COLORS", None)
        self.child: pexpect.spawn[str] = pexpect.spawn(
            shell,
            _START[shell],
            env=env,
            cwd=self.folder,
            encoding="utf-8",
            codec_errors="backslashreplace",
            dimensions=(60, 200),
        )
        self.seen = self.shown = ""
        for number, line in enumerate([*_set_up(shell, self.folder), *first], 100):
            sum_ = f"(math {number} + 1)" if shell == "fish" else f"$(({number} + 1))"
            self.child.send(f"{line}; echo set-{sum_}\r")
            self._until(f"set-{number + 1}")  # what is echoed of the line has the sum, not its result
        self._until(READY)
        self.seen = ""

    def _stand_in(self, world: World) -> None:
        os.makedirs(f"{world.folder}/bin", exist_ok=True)
        path, told = f"{world.folder}/bin/orchctl", f"{world.folder}/told"
        with open(path, "w", encoding="utf-8") as file:
            file.write(_STAND_IN.format(orchctl=ORCHCTL, told=told))
        os.chmod(path, 0o755)
        os.mkfifo(told)
        self._told = os.open(told, os.O_RDWR | os.O_NONBLOCK)  # both, so that it never ends

    def words(self, text: str) -> list[str]:
        """Type it with its Tabs, press Enter: the words that orchctl is called with. `shown` is what came meanwhile."""
        self.shown = self.seen = ""
        self.child.send(text + "\r")
        data = b""
        while not data.endswith(b"end-of-words\0"):
            ready, _, _ = select.select([self._told, self.child.fileno()], [], [], DEADLINE_S)
            assert ready, (self.shell, text, self.seen)
            if self._told in ready:
                data += os.read(self._told, 65536)
            else:
                self._read()
        self._until("all-is-told")
        before, _, self.seen = self.seen.partition("all-is-told")
        self.shown += before
        self._until(READY)
        return os.fsdecode(data).split("\0")[:-2]

    def shows(self, text: str, *expected: str) -> str:
        """Type it and wait until all of `expected` was shown; what was shown, without colours. The line is left."""
        self.seen = ""
        self.child.send(text)
        for one in expected:
            self._until(one)
        shown = self.seen
        assert self.words("\x15orchctl away") == ["away"]  # Ctrl-U
        return shown

    def close(self) -> None:
        """End it."""
        self.child.kill(signal.SIGKILL)  # pexpect's own way gives it a tenth of a second
        self.child.wait()
        self.child.close()
        os.close(self._told)

    def _until(self, text: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while text not in self.seen:
            assert time.monotonic() < end, (self.shell, text, self.seen)
            if select.select([self.child.fileno()], [], [], 1)[0]:
                self._read()

    def _read(self) -> None:
        self.seen = _ESCAPES.sub("", self.seen + self.child.read_nonblocking(65536, timeout=0))


@contextlib.contextmanager
def prompt(shell: str, world: World, *first: str) -> Iterator[Prompt]:
    """A prompt that is closed in the end."""
    made = Prompt(shell, world, *first)
    try:
        yield made
    finally:
        made.close()


def _set_up(shell: str, home: str) -> list[str]:
    script = f"{TOP}/completions/{SCRIPTS[shell]}"
    if shell == "bash":
        settings = ("bell-style none", "enable-bracketed-paste off", "completion-query-items 0", "page-completions off")
        return [*(f"bind 'set {one}'" for one in settings), f"source {script}", f"PS1='{READY}'"]
    if shell == "zsh":
        return [
            f"fpath=({TOP}/completions $fpath) LISTMAX=0",
            "unsetopt beep auto_menu prompt_sp; setopt bash_auto_list",  # Tab lists at the second press, as in bash
            f"autoload -Uz compinit && compinit -u -d {home}/.zcompdump",
            f"PS1='{READY}'",
        ]
    greeting = "set -g fish_greeting; set -g fish_autosuggestion_enabled 0"
    return [greeting, f"source {script}", f"function fish_prompt; echo -n '{READY}'; end"]
