"""The table of a run's life: what is in it is allowed, and nothing else is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import Internal
from orchctl.session.model import EndReason, State
from orchctl.session.run import TRANSITIONS, Input, advance, end_reason

PAIRS = list(itertools.product(State, Input))


@pytest.mark.parametrize(("state", "happened"), PAIRS)
def test_a_pair_in_the_table_moves_the_run_and_any_other_is_a_bug(state: State, happened: Input) -> None:
    if (state, happened) in TRANSITIONS:
        assert advance(state, happened) is TRANSITIONS[state, happened]
    else:
        with pytest.raises(Internal, match=f"{state.value}.*{happened.value}"):
            advance(state, happened)


@pytest.mark.parametrize("happened", Input)
def test_a_closed_run_can_be_told_nothing_more(happened: Input) -> None:
    with pytest.raises(Internal):
        advance(State.CLOSED, happened)


@pytest.mark.parametrize("state", [state for state in State if state is not State.CLOSED])
def test_a_run_that_is_not_over_can_always_be_lost(state: State) -> None:
    assert advance(state, Input.LOST) is State.CLOSED


@settings(deadline=None)
@given(st.lists(st.sampled_from(Input), max_size=8))
def test_a_run_only_ever_moves_forward(story: list[Input]) -> None:
    order = list(State)
    state = State.IDLE
    for happened in story:
        try:
            after = advance(state, happened)
        except Internal:
            continue
        assert order.index(after) > order.index(state)
        state = after


def test_the_usual_life_ends_closed() -> None:
    state = State.IDLE
    for happened in (Input.STARTED, Input.READY, Input.CHILD_ENDED):
        state = advance(state, happened)
    assert state is State.CLOSED


def test_a_program_may_end_before_it_was_ready() -> None:
    assert advance(State.BOOTSTRAPPING, Input.CHILD_ENDED) is State.CLOSED


@pytest.mark.parametrize("signal", [None, 9, 15])
def test_a_run_we_were_asked_to_kill_was_killed_however_the_program_took_it(signal: int | None) -> None:
    assert end_reason(signal=signal, kill_reason="asked") is EndReason.KILLED


def test_a_run_nobody_asked_to_kill_was_signaled_or_exited() -> None:
    assert end_reason(signal=11, kill_reason=None) is EndReason.SIGNALED
    assert end_reason(signal=None, kill_reason=None) is EndReason.EXITED


def test_a_limit_that_ended_it_is_the_reason() -> None:
    assert end_reason(signal=15, kill_reason="timeout") is EndReason.TIMEOUT
    assert end_reason(signal=None, kill_reason="idle-timeout") is EndReason.IDLE_TIMEOUT
    assert end_reason(signal=None, kill_reason="bound") is EndReason.KILLED
