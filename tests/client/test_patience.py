"""How long a lost supervisor is waited for."""

from __future__ import annotations

import pytest

from orchctl.client.caller import RECONNECT_S, Patience
from orchctl.errors import SupervisorUnreachable

LOST = SupervisorUnreachable("gone")


def _spend_all(patience: Patience, clock: list[float]) -> float:
    """Until it runs out; how long that was."""
    since = clock[0]
    with pytest.raises(SupervisorUnreachable, match="no supervisor for 30 s: gone"):
        _spend_for_ever(patience, clock)
    return clock[0] - since


def _spend_for_ever(patience: Patience, clock: list[float]) -> None:
    while True:
        clock[0] += patience.next_pause_s(LOST)


def test_it_runs_out_half_a_minute_after_the_loss_and_not_after_it_was_made() -> None:
    clock = [1000.0]
    patience = Patience(lambda: clock[0])
    clock[0] += 3600
    assert RECONNECT_S - 1 <= _spend_all(patience, clock) <= RECONNECT_S


def test_a_supervisor_that_was_there_for_long_begins_it_anew() -> None:
    clock = [1000.0]
    patience = Patience(lambda: clock[0])
    for _ in range(5):
        assert patience.next_pause_s(LOST) == 0.01
        clock[0] += 600
    assert RECONNECT_S - 1 <= _spend_all(patience, clock) <= RECONNECT_S


def test_pauses_become_longer() -> None:
    clock = [0.0]
    patience = Patience(lambda: clock[0])
    assert [patience.next_pause_s(LOST) for _ in range(8)] == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]
