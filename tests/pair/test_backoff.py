"""How long the dead stay dead: nothing at first, then doubling, up to a limit; much longer where there is no hope."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.pair.zygote import Backoff

PROPERTY = settings(deadline=None, max_examples=100)


def _delays(times: list[float], *, was_ready: bool) -> list[float]:
    backoff = Backoff()
    return [backoff.died(now, was_ready=was_ready) for now in times]


@PROPERTY
@given(st.lists(st.tuples(st.floats(0, 20), st.booleans()), max_size=60))
def test_the_wait_is_short_and_nothing_for_the_first_deaths_until_there_is_no_hope(
    deaths: list[tuple[float, bool]],
) -> None:
    backoff, now, failures = Backoff(), 0.0, 0
    for number, (pause_s, was_ready) in enumerate(deaths):
        now += pause_s
        failures = 0 if was_ready else failures + 1
        delay = backoff.died(now, was_ready=was_ready)
        assert backoff.hopeless == (failures >= 20)
        assert delay == 5 if backoff.hopeless else 0 <= delay <= 0.2
        assert number >= 3 or delay == 0


@PROPERTY
@given(st.lists(st.floats(0, 20), max_size=30))
def test_only_the_deaths_of_the_last_ten_seconds_are_remembered(pauses_s: list[float]) -> None:
    backoff, now, times = Backoff(), 100.0, []
    for pause_s in pauses_s:
        now += pause_s
        times.append(now)
        delay = backoff.died(now, was_ready=True)
        recent = [at for at in times if now - at < 10]
        assert backoff.deaths == recent
        assert (delay > 0) == (len(recent) > 3)


@pytest.mark.parametrize("was_ready", [False, True])
def test_the_wait_doubles_up_to_a_fifth_of_a_second(was_ready: bool) -> None:
    assert _delays([1.0] * 8, was_ready=was_ready) == pytest.approx([0, 0, 0, 0.05, 0.1, 0.2, 0.2, 0.2])


def test_after_twenty_that_never_got_ready_each_wait_is_five_seconds_however_far_apart_they_are() -> None:
    delays = _delays([100.0 * number for number in range(30)], was_ready=False)
    assert delays == [0] * 19 + [5] * 11


def test_one_that_got_ready_brings_hope_back() -> None:
    backoff = Backoff()
    for _ in range(25):
        backoff.died(1.0, was_ready=False)
    assert backoff.hopeless
    assert backoff.died(2.0, was_ready=True) == pytest.approx(0.2)
    assert not backoff.hopeless


def test_ten_quiet_seconds_make_everything_good_again() -> None:
    assert _delays([0, 0, 0, 0, 9.9, 19.9], was_ready=False) == pytest.approx([0, 0, 0, 0.05, 0.1, 0])


def test_a_thousand_deaths_at_once_are_still_only_five_seconds() -> None:
    assert _delays([0.0] * 1000, was_ready=False)[-1] == 5
    assert _delays([0.0] * 1000, was_ready=True)[-1] == pytest.approx(0.2)
