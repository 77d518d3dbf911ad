"""Ending a command that is past its time: every step in its turn, none before its time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.shell.execution import GIVE_UP_S, Escalation, Step

ORDER = [Step.INTERRUPT, Step.TERMINATE, Step.KILL, Step.GIVE_UP]


def _until_given_up(escalation: Escalation, now: float, pauses: list[float]) -> list[tuple[float, Step]]:
    taken = list[tuple[float, Step]]()
    for pause in [*pauses, *[0.1] * 1000]:
        step = escalation.due(now)
        if step is not Step.NOTHING:
            taken.append((now, step))
        if step is Step.GIVE_UP:
            return taken
        now += pause
    raise AssertionError(taken)


@given(st.floats(0.05, 5), st.lists(st.floats(0.001, 3), max_size=30))
def test_every_step_is_taken_in_order_and_none_before_its_time(kill_after_s: float, pauses: list[float]) -> None:
    taken = _until_given_up(Escalation(100.0, kill_after_s), 99.0, pauses)
    steps = [step for _, step in taken]
    assert sorted(set(steps), key=steps.index) == ORDER
    earliest = dict(zip(ORDER, (0, kill_after_s, 2 * kill_after_s, 2 * kill_after_s + GIVE_UP_S), strict=True))
    assert all(at >= 100.0 + earliest[step] for at, step in taken)


def test_nothing_is_due_without_a_time_and_beginning_gives_one() -> None:
    escalation = Escalation(None, 2.0)
    assert (escalation.wait_s(50.0), escalation.due(50.0), escalation.begun) == (None, Step.NOTHING, False)
    escalation.begin(60.0)
    assert (escalation.wait_s(59.0), escalation.due(60.0), escalation.begun) == (1.0, Step.INTERRUPT, True)


def test_beginning_again_changes_nothing_and_beginning_earlier_counts() -> None:
    escalation = Escalation(70.0, 2.0)
    escalation.begin(60.0)
    escalation.begin(65.0)
    assert escalation.begins_at == 60.0


def test_a_program_is_interrupted_twice_and_then_given_the_rest_of_its_time() -> None:
    escalation = Escalation(100.0, 2.0)
    assert escalation.due(100.0) is Step.INTERRUPT
    assert escalation.due(100.1) is Step.NOTHING
    assert escalation.due(100.3) is Step.INTERRUPT
    assert escalation.due(101.9) is Step.NOTHING
    assert escalation.due(102.0) is Step.TERMINATE
