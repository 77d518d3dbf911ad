"""How long the dead stay dead: nothing at first, then doubling, up to a limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.core.backoff import Backoff

PROPERTY = settings(deadline=None, max_examples=100)


def _delays(times: list[float], *, was_ready: bool) -> list[float]:
    backoff = Backoff()
    return [backoff.died(now, was_ready=was_ready) for now in times]


@PROPERTY
@given(st.lists(st.tuples(st.floats(0, 20), st.booleans()), max_size=30))
def test_the_wait_is_never_longer_than_its_cap_and_nothing_for_the_first_deaths(
    deaths: list[tuple[float, bool]],
) -> None:
    backoff, now = Backoff(), 0.0
    for number, (pause_s, was_ready) in enumerate(deaths):
        now += pause_s
        delay = backoff.died(now, was_ready=was_ready)
        assert 0 <= delay <= (0.2 if was_ready else 5)
        assert number >= 3 or delay == 0


@PROPERTY
@given(st.lists(st.floats(0, 20), max_size=30))
def test_only_the_deaths_of_the_last_ten_seconds_are_remembered(pauses_s: list[float]) -> None:
    backoff, now, times = Backoff(), 100.0, []
    for pause_s in pauses_s:
        now += pause_s
        times.append(now)
        delay = backoff.died(now, was_ready=False)
        recent = [at for at in times if now - at < 10]
        assert backoff.deaths == recent
        assert (delay > 0) == (len(recent) > 3)


def test_one_that_never_got_ready_waits_twice_as_long_each_time_up_to_five_seconds() -> None:
    expected = [0, 0, 0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
    assert _delays([1.0] * 13, was_ready=False) == pytest.approx(expected)


def test_one_that_was_ready_waits_no_longer_than_a_fifth_of_a_second() -> None:
    assert _delays([1.0] * 8, was_ready=True) == pytest.approx([0, 0, 0, 0.05, 0.1, 0.2, 0.2, 0.2])


def test_ten_quiet_seconds_make_everything_good_again() -> None:
    assert _delays([0, 0, 0, 0, 9.9, 19.9], was_ready=False) == pytest.approx([0, 0, 0, 0.05, 0.1, 0])


def test_a_thousand_deaths_at_once_are_still_only_five_seconds() -> None:
    assert _delays([0.0] * 1000, was_ready=False)[-1] == 5
