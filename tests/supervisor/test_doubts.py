"""When the mark of a prompt may be a command's own."""

from __future__ import annotations

import pytest

from orchctl.protocol.messages import ExecCommand
from orchctl.session.command import Command
from orchctl.shell.execution import End
from orchctl.supervisor.exec.follower import _may_be_by_hand
from orchctl.supervisor.exec.running import Running


@pytest.mark.parametrize(
    ("completion", "exit_code", "signalled", "doubtful"),
    [
        ("prompt", 130, True, False),  # a further interrupt has the prompt drawn again
        ("prompt", 130, False, True),
        ("prompt", 3, True, True),
        ("marks", 3, False, False),
    ],
)
def test_a_prompt_after_an_interrupt_of_ours_is_the_shells(
    completion: str, exit_code: int, signalled: bool, doubtful: bool
) -> None:
    running = Running(ExecCommand(session="s", exec_id="e"), Command(session="s", id="e", number=1, text="x"))
    running.signalled = signalled
    assert _may_be_by_hand(running, End(exit_code, completion, 0, 1, ran=True)) is doubtful
