"""The oracle alone: it sees each mistake that a run could make, and is content where there is none."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos import oracle
from tests.chaos.oracle import End, Told
from tests.chaos.schedule import Fault, Landed

data = st.binary(min_size=1, max_size=200)
EXITED = End("exited", 7)


def _landed(kind: str, session: str = "s", at: float = 10.0) -> Landed:
    return Landed(Fault(0, 0.0, kind, 0), at, session, (), at)


@given(data)
def test_a_log_that_is_what_was_written_is_right(wrote: bytes) -> None:
    assert oracle.stream(wrote, wrote, whole=True) == []


@given(data, st.data())
def test_a_byte_lost_doubled_or_changed_is_seen(wrote: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(wrote) - 1))
    lost, doubled = wrote[:at] + wrote[at + 1 :], wrote[: at + 1] + wrote[at:]
    changed = wrote[:at] + bytes([wrote[at] ^ 1]) + wrote[at + 1 :]
    for log in (lost, doubled, changed):
        assert oracle.stream(log, wrote, whole=True)
        assert oracle.received(log, wrote, in_doubt=False)
    for log in (doubled, changed):
        assert oracle.received(log, wrote, in_doubt=True)


@given(data, st.data())
def test_of_a_program_that_was_ended_the_log_is_a_beginning_and_no_shorter_than_it_says(
    wrote: bytes, draw: st.DataObject
) -> None:
    end = draw.draw(st.integers(0, len(wrote)))
    assert oracle.stream(wrote[:end], wrote, whole=False, at_least=end) == []
    assert oracle.stream(wrote[:end], wrote, whole=False, at_least=end + 1)


def test_where_typed_bytes_came_from_is_said() -> None:
    sent = bytes(range(200))
    (complaint,) = oracle.received(sent[:150] + sent[40:], sent, in_doubt=False)
    assert "the same up to 150; what follows was typed at 40" in complaint


@pytest.mark.parametrize(
    ("ran", "answered", "failed", "right"),
    [
        (["a", "b"], ["a"], ["b"], True),
        (["a"], ["a"], ["b"], True),
        (["a", "a"], ["a"], [], False),
        ([], ["a"], [], False),
        (["b", "b"], [], ["b"], False),
        (["c"], [], [], False),
    ],
)
def test_commands_ran_as_often_as_they_may(ran: list[str], answered: list[str], failed: list[str], right: bool) -> None:
    assert (oracle.runs(ran, answered, failed) == []) == right


def test_an_end_is_what_the_program_decided() -> None:
    assert oracle.end("s", EXITED, [EXITED], []) == []
    for told in (End("exited", 8), End("killed"), End("lost"), End(None)):
        assert oracle.end("s", told, [EXITED], [_landed("kill-keeper"), _landed("kill-zygote", "")])


@pytest.mark.parametrize("kind", ["kill-pair", "kill-keeper-and-zygote"])
def test_a_session_is_lost_only_where_both_were_struck_and_never_with_a_code(kind: str) -> None:
    assert oracle.end("s", End("lost"), [EXITED], [_landed(kind)]) == []
    assert oracle.end("s", End("lost", 7), [EXITED], [_landed(kind)])
    assert oracle.end("s", End("lost"), [EXITED], [_landed(kind, "other")])


def test_an_error_is_excused_only_by_a_fault_that_struck_then_and_there() -> None:
    def excused(code: str, kind: str, *, what: str = "exec", session: str = "s", at: float = 10.0) -> bool:
        return oracle.is_excused("s", code, what, 9.0, 11.0, [_landed(kind, session, at)])

    assert excused("failed", "no-descriptors", session="")
    assert not excused("failed", "no-descriptors", session="", at=12.0)
    assert not excused("failed", "no-descriptors", session="", at=5.0)
    assert excused("failed", "hide-folder")
    assert not excused("failed", "hide-folder", session="other")
    assert not any(excused("failed", kind) for kind in ("kill-mover", "kill-keeper", "kill-supervisor", "stop-mover"))
    assert excused("maybe-typed", "kill-mover", what="send")
    assert not excused("maybe-typed", "kill-mover", what="wait")
    assert not excused("maybe-typed", "kill-mover", what="send", session="other")
    assert not excused("maybe-typed", "kill-supervisor", what="send")


@pytest.mark.parametrize("what", sorted(oracle.LIMITS_S))
def test_an_answer_after_its_own_limit_is_seen(what: str) -> None:
    limit_s = oracle.LIMITS_S[what]
    assert limit_s < oracle.ANSWER_S
    assert oracle.late(what, limit_s) == []
    assert oracle.late(what, limit_s + 1)
    assert oracle.late(what, limit_s + 1, held_s=2.0) == []


def test_a_request_is_held_up_only_while_a_fault_lasts_and_kill_by_no_stopped_mover() -> None:
    stopped = dataclasses.replace(_landed("stop-mover-long", at=10.0), ended_at=40.0)
    assert oracle.held_s("s", "send", 20.0, 30.0, [stopped]) == 10.0
    assert oracle.held_s("s", "send", 35.0, 50.0, [stopped]) == 5.0
    assert oracle.held_s("s", "send", 20.0, 30.0, [dataclasses.replace(stopped, ended_at=None)]) == 10.0
    assert oracle.held_s("s", "send", 45.0, 50.0, [stopped]) == 0.0
    assert oracle.held_s("other", "send", 20.0, 30.0, [stopped]) == 0.0
    assert oracle.held_s("s", "kill", 20.0, 30.0, [stopped]) == 0.0
    assert oracle.held_s("s", "send", 20.0, 30.0, [_landed("kill-mover", at=25.0)]) == 0.0


DUE = Told(b"1\n2\n", 5)


@pytest.mark.parametrize(
    "told", [DUE, Told(b"", None, "error"), Told(b"1\n", None, "error"), Told(b"1\n2\n", None, "error")]
)
def test_a_command_of_a_lost_session_may_lack_its_code_and_its_last_bytes(told: Told) -> None:
    assert oracle.command("a", told, DUE, lost=True) == []
    assert (oracle.command("a", told, DUE, lost=False) == []) == (told == DUE)


@pytest.mark.parametrize(
    "told",
    [
        Told(b"1\n2\n", 6),
        Told(b"1\n", 5),
        Told(b"2\n", None, "error"),
        Told(b"1\n2\n1\n", None, "error"),
        Told(b"1\n2\n", None, "exited"),
    ],
)
def test_nothing_that_is_said_of_a_command_may_be_wrong(told: Told) -> None:
    assert oracle.command("a", told, DUE, lost=True)
    assert oracle.command("a", told, DUE, lost=False)


def test_more_than_a_few_doubts_are_seen() -> None:
    kills = [_landed("kill-mover")] * 100
    assert oracle.doubts(5, kills) == []
    assert oracle.doubts(6, kills)
    assert oracle.doubts(2, []) == []
    assert oracle.doubts(3, [_landed("kill-supervisor")] * 100)
