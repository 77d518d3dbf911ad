"""Who may type: any order of requests keeps the rules, and each rule by example."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput, Conflict, NotPermitted, OrchctlError
from orchctl.session import lease
from orchctl.session.lease import GRIPS, IDLE_S, TTL_LIMIT_S, Input
from orchctl.session.lease_state import GRACE_S, Attached, Change, Grip, Identity, Rights, key_of, restored, to_record

PROPERTY = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
ANN, BOB, CYD = (Identity(key=key_of(f"{digit}" * 32), who=f"user:{digit}") for digit in "abc")
EVERYBODY = [ANN, BOB, CYD]
Request = Callable[[Rights, float], Change]


def there(*identities: Identity, read_only: bool = False) -> Rights:
    return Rights(attached=tuple(Attached(by=one, read_only=read_only) for one in identities))


def held_by(rights: Rights) -> str | None:
    return None if rights.held is None else rights.held.by.who


def reasons(change: Change) -> list[str]:
    return [move.reason for move in change.moves]


def requests() -> st.SearchStrategy[tuple[str, Request]]:
    who, other = st.sampled_from(EVERYBODY), st.sampled_from(EVERYBODY)
    yes = st.booleans()
    ttl = st.none() | st.floats(0.1, 100)
    return st.one_of(
        st.just(("settle", lease.settle)),
        st.builds(
            lambda one, reads: ("enter", lambda r, now: lease.enter(r, Attached(by=one, read_only=reads), now)),
            who,
            yes,
        ),
        st.builds(lambda one: ("leave", lambda r, now: lease.leave(r, one.key, now)), who),
        st.builds(lambda one, s, f: ("take", lambda r, now: lease.take(r, one, now, ttl_s=s, force=f)), who, ttl, yes),
        st.builds(lambda one, keys: ("admit", lambda r, now: lease.admit(r, one.key, now, keys=keys)), who, yes),
        st.builds(lambda one: ("release", lambda r, now: lease.release(r, one.key, now)), who),
        st.builds(
            lambda one, to, back: ("give", lambda r, now: lease.transfer(r, one.key, to.name, now, give_back=back)),
            who,
            other,
            yes,
        ),
    )


@PROPERTY
@given(st.lists(st.tuples(requests(), st.floats(0, 40)), max_size=30))
def test_any_order_of_requests_keeps_the_rules(steps: list[tuple[tuple[str, Request], float]]) -> None:
    rights, now, kept = Rights(), 0.0, [to_record(Rights())]
    for (_, ask), passed_s in steps:
        now += passed_s
        try:
            change = ask(rights, now)
        except OrchctlError:
            continue
        after = change.rights
        assert after.held is None or after.held.until > now
        assert after.epoch == rights.epoch + sum(move.after is not None for move in change.moves)
        assert after.held is None or after.held.epoch == after.epoch
        if after.held is not None:
            givers = [claim.by for claim in after.held.claims]
            assert len(set(givers)) == len(givers)
            assert after.held.by not in givers
        if rights.held != after.held and (rights.held is None or after.held is None or rights.held.by != after.held.by):
            assert change.keep
        rights = after
        if change.keep:
            kept.append(json.loads(json.dumps(to_record(rights))))
    again = restored(kept, now)
    assert again.epoch == rights.epoch
    assert held_by(again) == held_by(rights)
    assert again.attached == ()


def test_there_is_a_move_for_whatever_a_holder_does() -> None:
    assert set(GRIPS) == {(grip, happened) for grip in Grip for happened in Input}


def test_the_first_key_of_an_attached_viewer_takes_a_free_lease() -> None:
    change = lease.admit(there(ANN), ANN.key, 0, keys=True)
    assert (held_by(change.rights), change.rights.input_epoch, change.keep, reasons(change)) == (
        ANN.who,
        1,
        True,
        ["taken"],
    )


def test_an_operation_needs_no_lease_and_takes_none() -> None:
    for key, keys in (("", True), (ANN.key, False), (BOB.key, True)):
        change = lease.admit(there(ANN), key, 0, keys=keys)
        assert (change.rights.held, change.keep) == (None, False)


def test_a_viewer_that_stops_typing_lets_go_and_each_key_puts_that_off() -> None:
    rights = lease.admit(there(ANN), ANN.key, 0, keys=True).rights
    rights = lease.admit(rights, ANN.key, IDLE_S - 1, keys=True).rights
    assert held_by(lease.settle(rights, 2 * IDLE_S - 1.1).rights) == ANN.who
    over = lease.settle(rights, 2 * IDLE_S - 1)
    assert (over.rights.held, reasons(over), over.rights.epoch) == (None, ["idle"], 1)


def test_whoever_does_not_hold_it_is_told_who_does() -> None:
    at = Identity(key=ANN.key, who="user:ann", terminal="/dev/pts/3")
    rights = lease.take(there(at, BOB), at, 0).rights
    attempts: list[Callable[[], Change]] = [
        lambda: lease.admit(rights, BOB.key, 1, keys=True),
        lambda: lease.admit(rights, "", 1, keys=False),
        lambda: lease.take(rights, BOB, 1),
    ]
    for refused in attempts:
        with pytest.raises(Conflict, match=rf"user:ann at /dev/pts/3 \(viewer {at.name}\).*--force") as error:
            refused()
        assert error.value.code == "lease-held"


def test_what_somebody_else_asks_for_after_its_end_is_granted_before_any_clock_has_struck() -> None:
    rights = lease.take(there(BOB), ANN, 0, ttl_s=5).rights
    change = lease.admit(rights, BOB.key, 5, keys=True)
    assert (held_by(change.rights), reasons(change), change.rights.epoch) == (BOB.who, ["expired", "taken"], 2)


def test_a_lease_whose_time_is_over_is_taken_by_somebody_else_before_any_clock_has_struck() -> None:
    change = lease.take(lease.take(Rights(), ANN, 0, ttl_s=5).rights, BOB, 5, ttl_s=5)
    assert (held_by(change.rights), reasons(change), change.rights.epoch) == (BOB.who, ["expired", "taken"], 2)


def test_force_takes_it_and_ends_all_claims() -> None:
    lent = lease.transfer(lease.take(there(ANN, BOB, CYD), ANN, 0).rights, ANN.key, BOB.who, 0, give_back=True).rights
    change = lease.take(lent, CYD, 1, force=True)
    assert (held_by(change.rights), reasons(change)) == (CYD.who, ["forced"])
    assert lease.release(change.rights, CYD.key, 2).rights.held is None


def test_a_token_lasts_longer_when_it_is_taken_again_and_keeps_its_epoch() -> None:
    rights = lease.take(Rights(), ANN, 0, ttl_s=5).rights
    change = lease.take(rights, ANN, 4, ttl_s=5)
    assert (change.keep, change.moves, change.rights.epoch) == (True, (), 1)
    assert held_by(lease.settle(change.rights, 8.9).rights) == ANN.who
    assert reasons(lease.settle(change.rights, 9)) == ["expired"]


def test_an_attached_holder_takes_it_again_without_a_new_grant() -> None:
    rights = lease.take(there(ANN), ANN, 0).rights
    assert lease.take(rights, ANN, 20).rights.held == lease.admit(rights, ANN.key, 20, keys=True).rights.held


def test_a_holder_whose_connection_is_lost_may_come_back_within_the_time_of_grace() -> None:
    rights = lease.take(there(ANN, BOB), ANN, 0).rights
    away = lease.leave(rights, ANN.key, 5).rights
    assert away.held is not None
    assert (away.held.grip, away.held.until) == (Grip.AWAY, 5 + GRACE_S)
    back = lease.enter(away, Attached(by=ANN), 5 + GRACE_S - 1)
    assert (held_by(back.rights), back.rights.epoch, back.moves) == (ANN.who, 1, ())
    gone = lease.enter(away, Attached(by=ANN), 5 + GRACE_S)
    assert (gone.rights.held, reasons(gone)) == (None, ["gone"])
    assert lease.enter(away, Attached(by=CYD), 6).rights.held == away.held


@pytest.mark.parametrize(
    "let_go",
    [
        lambda rights: lease.release(rights, BOB.key, 1),
        lambda rights: lease.settle(rights, IDLE_S),
        lambda rights: lease.settle(lease.leave(rights, BOB.key, 1).rights, 1 + GRACE_S),
    ],
    ids=["released", "idle", "gone"],
)
def test_what_was_lent_returns_whichever_way_it_is_let_go(let_go: Callable[[Rights], Change]) -> None:
    lent = lease.transfer(lease.take(there(ANN, BOB), ANN, 0).rights, ANN.key, BOB.name, 0, give_back=True).rights
    change = let_go(lent)
    assert (held_by(change.rights), reasons(change), change.rights.epoch) == (ANN.who, ["returned"], 3)
    assert let_go(lease.leave(lent, ANN.key, 0.5).rights).rights.held is None


def test_a_token_that_was_lent_returns_for_the_rest_of_its_time() -> None:
    lent = lease.transfer(lease.take(there(BOB), ANN, 0, ttl_s=20).rights, ANN.key, BOB.who, 1, give_back=True).rights
    back = lease.release(lent, BOB.key, 10).rights.held
    assert back is not None
    assert (back.by, back.grip, back.until) == (ANN, Grip.TIMED, 20)
    assert lease.release(lent, BOB.key, 20).rights.held is None


def test_lent_on_it_returns_one_by_one_and_giving_it_to_somebody_who_waits_for_it_ends_that() -> None:
    rights = lease.take(there(ANN, BOB, CYD), ANN, 0).rights
    rights = lease.transfer(rights, ANN.key, BOB.name, 0, give_back=True).rights
    lent = lease.transfer(rights, BOB.key, CYD.name, 0, give_back=True).rights
    first = lease.release(lent, CYD.key, 1).rights
    assert (held_by(first), held_by(lease.release(first, BOB.key, 1).rights)) == (BOB.who, ANN.who)
    direct = lease.transfer(lent, CYD.key, ANN.name, 1, give_back=True).rights
    assert direct.held is not None
    assert direct.held.claims == ()
    assert held_by(lease.transfer(lent, CYD.key, BOB.name, 1).rights) == BOB.who


def test_a_request_that_is_said_again_was_done_the_first_time() -> None:
    held = lease.take(there(ANN, BOB), ANN, 0).rights
    given = lease.transfer(held, ANN.key, BOB.name, 1, once="one").rights
    assert lease.transfer(given, ANN.key, BOB.name, 2, once="one") == Change(rights=given)
    free = lease.release(given, BOB.key, 3, once="two").rights
    assert lease.release(free, BOB.key, 4, once="two") == Change(rights=free)
    with pytest.raises(Conflict, match="nobody holds it"):
        lease.release(free, BOB.key, 4, once="three")


def test_a_lease_goes_only_to_somebody_who_is_there_and_may_type() -> None:
    twin = Identity(key=CYD.key, who=BOB.who)
    rights = lease.take(there(ANN, BOB, twin), ANN, 0).rights
    looking = lease.enter(rights, Attached(by=BOB, read_only=True), 0).rights
    wrong: list[tuple[Rights, str, str]] = [
        (rights, "nobody", "no-such-viewer"),
        (rights, ANN.name, "no-such-viewer"),
        (rights, BOB.who, "ambiguous-viewer"),
        (looking, BOB.name, "read-only"),
    ]
    for there_are, to, code in wrong:
        with pytest.raises(Conflict) as error:
            lease.transfer(there_are, ANN.key, to, 1)
        assert error.value.code == code
    with pytest.raises(Conflict) as error:
        lease.transfer(rights, BOB.key, CYD.name, 1)
    assert error.value.code == "lease-not-held"


def test_a_viewer_that_only_looks_on_takes_nothing() -> None:
    rights = there(ANN, read_only=True)
    attempts: list[Callable[[], Change]] = [
        lambda: lease.admit(rights, ANN.key, 0, keys=True),
        lambda: lease.take(rights, ANN, 0, force=True),
    ]
    for ask in attempts:
        with pytest.raises(NotPermitted) as error:
            ask()
        assert error.value.code == "read-only"


@pytest.mark.parametrize("ttl_s", [0, -1, TTL_LIMIT_S + 1, float("inf"), float("nan")])
def test_a_time_that_makes_no_sense_is_refused(ttl_s: float) -> None:
    with pytest.raises(BadInput) as error:
        lease.take(Rights(), ANN, 0, ttl_s=ttl_s)
    assert error.value.code == "bad-ttl"


def test_without_a_time_it_is_for_those_who_are_attached() -> None:
    with pytest.raises(BadInput) as error:
        lease.take(Rights(), ANN, 0)
    assert error.value.code == "no-ttl"


def test_a_closed_session_has_no_holder() -> None:
    held = lease.take(there(ANN), ANN, 0).rights
    change = lease.close(held)
    assert (change.rights, reasons(change), change.keep) == (Rights(epoch=1), ["closed"], True)
    assert not lease.close(change.rights).keep
