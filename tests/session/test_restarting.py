"""Whether a session starts again: by its policy, by how it ended, never after a kill."""

from __future__ import annotations

import pytest

from orchctl.errors import BadInput
from orchctl.session import run


@pytest.mark.parametrize("policy", ["no", "always", "on-failure", "on-failure:1", "on-failure:20"])
def test_policies_are_these(policy: str) -> None:
    assert run.check(policy) == policy


@pytest.mark.parametrize("policy", ["", "yes", "on-failure:", "on-failure:0", "on-failure:-1", "always:3", "ALWAYS"])
def test_anything_else_is_refused(policy: str) -> None:
    with pytest.raises(BadInput, match="restart policy"):
        run.check(policy)


@pytest.mark.parametrize(
    ("policy", "status", "runs", "expected"),
    [
        ("no", 1, 1, False),
        ("always", 0, 1000, True),
        ("always", None, 1, True),
        ("on-failure", 0, 1, False),
        ("on-failure", 3, 1000, True),
        ("on-failure", None, 1, True),
        ("on-failure:2", 3, 1, True),
        ("on-failure:2", 3, 2, True),
        ("on-failure:2", 3, 3, False),
    ],
)
def test_a_policy_decides_by_the_exit_and_the_number_of_runs(
    policy: str, status: int | None, runs: int, expected: bool
) -> None:
    assert run.again(policy, status, None, runs) is expected


def test_nothing_starts_again_after_a_kill() -> None:
    assert not run.again("always", 137, "asked", 1)
    assert not run.again("on-failure", 137, "timeout", 1)


def test_waiting_grows_and_has_an_end() -> None:
    waits = [run.wait_s(runs) for runs in range(1, 40)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (run.FIRST_S, run.LONGEST_S)
