"""What is kept of a lease, and what the next supervisor makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from orchctl.errors import BadInput
from orchctl.session import lease
from orchctl.session.lease_state import GRACE_S, Attached, Grip, Identity, Rights, key_of, restored, to_record

SECRET = "0123456789abcdef" * 2
ANN = Identity(key=key_of(SECRET), who="user")


def test_a_secret_is_never_in_what_stands_for_it() -> None:
    assert len(ANN.key) == 32
    assert ANN.key != SECRET
    assert ANN.name == ANN.key[:8]


@pytest.mark.parametrize("text", ["", "word", SECRET.upper(), SECRET + "0", SECRET[:-1], SECRET[:-1] + "\n", "é" * 32])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as error:
        key_of(text)
    assert error.value.code == "bad-viewer"


def test_nothing_kept_is_nothing_held() -> None:
    assert restored([], 0) == Rights()
    assert restored([{"type": "from the future"}], 0) == Rights()


def test_an_attached_holder_is_away_after_a_restart_and_one_with_a_token_is_not() -> None:
    attached = Rights(attached=(Attached(by=ANN),))
    away = restored([to_record(lease.take(attached, ANN, 0).rights)], 100).held
    assert away is not None
    assert (away.grip, away.until, away.epoch) == (Grip.AWAY, 100 + GRACE_S, 1)
    timed = restored([to_record(lease.take(Rights(), ANN, 0, ttl_s=500).rights)], 100).held
    assert timed is not None
    assert (timed.grip, timed.until) == (Grip.TIMED, 500)


def test_the_last_record_of_the_highest_epoch_counts() -> None:
    one = lease.take(Rights(), ANN, 0, ttl_s=500).rights
    two = lease.release(one, ANN.key, 1).rights
    three = lease.take(two, ANN, 2, ttl_s=500).rights
    assert restored([to_record(one), to_record(three), to_record(two)], 3) == three
    assert restored([to_record(one), to_record(two)], 3) == two


def test_a_record_of_a_build_to_come_holds_nothing_and_its_epoch_is_not_given_again() -> None:
    kept: list[dict[str, Any]] = [
        {"type": "lease", "epoch": 7, "held": {"by": "somebody"}},
        {"type": "lease", "epoch": "many"},
    ]
    assert restored(kept, 0) == Rights(epoch=7)
