"""Which conversation a command below an agent's server belongs to."""

from __future__ import annotations

import pytest

from orchctl.supervisor.agents.server import is_own


@pytest.mark.parametrize(
    ("told", "held", "own"),
    [
        ("a", {"a"}, True),
        ("a", {"a", "b"}, True),
        ("b", {"a", "b"}, False),
        (None, {"a"}, True),  # nobody else's
        (None, {"a", "b"}, False),  # nobody knows: a wait is better than a refusal of what may be asked
        ("gone", {"a"}, True),  # of a session that is not on this server
        ("gone", {"a", "b"}, False),
    ],
)
def test_what_it_was_told_decides_and_else_only_a_server_with_one(told: str | None, held: set[str], own: bool) -> None:
    assert is_own("a", told, held) is own
