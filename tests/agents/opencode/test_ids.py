"""Ids that sort among the server's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchctl.agents.opencode.records import before, message_id, part_id, time_after

NOW_MS = 1794784794028
SERVERS = "msg_1e18295ac001t3zW5gA2j6uKHm"  # made in that millisecond by a real server


def test_ours_comes_just_before_what_the_server_makes_in_the_same_millisecond() -> None:
    ours = message_id(NOW_MS, "once")
    assert len(ours) == len(SERVERS)
    assert message_id(NOW_MS - 1, "once") < ours < SERVERS < message_id(NOW_MS + 1, "once")


@given(now_ms=st.integers(0, 2**42), seed=st.text())
def test_the_same_time_and_seed_give_the_same_id(now_ms: int, seed: str) -> None:
    assert message_id(now_ms, seed) == message_id(now_ms, seed)
    assert message_id(now_ms, seed)[3:] != part_id(now_ms, seed)[3:]
    assert message_id(now_ms, seed + "x") != message_id(now_ms, seed)


def test_ids_of_all_kinds_compare_by_time_and_strange_ones_not_at_all() -> None:
    assert before("per_1e182961a0012JmLSnFQI7jsRv", message_id(NOW_MS + 1000, "x"))
    assert not before("per_1e182961a0012JmLSnFQI7jsRv", SERVERS)
    assert not before(SERVERS, SERVERS)
    assert not before("msg_custom", SERVERS)
    assert not before(SERVERS, "msg_custom")


def test_a_prompt_comes_after_the_newest_message_also_when_the_clock_was_set_back() -> None:
    assert time_after(NOW_MS, None) == NOW_MS
    assert time_after(NOW_MS, "msg_custom") == NOW_MS
    assert time_after(NOW_MS + 5, SERVERS) == NOW_MS + 5
    for earlier_ms in (0, 1, 3_600_000):
        ours = message_id(time_after(NOW_MS - earlier_ms, SERVERS), "once")
        assert before(SERVERS, ours)
