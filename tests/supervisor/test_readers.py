"""Who reads a log: the mover is told where the last one is, neither too often nor too late."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.request import Readers

PROPERTY = settings(deadline=None, max_examples=150)
STEP = 100

moves = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 4 * STEP)), max_size=20)


class Told(PairLink):
    """A pair that only remembers what it was told."""

    def __init__(self) -> None:
        self.offsets: list[int | None] = []

    def hold(self, offset: int | None) -> None:
        self.offsets.append(offset)


@pytest.fixture
def told() -> Told:
    return Told()


@PROPERTY
@given(moves)
def test_what_anybody_still_reads_is_held_and_less_than_a_step_more(done: list[tuple[str, int | None]]) -> None:
    told, at = Told(), dict[str, int]()
    readers = Readers(told, STEP)
    for who, offset in done:
        if offset is None:
            at.pop(who, None)
            readers.gone(who)
        else:
            at[who] = offset
            readers.at(who, offset)
        held = told.offsets[-1] if told.offsets else None
        if at:
            assert held is not None
            assert held <= min(at.values()) < held + STEP
        else:
            assert held is None


@PROPERTY
@given(moves)
def test_nothing_is_told_twice(done: list[tuple[str, int | None]]) -> None:
    told = Told()
    readers = Readers(told, STEP)
    for who, offset in done:
        if offset is None:
            readers.gone(who)
        else:
            readers.at(who, offset)
    assert all(before != after for before, after in zip([None, *told.offsets], told.offsets, strict=False))


def test_one_that_reads_on_is_told_of_once_a_step(told: Told) -> None:
    readers = Readers(told, STEP)
    for offset in range(0, 10 * STEP, STEP // 10):
        readers.at("reader", offset)
    assert told.offsets == list(range(0, 10 * STEP, STEP))


def test_one_that_begins_further_back_is_told_of_at_once(told: Told) -> None:
    readers = Readers(told, STEP)
    readers.at("one", 50)
    readers.at("other", 49)
    assert told.offsets == [50, 49]


def test_the_last_one_counts_and_once_it_is_gone_the_next(told: Told) -> None:
    readers = Readers(told, STEP)
    readers.at("slow", 0)
    readers.at("quick", 5 * STEP)
    assert told.offsets == [0]
    readers.gone("slow")
    readers.gone("quick")
    assert told.offsets == [0, 5 * STEP, None]


def test_one_that_never_read_is_not_told_of(told: Told) -> None:
    Readers(told, STEP).gone("stranger")
    assert told.offsets == []
