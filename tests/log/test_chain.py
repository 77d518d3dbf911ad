"""The chain: whatever is changed, taken out, put in or moved, the lines behind it tell."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.log import chain, journal
from orchctl.log.chain import BAD_LINE, BROKEN_CHAIN, MISSING_EVENTS, ZERO, Follower
from orchctl.log.journal import Record

PROPERTY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

events = st.dictionaries(st.sampled_from(["type", "session", "text", "seq", "prev"]), st.text(max_size=8), max_size=4)
batches = st.lists(events, min_size=2, max_size=6)


def chained(written: list[Record], *, seq: int = chain.FIRST, prev: str = ZERO) -> list[bytes]:
    lines = []
    for number, event in enumerate(written, seq):
        _, line, prev = chain.link(event, seq=number, prev=prev, now=100.0)
        lines.append(line.removesuffix(b"\n"))
    return lines


def kinds(lines: list[bytes], *, seq: int = chain.FIRST, head: str | None = ZERO) -> list[str]:
    follower = Follower(seq, head)
    return [problem[0] for line in lines if (problem := follower.follow(line))]


@PROPERTY
@given(batches, st.integers(1, 1 << 50))
def test_what_was_chained_is_right_from_wherever_one_begins(written: list[Record], seq: int) -> None:
    lines = chained(written, seq=seq)
    assert kinds(lines, seq=seq) == []
    assert kinds(lines[1:], seq=seq + 1, head=None) == []


@PROPERTY
@given(batches, st.data())
def test_a_changed_event_with_a_right_crc_is_told_by_the_next_one(written: list[Record], data: st.DataObject) -> None:
    lines = chained(written)
    place = data.draw(st.integers(0, len(lines) - 2))
    event = chain.event_of(lines[place])
    assert event is not None
    lines[place] = journal.encode(event | {"who": "nobody"}).removesuffix(b"\n")
    assert kinds(lines) == [BROKEN_CHAIN]


@PROPERTY
@given(batches, st.data())
def test_events_that_were_taken_out_are_missing(written: list[Record], data: st.DataObject) -> None:
    lines = chained(written)
    first = data.draw(st.integers(0, len(lines) - 2))
    end = data.draw(st.integers(first + 1, len(lines) - 1))
    assert kinds(lines[:first] + lines[end:]) == [MISSING_EVENTS]


@PROPERTY
@given(batches, batches, st.data())
def test_an_event_that_was_exchanged_for_another_is_told(
    written: list[Record], others: list[Record], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(written) - 1))
    lines = chained(written)[:place] + chained([{"type": "other"}, *others], seq=place + 1)
    assert kinds(lines) == [BROKEN_CHAIN]


@PROPERTY
@given(batches, st.data())
def test_events_in_another_order_are_told(written: list[Record], data: st.DataObject) -> None:
    lines = chained(written)
    order = data.draw(st.permutations(range(len(lines))).filter(lambda order: order != sorted(order)))
    assert kinds([lines[index] for index in order]) != []


@PROPERTY
@given(batches, st.lists(st.sampled_from([b"", b"garbage", b"00000000 {}"]), min_size=1, max_size=3), st.data())
def test_bad_lines_are_told_and_nothing_else_whether_they_replace_events_or_stand_between(
    written: list[Record], bad: list[bytes], data: st.DataObject
) -> None:
    lines = chained(written)
    place = data.draw(st.integers(0, len(lines) - 1))
    replaced = data.draw(st.integers(0, min(len(bad), len(lines) - place)))
    assert kinds(lines[:place] + bad + lines[place + replaced :]) == [BAD_LINE] * len(bad)


def test_more_events_are_missing_than_there_are_bad_lines() -> None:
    lines = chained([{}] * 6)
    follower = Follower(chain.FIRST, ZERO)
    told = [follower.follow(line) for line in [*lines[:2], b"garbage", lines[4]]]
    assert told[2:] == [(BAD_LINE, "this is no event"), (MISSING_EVENTS, "events 3 to 4 are not there")]
    assert follower.seq == 6


def test_each_break_is_told_once() -> None:
    lines = chained([{}] * 8)
    assert kinds([*lines[:2], lines[1], *lines[2:4], lines[6], lines[7]]) == [BROKEN_CHAIN, MISSING_EVENTS]


def test_a_first_event_of_all_carries_zeros() -> None:
    lines = chained([{}, {}])
    assert b'"prev":"00000000000000000000000000000000"' in lines[0]
    assert kinds(chained([{}], prev=chain.digest(b"x"))) == [BROKEN_CHAIN]


def test_a_hash_is_of_the_json_text_alone() -> None:
    event, line, head = chain.link({"type": "t"}, seq=7, prev=ZERO, now=1.5)
    assert line[9:-1] == b'{"seq":7,"time":1.5,"type":"t","prev":"%s"}' % ZERO.encode()
    assert head == chain.digest(line[9:-1])
    assert event == {"seq": 7, "time": 1.5, "type": "t", "prev": ZERO}
    assert chain.digest(b"") == "cae66941d9efbd404e4d88758ea67670"


def test_an_event_keeps_its_own_time_and_nothing_else_of_the_chain() -> None:
    event, _, _ = chain.link({"time": 3, "seq": 1, "prev": "mine"}, seq=7, prev=ZERO, now=1.5)
    assert event == {"seq": 7, "time": 3, "prev": ZERO}


@pytest.mark.parametrize("change", [{"seq": True}, {"seq": "1"}, {"seq": 1.0}, {"time": None}, {"prev": None}])
def test_a_record_is_no_event_without_number_time_and_hash(change: Record) -> None:
    event = {"seq": 1, "time": 2, "prev": ZERO}
    assert chain.event_of(journal.encode(event)[:-1]) == event
    assert chain.event_of(journal.encode(event | change)[:-1]) is None


def test_a_checkpoint_of_a_harness_is_not_the_journals() -> None:
    assert chain.is_checkpoint({"type": "checkpoint", "told": {}})
    assert not chain.is_checkpoint({"type": "checkpoint", "session": "s", "told": [1, 2]})
    assert not chain.is_checkpoint({"type": "turn", "told": {}})


def test_segments_are_named_by_their_first_event_and_other_files_are_none() -> None:
    assert chain.name(17) == "00000000000000000017.jnl"
    seqs = [1, 9, 10, 10**19]
    others = ["17.jnl", "0000000000000000001x.jnl", "00000000000000000001.seg", "00000000000000000002.jnl.new"]
    for files in itertools.permutations([*map(chain.name, seqs), others[0]]):
        assert chain.starts(files) == seqs
    assert chain.starts(["٠" * 20 + ".jnl", *others]) == []
