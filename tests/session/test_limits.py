"""Limits: who is counted, who is asked, and what a session may have at most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.session import limits, manager
from orchctl.session.limits import IDLE, TIME, Limits, Rule, Use

AGENT = "orchestrator:coordinator-001"


def live(*managers: str) -> list[Use]:
    return [Use(name, True) for name in managers]


def set_to(default: Rule | None = None, total: int | None = None, **managers: Rule) -> Limits:
    rules = {name.replace("__", ":").replace("_", "-"): rule for name, rule in managers.items()}
    return Limits(total=total, default=default if default is not None else Limits().default, managers=rules)


def test_by_default_a_manager_has_two_hundred_with_all_below_it() -> None:
    uses = live(AGENT, f"{AGENT}:a") * 100
    broken = limits.refusal(Limits(), f"{AGENT}:b", uses)
    assert broken is not None
    assert (broken.kind, broken.owner, broken.value, broken.used, broken.by_default) == (
        "sessions",
        AGENT,
        200,
        200,
        True,
    )
    assert limits.refusal(Limits(), f"{AGENT}:b", uses[1:]) is None
    assert limits.refusal(Limits(), "orchestrator:coordinator-0012", uses) is None
    assert limits.refusal(Limits(), "user", uses) is None


def test_agents_do_not_share_one_default_because_their_names_begin_alike() -> None:
    uses = [use for number in range(10) for use in live(f"orchestrator:a-{number}") * 100]
    assert limits.refusal(Limits(), "orchestrator:a-10", uses) is None
    assert limits.refusal(set_to(orchestrator={"sessions": 1000}), "orchestrator:a-10", uses) is not None
    assert limits.refusal(Limits(), "orchestrator", uses) is not None


def test_a_manager_that_was_given_more_passes_it_on() -> None:
    given_more = set_to(user={"sessions": 500})
    assert limits.refusal(given_more, "user:run-1:t", live("user:run-1:t") * 499) is None
    assert limits.refusal(given_more, "user:run-1:t", live("user:run-1:t") * 500) is not None


def test_none_below_can_give_more_than_there_is_above() -> None:
    broken = limits.refusal(set_to(user={"sessions": 2}, user__ci={"sessions": 9}), "user:ci", live("user", "user:ci"))
    assert broken is not None
    assert (broken.owner, broken.value) == ("user", 2)
    narrow = limits.refusal(set_to(user__ci={"sessions": 1}), "user:ci:x", live("user:ci"))
    assert narrow is not None
    assert narrow.owner == "user:ci"
    assert limits.refusal(set_to(user__ci={"sessions": 1}), "user:other", live("user:ci")) is None


def test_none_is_no_limit_and_nought_is_no_session() -> None:
    assert limits.refusal(set_to(user={"sessions": None}), "user", live("user") * 5000) is None
    assert limits.refusal(set_to({"sessions": None}), "user", live("user") * 5000) is None
    broken = limits.refusal(set_to(user={"sessions": 0}), "user:a", [])
    assert broken is not None
    assert broken.used == 0


def test_all_together_are_limited_first() -> None:
    broken = limits.refusal(set_to(total=3), "user", live("a", "b", "c"))
    assert broken is not None
    assert (broken.kind, broken.owner, broken.used) == ("total", None, 3)
    assert "all managers" in broken.message
    assert "limits.total" in broken.message


def test_output_counts_for_the_living_and_the_dead() -> None:
    uses = [Use("user", True, 60), Use("user:a", False, 40), Use("other", False, 1000)]
    assert limits.refusal(set_to(user={"log": 101}), "user", uses) is None
    broken = limits.refusal(set_to(user={"log": 100}), "user:a:b", uses)
    assert broken is not None
    assert (broken.kind, broken.owner, broken.used) == ("log", "user", 100)
    assert limits.counts_output(set_to(user={"log": 1}), "user:x")
    assert limits.counts_output(set_to({"log": 1}), "a:b")
    assert not limits.counts_output(set_to(user={"log": 1}), "other")
    assert not limits.counts_output(Limits(), "user")


def test_the_message_names_the_limit_its_value_and_its_owner() -> None:
    broken = limits.refusal(set_to(orchestrator__coordinator_001={"sessions": 2}), AGENT, live(AGENT, AGENT))
    assert broken is not None
    assert broken.message.startswith(
        f"the limit 'sessions' of 2 live sessions for {AGENT} and below is reached: 2 are there"
    )
    assert f"orchctl config set limits.{AGENT}.sessions N" in broken.message
    output = limits.refusal(set_to(user={"log": 1 << 20}), "user", [Use("user", False, 3 << 19)])
    assert output is not None
    assert "the limit 'log' of 1.0M of output kept for user and below is reached: 1.5M" in output.message


@pytest.mark.parametrize(
    ("rules", "who", "expected"),
    [
        ({}, "user", (None, None)),
        ({"user": {TIME: 60.0}}, "user:a", (60.0, "user")),
        ({"user": {TIME: 60.0}, "user:a": {TIME: 30.0}}, "user:a", (30.0, "user:a")),
        ({"user": {TIME: 60.0}, "user:a": {TIME: 90.0}}, "user:a", (60.0, "user")),
        ({"user": {TIME: None}, "user:a": {TIME: 90.0}}, "user:a", (90.0, "user:a")),
        ({"user": {TIME: 60.0}}, "userx", (None, None)),
        ({"user": {IDLE: 60.0}}, "user", (None, None)),
    ],
)
def test_the_shortest_time_of_all_above_holds(
    rules: dict[str, Rule], who: str, expected: tuple[float | None, str | None]
) -> None:
    assert limits.longest(Limits(managers=rules), who, TIME) == expected


def test_the_default_time_holds_where_no_rule_speaks_of_it() -> None:
    hour = Limits(
        default={TIME: 3600.0}, managers={"user": {TIME: 7200.0}, "user:free": {TIME: None}, "x": {IDLE: 1.0}}
    )
    assert limits.longest(hour, "a", TIME) == (3600.0, None)
    assert limits.longest(hour, "x:y", TIME) == (3600.0, None)
    assert limits.longest(hour, "user:free", TIME) == (7200.0, "user")
    assert limits.longest(Limits(default={TIME: 1.0}, managers={"user": {TIME: None}}), "user", TIME) == (None, None)


@pytest.mark.parametrize(
    ("asked", "limit", "got"),
    [(None, None, None), (5.0, None, 5.0), (None, 9.0, 9.0), (20.0, 9.0, 9.0), (5.0, 9.0, 5.0)],
)
def test_what_is_asked_for_is_had_up_to_the_limit(asked: float | None, limit: float | None, got: float | None) -> None:
    assert limits.bounded(asked, limit) == got


names = st.lists(st.sampled_from(["a", "b", "orchestrator", "user"]), min_size=1, max_size=4).map(":".join)
rules = st.dictionaries(
    names, st.fixed_dictionaries({}, optional={"sessions": st.none() | st.integers(0, 4)}), max_size=4
)


@given(st.lists(names, max_size=30), rules, st.none() | st.integers(0, 6), st.none() | st.integers(0, 10))
def test_no_limit_is_ever_passed_whatever_the_order(
    asked: list[str], managers: dict[str, Rule], default: int | None, total: int | None
) -> None:
    set_now = Limits(total=total, default={"sessions": default}, managers=managers)
    there: list[str] = []
    for name in asked:
        broken = limits.refusal(set_now, name, live(*there))
        if broken is None:
            there.append(name)
        else:
            assert broken.value is not None
            assert broken.used >= broken.value
            assert broken.owner is None or manager.selects(broken.owner, name)
    assert total is None or len(there) <= total
    for owner, rule in managers.items():
        limit = rule.get("sessions")
        assert limit is None or sum(manager.selects(owner, name) for name in there) <= limit
