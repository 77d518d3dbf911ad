"""Which sessions a selection means: every condition holds, and what says nothing chooses nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.errors import BadInput
from orchctl.session.model import Selection, Session
from orchctl.session.selection import LABELS_LIMIT, check_labels, choose, chooses

MANAGERS = ["user", "user:a", "a", "a:b", "a:bc", "a:b:c"]
sessions = st.builds(
    Session,
    id=st.uuids().map(str),
    managed_by=st.sampled_from(MANAGERS),
    labels=st.dictionaries(st.sampled_from("kl"), st.sampled_from("12"), max_size=2),
    repo=st.sampled_from([None, "/r", "/s"]),
)
selections = st.builds(
    Selection,
    managers=st.lists(st.sampled_from(MANAGERS), max_size=2).map(tuple),
    labels=st.dictionaries(st.sampled_from("kl"), st.sampled_from("12"), max_size=2),
    repo=st.sampled_from([None, "/r"]),
    everything=st.booleans(),
)


@given(st.lists(sessions), selections)
def test_all_conditions_hold_for_whoever_is_chosen_and_for_nobody_else(known: list[Session], asked: Selection) -> None:
    def holds(one: Session) -> bool:
        below = not asked.managers or any(
            one.managed_by.split(":")[: len(name.split(":"))] == name.split(":") for name in asked.managers
        )
        return asked.open and below and asked.repo in (None, one.repo) and asked.labels.items() <= one.labels.items()

    assert choose(asked, known) == [one for one in known if holds(one)]


def test_a_selection_that_says_nothing_chooses_nobody() -> None:
    assert Selection().empty
    assert not chooses(Selection(), Session(id="x"))
    assert chooses(Selection(everything=True), Session(id="x"))


@pytest.mark.parametrize(
    ("selection", "code"),
    [
        (Selection(managers=("a::b",)), "bad-manager"),
        (Selection(labels={"": "x"}), "bad-label"),
        (Selection(labels={"k": "a\nb"}), "bad-label"),
        (Selection(labels={"k": "x" * 257}), "bad-label"),
        (Selection(sessions=("db",), labels={"k": "v"}), "bad-selection"),
        (Selection(sessions=("db",), everything=True), "bad-selection"),
    ],
)
def test_what_can_never_be_meant_is_refused(selection: Selection, code: str) -> None:
    with pytest.raises(BadInput) as caught:
        choose(selection, [])
    assert caught.value.code == code


def test_a_session_has_so_many_labels_and_no_more() -> None:
    check_labels({f"k{number}": "v" for number in range(LABELS_LIMIT)})
    with pytest.raises(BadInput):
        check_labels({f"k{number}": "v" for number in range(LABELS_LIMIT + 1)})


def test_one_session_named_alone_is_single() -> None:
    assert Selection(sessions=("db",)).single
    assert not Selection(sessions=("db", "web")).single
    assert not Selection(managers=("a",)).single
