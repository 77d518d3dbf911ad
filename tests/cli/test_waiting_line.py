"""The line of a waiting exec, in words."""

from __future__ import annotations

import pytest

from orchctl.cli.interrupts import told
from orchctl.session.command import CommandWait


@pytest.mark.parametrize(
    ("wait", "line"),
    [
        (
            CommandWait(what="command", number=5, text="make test", running_s=43.2, ahead=1),
            "waiting for command 5 ('make test', running 43 s)",
        ),
        (
            CommandWait(what="command", number=5, text="make test", running_s=43.2, ahead=3),
            "waiting for command 5 ('make test', running 43 s) and 2 more",
        ),
        (CommandWait(what="command", number=6, text="ls", ahead=1), "waiting for command 6 ('ls', not begun)"),
        (CommandWait(what="command", number=7, running_s=1.0, ahead=1), "waiting for command 7 (running 1 s)"),
        (
            CommandWait(what="command", number=8, text="a\x1b[2Jb\nc", running_s=2.0, ahead=1),
            "waiting for command 8 ('a\\x1b[2Jb\\nc', running 2 s)",
        ),
        (CommandWait(what="prompt", reason="vim is in front"), "waiting for the prompt (vim is in front)"),
        (CommandWait(what="prompt"), "waiting for the prompt"),
        (CommandWait(what="lease", reason="user holds it"), "waiting for the lease (user holds it)"),
    ],
)
def test_it_says_what_is_waited_for(wait: CommandWait, line: str) -> None:
    assert told(wait, 80) == line


def test_a_narrow_terminal_shortens_the_text_of_the_command_first() -> None:
    wait = CommandWait(what="command", number=5, text="x" * 300, running_s=43.0, ahead=1)
    assert told(wait, 79).endswith("x…', running 43 s)")
    assert len(told(wait, 79)) <= 79
    assert told(wait, 20) == f"waiting for command 5 ('{'x' * 9}…', running 43 s)"
    assert len(told(wait, 500)) < 120
