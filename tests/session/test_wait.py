"""What the kernel and the marks say, and what that means; and what can be waited for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from orchctl.errors import BadInput
from orchctl.session import wait
from orchctl.session.model import Waiting
from orchctl.session.wait import ECHO, ICANON, Sight, decide

KERNEL = ("reads", "polls", "watches", "no", "unknown")
COOKED, SECRET, RAW = ICANON | ECHO, ICANON, 0


@pytest.mark.parametrize(
    ("kernel", "own", "local", "prompt", "expected"),
    [
        ("reads", True, COOKED, False, Waiting.YES),
        ("reads", False, COOKED, False, Waiting.YES),
        ("reads", True, SECRET, False, Waiting.PASSWORD),
        ("polls", False, SECRET, False, Waiting.PASSWORD),
        ("reads", True, RAW, False, Waiting.YES),
        ("reads", True, None, False, Waiting.YES),
        ("polls", True, RAW, False, Waiting.YES),
        ("watches", True, RAW, False, Waiting.UNKNOWN),
        ("no", False, COOKED, False, Waiting.NO),
        ("no", False, None, False, Waiting.NO),
        ("no", False, RAW, False, Waiting.UNKNOWN),
        ("unknown", False, COOKED, False, Waiting.UNKNOWN),
        ("polls", True, RAW, True, Waiting.PROMPT),
        ("reads", True, SECRET, True, Waiting.PROMPT),
        ("watches", True, RAW, True, Waiting.PROMPT),
        ("unknown", False, COOKED, True, Waiting.PROMPT),
        ("no", True, COOKED, True, Waiting.NO),
        ("reads", False, COOKED, True, Waiting.YES),
        ("watches", False, RAW, True, Waiting.UNKNOWN),
    ],
)
def test_what_is_seen_means_one_thing(
    kernel: str, own: bool, local: int | None, prompt: bool, expected: Waiting
) -> None:
    assert decide(Sight(kernel, own, local), prompt=prompt) is expected


@given(some.sampled_from(KERNEL), some.booleans(), some.none() | some.integers(0, 1 << 16), some.booleans())
def test_nothing_is_claimed_that_was_not_seen(kernel: str, own: bool, local: int | None, prompt: bool) -> None:
    told = decide(Sight(kernel, own, local), prompt=prompt)
    if told in (Waiting.YES, Waiting.PASSWORD):
        assert kernel in ("reads", "polls")
    if told is Waiting.NO:
        assert kernel == "no"
    if told is Waiting.PROMPT:
        assert prompt
        assert kernel != "no"


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ([], "bad-condition"),
        (["nonsense"], "bad-condition"),
        (["exit", "prompt=1"], "bad-condition"),
        (["output=("], "bad-pattern"),
        (["output=a{99999999999999999999}"], "bad-pattern"),
        (["state=dead"], "bad-state"),
        (["state="], "bad-state"),
    ],
)
def test_what_cannot_be_waited_for_is_refused(conditions: list[str], code: str) -> None:
    with pytest.raises(BadInput) as refused:
        wait.check(conditions)
    assert refused.value.code == code


def test_everything_that_can_be_waited_for_is_taken() -> None:
    wait.check(["exit", "command", "prompt", "input", "quiet", "state=live", "state=closed", "output=a=b|^c$"])


def test_a_pattern_is_for_lines_and_for_any_bytes() -> None:
    assert wait.compile_pattern("^b$").search(b"a\nb\nc")
    assert wait.compile_pattern("\udcff").search(b"\xff")


def test_looks_become_more_seldom_up_to_a_limit() -> None:
    waits = [wait.FIRST_LOOK_S]
    while waits[-1] < wait.SLOWEST_LOOK_S:
        waits.append(wait.next_look_s(waits[-1]))
    assert wait.next_look_s(0.0) == wait.FIRST_LOOK_S
    assert waits == sorted(set(waits))
    assert wait.next_look_s(waits[-1]) == wait.SLOWEST_LOOK_S == 0.5
