"""What the next text is to find, as the marks before it tell."""

from __future__ import annotations

import pytest

from orchctl.shell.execution import End, Execution
from orchctl.shell.marks import MOST_STATUSES, Aftermath, Mark, at_prompt, statuses


def marks(*told: str) -> list[Mark]:
    """As they follow each other, ten bytes each."""
    words = [one.split(";") for one in told]
    return [Mark(kind, tuple(args), 10 * at, 10 * at + 10) for at, (kind, *args) in enumerate(words)]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["D;id;3;4;word;1 0 3 3", "P;9;3;h;;;3 3"], Aftermath(3, (1, 0, 3), "word")),
        (["D;id;3;9;word;1 0 3 3", "P;9;3;h;;;3 3"], Aftermath(3, (1, 0, 3), "")),
        (["D;id;3;4;word;1 0 3 3", "P;9;0;h;;;0 0"], Aftermath(0, (0,), at_prompt=True)),
        (["D;id;3;4;word;1 0 3 3", "P;9;3;h;;;3 3", "P;9;3;h;;;3 3"], Aftermath(3, (1, 0, 3), "word")),
        (["D;id;3;4;word;1 0 3 3", "P;9;3;h;;;3 3", "P;10;3;h;;;0 3 3"], Aftermath(3, (0, 3), at_prompt=True)),
        (["D;id;4", "P;9;4;h"], Aftermath(4)),
        (["P;9;1"], Aftermath(1, at_prompt=True)),
        (["P;9;1;h;=;;1 1;4;word"], Aftermath(1, (1,), "word", at_prompt=True)),
        (["D;id;3;;;1 3 3", "P;9;3;h;3;id;3 3;4;word"], Aftermath(3, (1, 3), "word")),
        (["P;9;"], Aftermath()),
    ],
)
def test_a_prompt_and_the_end_before_it_tell_what_is_left(told: list[str], expected: Aftermath) -> None:
    assert at_prompt(marks(*told)) == expected


def test_a_list_that_is_longer_than_a_mark_can_hold_is_not_told() -> None:
    whole = " ".join(["0"] * MOST_STATUSES)
    assert statuses(marks(f"D;id;0;;;{whole} 0")[0]) == (0,) * MOST_STATUSES
    assert statuses(marks(f"D;id;0;;;{whole} 0 0")[0]) is None
    assert statuses(marks("D;id;0;;;1 x 0")[0]) is None
    assert statuses(marks("D;id;0")[0]) is None


def test_a_prompt_begins_where_one_that_was_not_there_before_says_so() -> None:
    execution = Execution("id", 7)
    ends = [execution.take(mark) for mark in marks("B;id", "C;id", "A;;7;0", "A;;8;130", "P;9;130")]
    assert ends == [None, None, None, None, End(130, "prompt", 20, 30, ran=True)]


def test_a_prompt_that_sees_the_status_of_the_command_tells_it_and_no_other_mark_does() -> None:
    execution = Execution("id", 7)
    told = marks("B;id", "C;id;=...", "D;id;9", "A;;8;", "A;;9;", "P;10;0;h;=;;1 0 0")
    ends = [execution.take(mark) for mark in told]
    assert ends == [None] * 5 + [End(0, "prompt", 20, 30, ran=True, pipestatus=(1, 0))]


def test_a_command_that_never_started_has_no_status_that_a_prompt_could_see() -> None:
    execution = Execution("id", 7)
    assert [execution.take(mark) for mark in marks("B;id", "P;10;0;h;=;;0 0")][1] == End(
        130, "prompt", 10, 10, ran=False
    )
