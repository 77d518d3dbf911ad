"""What retention leaves alone: the lowest offset that anybody reads, for a while after its supervisor has died."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.log.writer import HOLD_ON_S, Holds

PROPERTY = settings(deadline=None, max_examples=100)


def state(holds: Holds) -> tuple[int | None, float | None]:
    return holds.needed, holds.expires_at


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 100)), max_size=12))
def test_the_lowest_of_the_last_words_of_all_is_needed(words: list[tuple[int, int | None]]) -> None:
    holds, last = Holds(0.0), dict[int, int | None]()
    for who, offset in words:
        holds.take(who, offset)
        last[who] = offset
        assert holds.needed == min((held for held in last.values() if held is not None), default=None)
        assert holds.expires_at is None


def test_a_new_mover_keeps_everything_until_somebody_says_who_reads() -> None:
    holds = Holds(5.0)
    assert state(holds) == (0, 5.0 + HOLD_ON_S)
    holds.take(1, None)
    assert state(holds) == (None, None)
    assert not holds.expire(now=1e9)
    silent = Holds(5.0)
    assert silent.expire(now=5.0 + HOLD_ON_S)
    assert state(silent) == (None, None)


def test_what_a_supervisor_held_is_held_on_for_a_while_after_its_end() -> None:
    holds = Holds(0.0)
    holds.take(1, 50)
    holds.leave(1, now=100)
    assert state(holds) == (50, 100 + HOLD_ON_S)
    assert not holds.expire(now=99.9 + HOLD_ON_S)
    assert holds.needed == 50
    assert holds.expire(now=100 + HOLD_ON_S)
    assert state(holds) == (None, None)
    assert not holds.expire(now=101 + HOLD_ON_S)


def test_the_word_of_the_next_supervisor_replaces_what_the_last_one_left() -> None:
    for word in (80, None):
        holds = Holds(0.0)
        holds.take(1, 50)
        holds.leave(1, now=100)
        holds.take(2, word)
        assert state(holds) == (word, None)


def test_what_was_left_counts_beside_what_others_still_hold() -> None:
    for mine, other in ((50, 80), (80, 50)):
        holds = Holds(0.0)
        holds.take(1, mine)
        holds.take(2, other)
        holds.leave(1, now=100)
        assert holds.needed == 50
        assert holds.expire(now=100 + HOLD_ON_S)
        assert holds.needed == other


def test_one_that_held_nothing_leaves_nothing() -> None:
    holds = Holds(0.0)
    holds.take(7, None)
    holds.leave(7, now=100)
    assert holds.expires_at is None
    holds.take(1, 50)
    holds.leave(1, now=100)
    holds.leave(7, now=120)  # nor does it touch what another left
    assert state(holds) == (50, 100 + HOLD_ON_S)


def test_one_that_reads_no_more_leaves_nothing() -> None:
    holds = Holds(0.0)
    holds.take(1, 50)
    holds.take(1, None)
    holds.leave(1, now=100)
    assert state(holds) == (None, None)
