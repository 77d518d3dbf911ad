"""A run folded from its journal: the same records give the same run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import Internal
from orchctl.session.model import EndReason, State
from orchctl.session.run import Record, Run

PROPERTY = settings(deadline=None, max_examples=100)
STARTED: Record = {"type": "started", "time": 1.5, "pid": 42}
KILL: Record = {"type": "kill", "time": 2.0}
LOST: Record = {"type": "lost", "time": 3.5, "offset": 70}

KNOWN = {"started", "failed", "resized", "input-ended", "kill", "survivors", "exit", "lost"}
unknown = st.fixed_dictionaries({"time": st.floats()}, optional={"type": st.text().filter(lambda t: t not in KNOWN)})


def exited(status: int, *, still_open: bool = False) -> Record:
    return {"type": "exit", "time": 3.5, "status": status, "offset": 70, "open": still_open}


def folded(*records: Record, prompts: bool = False) -> Run:
    run = Run(prompts=prompts)
    for record in records:
        run.apply(record)
    return run


@PROPERTY
@given(st.lists(unknown, min_size=1, max_size=5), st.data())
def test_records_from_the_future_are_passed_over_wherever_they_come(news: list[Record], data: st.DataObject) -> None:
    story = [STARTED, {"type": "resized", "cols": 100, "rows": 30}, KILL, exited(-15, still_open=True)]
    mixed = list(story)
    for one in news:
        mixed.insert(data.draw(st.integers(0, len(mixed))), one)
    assert folded(*mixed) == folded(*story)


@PROPERTY
@given(st.integers(-64, 255))
def test_a_program_ends_with_an_exit_code_or_by_a_signal_never_both(status: int) -> None:
    run = folded(STARTED, exited(status))
    assert run.state is State.CLOSED
    if status >= 0:
        assert (run.exit_code, run.signal, run.end_reason) == (status, None, EndReason.EXITED)
    else:
        assert (run.exit_code, run.signal, run.end_reason) == (None, -status, EndReason.SIGNALED)


@PROPERTY
@given(st.lists(st.sampled_from([STARTED, KILL, exited(0), exited(-9), LOST]), max_size=6))
def test_no_story_ends_a_run_twice(story: list[Record]) -> None:
    run = Run()
    for record in story:
        was_closed, before = run.state is State.CLOSED, run.end_reason
        try:
            run.apply(record)
        except Internal:
            assert record is not KILL
        assert not was_closed or run.end_reason is before or record is STARTED
        assert (run.end_reason is None) == (run.state is not State.CLOSED)


def test_a_run_nobody_has_told_of_is_idle() -> None:
    run = folded()
    assert run == Run(state=State.IDLE)
    assert not run.output_open
    assert run.kill_reason is None


def test_a_plain_command_is_live_as_soon_as_it_has_started() -> None:
    assert folded(STARTED) == Run(number=1, state=State.LIVE, started_at=1.5, pid=42)


def test_a_start_after_the_end_is_a_new_run_that_knows_nothing_of_the_last() -> None:
    again: Record = {"type": "started", "time": 9.0, "pid": 43, "offset": 70}
    run = folded(STARTED, KILL, exited(-9), again, prompts=True)
    assert (run.number, run.start_offset, run.state) == (2, 70, State.BOOTSTRAPPING)
    assert (run.kill_reason, run.end_reason, run.signal, run.ended_at) == (None, None, None, None)


def test_a_shell_is_live_from_its_first_prompt_on() -> None:
    run = folded(STARTED, prompts=True)
    assert (run.state, run.prompted_once) == (State.BOOTSTRAPPING, False)
    run.prompted()
    assert (run.state, run.prompted_once) == (State.LIVE, True)
    run.prompted()
    assert run.state is State.LIVE


def test_a_prompt_that_is_seen_before_the_start_is_told_counts_all_the_same() -> None:
    run = Run(prompts=True)  # output and journal are two files, read one after the other
    run.prompted()
    run.apply(STARTED)
    assert run.state is State.LIVE


@PROPERTY
@given(st.lists(st.sampled_from([STARTED, KILL, exited(0), exited(-9), LOST, None]), max_size=6), st.booleans())
def test_a_prompt_starts_nothing_and_ends_nothing(story: list[Record | None], prompts: bool) -> None:
    run = Run(prompts=prompts)
    for record in story:
        before = run.state
        try:
            run.prompted() if record is None else run.apply(record)
        except Internal:
            assert record is not None
        assert record is not None or (before, run.state) in (
            (before, before),
            (State.BOOTSTRAPPING, State.LIVE),
        )


def test_a_shell_that_ends_before_its_first_prompt_has_ended() -> None:
    run = folded(STARTED, exited(2), prompts=True)
    assert (run.state, run.exit_code, run.prompted_once) == (State.CLOSED, 2, False)
    run.prompted()
    assert run.state is State.CLOSED


def test_the_end_says_when_and_at_which_byte() -> None:
    run = folded(STARTED, exited(0, still_open=True))
    assert (run.ended_at, run.final_offset, run.output_open) == (3.5, 70, True)


def test_what_we_asked_for_wins_over_how_the_program_took_it() -> None:
    for status in (0, 3, -9):
        assert folded(STARTED, KILL, exited(status)).end_reason is EndReason.KILLED


def test_a_kill_after_the_end_changes_nothing() -> None:
    assert folded(STARTED, exited(0), KILL) == folded(STARTED, exited(0))


def test_a_kill_once_asked_for_stays_asked_for() -> None:
    assert folded(STARTED, KILL, KILL).kill_reason == "asked"
    assert folded(STARTED, KILL, exited(0), KILL).kill_reason == "asked"


@pytest.mark.parametrize("before", [(), (STARTED,), (STARTED, KILL)])
def test_a_lost_run_gets_no_invented_exit_code(before: tuple[Record, ...]) -> None:
    run = folded(*before, LOST)
    assert (run.state, run.end_reason) == (State.CLOSED, EndReason.KILLED if KILL in before else EndReason.LOST)
    assert (run.exit_code, run.signal) == (None, None)
    assert (run.ended_at, run.final_offset) == (3.5, 70)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("timeout", EndReason.TIMEOUT), ("idle-timeout", EndReason.IDLE_TIMEOUT), ("asked", EndReason.KILLED)],
)
def test_a_lost_run_keeps_the_reason_it_was_ended_for(reason: str, expected: EndReason) -> None:
    run = folded(STARTED, {"type": "kill", "time": 3.0, "reason": reason}, LOST)
    assert (run.end_reason, run.exit_code, run.signal) == (expected, None, None)


def test_a_status_noted_before_everybody_died_is_the_end() -> None:
    noted: Record = {"type": "status", "time": 3.0, "status": 9}
    run = folded(STARTED, noted)
    assert (run.state, run.exit_code) == (folded(STARTED).state, None)  # until the output is drained, nothing is over
    lost = folded(STARTED, noted, LOST)
    assert (lost.state, lost.end_reason, lost.exit_code) == (State.CLOSED, EndReason.EXITED, 9)
    assert (lost.ended_at, lost.final_offset) == (3.5, 70)
    again = folded(STARTED, noted, LOST, STARTED, LOST)
    assert (again.end_reason, again.exit_code) == (EndReason.LOST, None)


def test_a_reader_may_find_a_run_lost_itself() -> None:
    run = folded(STARTED)
    run.lose(3.5, 70)
    assert run == folded(STARTED, LOST)


def test_a_command_that_could_not_start_says_at_which_step() -> None:
    run = folded({"type": "failed", "step": "exec", "errno": 2})
    assert run.failure == ("exec", 2)
    assert run.state is State.IDLE


def test_the_last_size_counts() -> None:
    sizes: list[Record] = [{"type": "resized", "cols": cols, "rows": 24} for cols in (80, 132)]
    run = folded(STARTED, *sizes)
    assert (run.cols, run.rows) == (132, 24)


def test_processes_that_would_not_go_are_named() -> None:
    assert folded(STARTED, {"type": "survivors", "pids": [7, 8]}).survivors == (7, 8)
    assert folded(STARTED, {"type": "unproven", "pids": [9]}).unproven == (9,)


@pytest.mark.parametrize("records", [(LOST, exited(0)), (STARTED, STARTED), (STARTED, LOST, exited(0))])
def test_a_story_that_cannot_be_is_a_bug(records: tuple[Record, ...]) -> None:
    with pytest.raises(Internal):
        folded(*records)


def test_an_end_whose_start_is_damaged_is_an_end() -> None:
    run = folded(exited(3))
    assert (run.state, run.exit_code) == (State.CLOSED, 3)


def test_the_end_of_input_is_of_one_run() -> None:
    run = folded(STARTED, {"type": "input-ended", "time": 2.0, "once": "ab"})
    assert run.input_ended == "ab"
    for record in (exited(0), STARTED):
        run.apply(record)
    assert run.input_ended is None
