"""The time by which ages are measured, against a wall clock that anybody may set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.supervisor.clock import HOLD_S, TOLERANCE_S, Anchor, trusted

ANCHOR = Anchor("one", 100.0, 1000.0)
DAY_S = 86400.0


def test_a_clock_that_runs_evenly_is_believed() -> None:
    assert trusted(None, "one", 100.0, 1000.0) == (1000.0, ANCHOR)
    assert trusted(ANCHOR, "one", 150.0, 1050.0 + TOLERANCE_S) == (1050.0 + TOLERANCE_S, ANCHOR)


def test_a_jump_ahead_counts_only_once_it_has_lasted() -> None:
    now, held = trusted(ANCHOR, "one", 110.0, 1010.0 + 40 * DAY_S)
    assert (now, held.jumped_s) == (1010.0, 110.0)
    now, still = trusted(held, "one", 110.0 + HOLD_S - 1, 1010.0 + HOLD_S + 40 * DAY_S)
    assert (now, still) == (1010.0 + HOLD_S - 1, held)
    late = 1010.0 + HOLD_S + 40 * DAY_S
    assert trusted(held, "one", 110.0 + HOLD_S, late) == (late, Anchor("one", 110.0 + HOLD_S, late))


def test_a_jump_that_is_taken_back_is_forgotten() -> None:
    _, held = trusted(ANCHOR, "one", 110.0, 1010.0 + 40 * DAY_S)
    assert trusted(held, "one", 120.0, 1020.0) == (1020.0, ANCHOR)


def test_a_clock_that_goes_back_is_believed_at_once() -> None:
    assert trusted(ANCHOR, "one", 110.0, 10.0) == (10.0, Anchor("one", 110.0, 10.0))


def test_another_boot_begins_anew() -> None:
    assert trusted(ANCHOR, "two", 5.0, 9e9) == (9e9, Anchor("two", 5.0, 9e9))


_STEPS = st.lists(st.tuples(st.floats(0, 1000), st.floats(-1e9, 1e9)), max_size=30)


@given(_STEPS)
def test_within_the_hold_no_setting_of_the_clock_makes_anything_older_than_it_is(
    steps: list[tuple[float, float]],
) -> None:
    """However the clock is set, the trusted time of a day never gains more than what has passed and the tolerance."""
    anchor, boot_s, base = ANCHOR, 100.0, ANCHOR.real_s
    for passed_s, offset_s in steps:
        boot_s += passed_s
        now, anchor = trusted(anchor, "one", boot_s, base + boot_s - 100.0 + offset_s)
        assert now <= base + (boot_s - 100.0) + TOLERANCE_S * (len(steps) + 1)
