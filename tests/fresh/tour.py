"""README's tour as a newcomer types it: a shell on the fresh machine in a tmux of its own, read after each line."""

from __future__ import annotations

import subprocess

from tests.fresh.machine import Machine
from tests.readme import blocks, commands, fits
from tests.world import until

PROMPT = "ready>"
DETACH = ("C-\\", "C-d")
_WRONG = ("command not found", "Traceback (most recent call last)")


class Terminal:
    """A screen that is typed at and read."""

    def __init__(self, folder: str, words: list[str]) -> None:
        self._socket = f"{folder}/tour.sock"
        shell = [*words, "bash", "--norc", "--noprofile", "-i"]
        self._tmux("new-session", "-d", "-x", "180", "-y", "50", "--", *shell)
        self._tmux("set-option", "-g", "history-limit", "50000")
        self.press("PS1=" + f"'{PROMPT[:3]}''{PROMPT[3:]} '", "Enter")  # in two parts: the line itself is no prompt
        until(lambda: self._shown().endswith(PROMPT), lambda: f"no prompt: {self._shown()}")

    def _tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def _shown(self) -> str:
        return self._tmux("capture-pane", "-p", "-J", "-S", "-").rstrip()

    def press(self, text: str, *keys: str) -> None:
        """Type a text, and then keys by their names."""
        self._tmux("send-keys", "-l", "--", text)
        if keys:
            self._tmux("send-keys", *keys)

    def run(self, command: str, *then: str) -> str:
        """What a command shows until the prompt is back; `then` are keys for one that does not end by itself."""
        self._tmux("send-keys", "-R", ";", "clear-history")
        self.press(command, "Enter")
        if then:
            until(lambda: self._shown().count("\n") > 0, lambda: f"nothing shown by {command!r}")
            self._tmux("send-keys", *then)
        until(lambda: self._is_over(command), lambda: f"no end of {command!r}: {self._shown()}")
        lines = self._shown().splitlines()[:-1]
        begin = next((at for at, line in enumerate(lines) if line.endswith(command.splitlines()[-1])), -1)
        return "".join(f"{line}\n" for line in lines[begin + 1 :])

    def _is_over(self, command: str) -> bool:
        lines = self._shown().splitlines()
        return len(lines) > command.count("\n") and lines[-1].endswith(PROMPT)

    def end(self) -> None:
        """The terminal is closed; sessions go on."""
        self._tmux("kill-server")


def take(machine: Machine, user: str, tree: str) -> list[str]:
    """Type all of it after the install line; gives what was not as README says."""
    terminal = Terminal(machine.folder, machine.enter(user))
    wrong = []
    try:
        terminal.run(f"cd {tree}")
        terminal.run(blocks("sh")[2].text.strip())  # puts orchctl on PATH
        terminal.run("cd; clear")
        for block in sorted([*blocks("console"), *blocks("sh")[3:]], key=lambda one: one.line):
            for line, command, shown in commands(block):
                printed = terminal.run(command, *(DETACH if " attach " in command else ()))
                fitting = block.kind == "sh" or fits(printed, shown, machine.home(user))
                if not fitting or any(one in printed for one in _WRONG):
                    wrong.append(
                        f"line {line}: $ {command}\nprinted:\n{printed}\nwhere README has:\n" + "\n".join(shown)
                    )
        terminal.run("orchctl supervisor stop --kill")
    finally:
        terminal.end()
    return wrong
