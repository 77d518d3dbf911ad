"""The schedule alone: what a seed deals, how far faults stay apart, and where a session may be lost."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.faults import Striker
from tests.chaos.schedule import (
    APART_S,
    BOTH,
    KINDS,
    PAUSE_S,
    QUIET_S,
    SLOTS,
    Fault,
    Landed,
    earliest,
    faults,
    kind_of_slot,
    least,
    may_be_lost,
)
from tests.chaos.test_chaos import SECONDS
from tests.chaos.uses import KINDS as LIVES

kinds = st.sampled_from(sorted(KINDS))
seeds = st.integers(0, 1 << 32)


def _landed(kind: str, at: float = 10.0, session: str = "s", ended_at: float | None = 10.0) -> Landed:
    return Landed(Fault(0, 0.0, kind, 0), at, session if KINDS[kind].strikes == "pair" else "", (), ended_at)


@given(seeds, st.floats(6, 3600))
def test_a_seed_always_deals_the_same_faults(seed: int, seconds: float) -> None:
    assert faults(seed, seconds) == faults(seed, seconds)


@given(seeds)
def test_another_seed_deals_others(seed: int) -> None:
    assert faults(seed, 120) != faults(seed + 1, 120)


@given(seeds, st.floats(6, 600))
def test_faults_come_in_order_numbered_and_leave_the_end_quiet(seed: int, seconds: float) -> None:
    dealt = faults(seed, seconds)
    assert [one.number for one in dealt] == list(range(len(dealt)))
    for one, other in itertools.pairwise(dealt):
        assert PAUSE_S[0] - 0.01 <= other.at_s - one.at_s <= PAUSE_S[1] + 0.01
    assert all(one.at_s < seconds - QUIET_S + 0.01 for one in dealt)
    for one in dealt:
        assert KINDS[one.kind].hold_s[0] - 0.01 <= one.hold_s <= KINDS[one.kind].hold_s[1] + 0.01


@given(seeds)
def test_each_kind_comes_as_often_as_it_weighs(seed: int) -> None:
    deck = sum(kind.weight for kind in KINDS.values())
    dealt = faults(seed, 2 * deck * PAUSE_S[1] + QUIET_S + 2, tuple(KINDS))[: 2 * deck]
    assert Counter(one.kind for one in dealt) == {name: 2 * kind.weight for name, kind in KINDS.items()}


def test_most_of_what_is_planned_must_land() -> None:
    planned = [Fault(number, 0.0, "kill-mover", 0) for number in range(9)] + [Fault(9, 0.0, "kill-pair", 0)]
    assert least(planned, 60.0) == {"kill-mover": 6, "kill-pair": 1}


def test_of_each_kind_some_must_land_whatever_was_planned() -> None:
    asked = ("kill-mover", "kill-pair")
    assert least([], 10.0, asked) == {"kill-mover": 1, "kill-pair": 1}
    assert least([Fault(0, 0.0, "kill-mover", 0)], 120.0, asked) == {"kill-mover": 10, "kill-pair": 2}


def test_a_run_of_the_suite_deals_every_kind() -> None:
    for seed in range(20):
        planned = faults(seed, SECONDS)
        counts = Counter(one.kind for one in planned)
        assert all(counts[kind] >= due for kind, due in least(planned, SECONDS, tuple(KINDS)).items())


@given(kinds, kinds)
def test_two_faults_of_one_pair_are_a_second_apart(first: str, second: str) -> None:
    if {KINDS[first].strikes, KINDS[second].strikes} == {"pair"}:
        assert earliest(second, "s", [_landed(first)]) == 10.0 + APART_S
        assert earliest(second, "s", [_landed(first, ended_at=None)]) == float("inf")


def test_faults_of_different_pairs_need_not_wait() -> None:
    assert earliest("kill-mover", "other", [_landed("kill-keeper")]) == 0.0


@given(st.sampled_from(["kill-keeper", "stop-keeper"]), st.sampled_from(["kill-zygote", "stop-zygote"]))
def test_keeper_and_zygote_are_struck_a_second_apart_in_either_order(keeper: str, zygote: str) -> None:
    assert earliest(zygote, "", [_landed(keeper)]) == 10.0 + APART_S
    assert earliest(keeper, "any", [_landed(zygote)]) == 10.0 + APART_S


def test_the_supervisor_may_be_killed_with_any_process_of_a_pair() -> None:
    for kind in ("kill-keeper", "kill-mover", "stop-mover"):
        assert earliest("kill-supervisor", "", [_landed(kind)]) == 0.0


def test_supervisors_are_not_killed_in_a_crash_loop() -> None:
    assert earliest("kill-supervisor", "", [_landed("kill-supervisor")]) > 10.0 + 3.0


@given(st.lists(kinds))
def test_a_session_may_be_lost_only_where_two_were_struck_at_once(struck: list[str]) -> None:
    landed = [_landed(kind) for kind in struck]
    assert may_be_lost("s", landed) == bool(set(struck) & set(BOTH))
    assert not may_be_lost("other", landed)


def test_a_fault_overlaps_what_was_under_way_while_it_lasted() -> None:
    one = dataclasses.replace(_landed("stop-mover"), ended_at=12.0)
    assert one.overlaps(11.0, 11.5)
    assert one.overlaps(5.0, 10.0)
    assert not one.overlaps(5.0, 9.9)
    assert not one.overlaps(12.1, 13.0)
    assert one.overlaps(12.1, 13.0, after_s=0.5)


def test_there_is_a_life_for_each_slot_and_a_blow_for_each_kind() -> None:
    assert {kind_of_slot(slot) for slot in range(SLOTS)} == set(LIVES)
    assert set(KINDS) == set(Striker.BLOWS)
