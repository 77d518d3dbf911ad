"""Credit: never more under way than was granted, and nothing stuck while the reader goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.errors import BadInput, Internal
from orchctl.session.stream import Credit, grant

sizes = st.integers(1, 1 << 40)


@given(sizes, st.lists(st.tuples(st.booleans(), st.integers(0, 1 << 41)), max_size=40))
def test_what_is_under_way_is_what_was_sent_less_what_was_taken_and_within_what_was_granted(
    granted: int, steps: list[tuple[bool, int]]
) -> None:
    credit, sent, taken = grant(granted), 0, 0
    for sends, wanted in steps:
        if sends:
            count = min(wanted, credit.left_bytes)
            credit, sent = credit.send(count), sent + count
        elif 1 <= wanted <= sent - taken:
            credit, taken = credit.ack(wanted), taken + wanted
        assert credit.unacked_bytes == sent - taken
        assert 0 <= credit.unacked_bytes <= granted
        assert credit.left_bytes == granted - (sent - taken)


@given(sizes, st.data())
def test_a_reader_that_takes_all_it_gets_gets_all_there_is(granted: int, data: st.DataObject) -> None:
    total = data.draw(st.integers(0, 50 * granted))
    credit, sent = grant(granted), 0
    while sent < total:
        count = data.draw(st.integers(1, min(credit.left_bytes, total - sent))) if total <= 50 else credit.left_bytes
        credit, sent = credit.send(min(count, total - sent)), sent + min(count, total - sent)
        credit = credit.ack(credit.unacked_bytes)
    assert credit == grant(granted)


@given(sizes, sizes)
def test_what_was_never_sent_cannot_be_acknowledged(granted: int, more: int) -> None:
    for credit in (grant(granted), grant(granted).send(granted)):
        with pytest.raises(BadInput) as caught:
            credit.ack(credit.unacked_bytes + more)
        assert caught.value.code == "bad-ack"


@given(sizes, st.integers(max_value=0))
def test_nothing_and_less_can_be_neither_granted_nor_acknowledged(granted: int, count: int) -> None:
    for attempt, code in ((grant, "bad-credit"), (grant(granted).send(1).ack, "bad-ack")):
        with pytest.raises(BadInput) as caught:
            attempt(count)
        assert caught.value.code == code


@given(sizes, sizes)
def test_sending_more_than_is_left_is_a_mistake_of_ours(granted: int, more: int) -> None:
    with pytest.raises(Internal):
        Credit(granted_bytes=granted).send(granted + more)
