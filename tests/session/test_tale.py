"""What a session's journal says, as events."""

from __future__ import annotations

from orchctl.session.tale import Tale


def _states(*records: dict[str, object], prompts: bool = True) -> list[tuple[int, str]]:
    tale = Tale(prompts=prompts)
    return [(event["run"], event["state"]) for record in records for event in tale.of_run({"time": 1.0, **record})]


def test_each_run_of_a_conversation_is_told_from_its_beginning() -> None:
    run: list[dict[str, object]] = [
        {"type": "started", "pid": None, "offset": 0},
        {"type": "prompted"},
        {"type": "closed", "offset": 9},
    ]
    told = ("bootstrapping", "live", "closed")
    assert _states(*run, *run) == [*((1, state) for state in told), *((2, state) for state in ("idle", *told))]


def test_the_next_run_of_a_program_begins_when_it_runs() -> None:
    run: list[dict[str, object]] = [
        {"type": "started", "pid": 7, "offset": 0},
        {"type": "exit", "status": 0, "offset": 9, "open": False},
    ]
    assert _states(*run, *run, prompts=False) == [(1, "live"), (1, "closed"), (2, "live"), (2, "closed")]
