"""What a continuous-integration job changes."""

from __future__ import annotations

import pytest

from orchctl.session import environment


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), ("woodpecker", True), ("", False), ("0", False), ("False", False), (" no ", False)],
)
def test_ci_is_what_is_set_and_true(value: str, expected: bool) -> None:
    assert environment.runs_in({"CI": value}) is expected
    assert environment.runs_in({}) is False


@pytest.mark.parametrize(("configured_s", "expected_s"), [(600.0, 5.0), (1.0, 1.0), (0.0, 0.0)])
def test_a_supervisor_ends_soon_in_a_job_unless_it_is_never_to_end(configured_s: float, expected_s: float) -> None:
    assert environment.idle_exit_s(configured_s, {"CI": "true"}) == expected_s
    assert environment.idle_exit_s(configured_s, {}) == configured_s
