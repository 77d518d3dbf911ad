"""A session as everybody sees it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.plain import from_plain, to_plain
from orchctl.session.model import EndReason, Output, Session, State

PROPERTY = settings(deadline=None, max_examples=100)


@PROPERTY
@given(st.integers(0, 255))
def test_an_exit_code_is_the_exit_status(code: int) -> None:
    assert Session(id="a", exit_code=code).exit_status == code


@PROPERTY
@given(st.integers(1, 64))
def test_a_signal_makes_the_exit_status_that_a_shell_would_give(signal: int) -> None:
    assert Session(id="a", signal=signal).exit_status == 128 + signal


def test_the_exit_status_is_unknown_until_somebody_knows_it() -> None:
    assert Session(id="a").exit_status is None
    assert Session(id="a", state=State.CLOSED, end_reason=EndReason.LOST).exit_status is None


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("reason", [None, *EndReason])
def test_a_session_comes_back_from_json_as_it_was(state: State, reason: EndReason | None) -> None:
    session = Session(
        id="0badcafe", command=("sh", "-c", "exit"), state=state, end_reason=reason, output=Output(next_offset=7)
    )
    assert from_plain(Session, json.loads(json.dumps(to_plain(session)))) == session


def test_the_words_for_states_and_ends_never_change() -> None:
    assert [state.value for state in State] == ["idle", "bootstrapping", "live", "closed"]
    reasons = ["exited", "signaled", "killed", "timeout", "idle-timeout", "lost", "failed"]
    assert [reason.value for reason in EndReason] == reasons


def test_the_fields_of_a_session_never_lose_their_names() -> None:
    plain = to_plain(Session(id="a"))
    assert set(plain) >= {
        "id", "name", "backend", "managed_by", "cols", "rows", "cwd", "command", "repo", "created_at", "started_at",
        "ended_at", "run", "state", "is_alive", "pid", "exit_code", "signal", "end_reason", "output_open", "output",
    }  # fmt: skip
    assert set(plain["output"]) >= {"first_offset", "next_offset", "kept_bytes", "dropped_bytes"}
