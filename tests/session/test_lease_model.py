"""The lease protocol, model-checked: all states of 3 clients, 6 grants and 3 crashes; `lease_checker.py` has the world.

A crash is that of the supervisor at any moment (also between a grant's record and its answer), of the mover, or of a
viewer. Each wrong design leaves one part out, and the same checker finds what that breaks.
"""

from __future__ import annotations

import pytest

from tests.session.lease_checker import Checker, Design, Scope


@pytest.mark.long  # a million states, and most of a minute; the smaller scopes below are always looked through
def test_no_state_of_three_clients_six_grants_and_three_crashes_is_wrong() -> None:
    checker = Checker(Design(), Scope())
    states = checker.run()
    assert checker.violation == ""
    assert states == 1_047_718  # fewer means that something is no longer tried; 2 082 572 with the viewers told apart


def test_more_crashes_make_no_state_wrong(long_form: bool) -> None:
    checker = Checker(Design(), Scope(grants=6, crashes=5) if long_form else Scope(grants=3, crashes=4))
    assert checker.run() > 0
    assert checker.violation == ""


@pytest.mark.parametrize(
    ("design", "violation"),
    [
        (Design(fenced=False), "an old holder types after a newer one"),
        (Design(noted=False), "an old holder types after a newer one"),
        (Design(durable=False), "an epoch is given twice"),
        (Design(expires=False), "a lease is kept after its end"),
    ],
    ids=["not fenced", "fence forgotten", "epoch reused", "kept after expiry"],
)
def test_a_wrong_design_is_caught(design: Design, violation: str) -> None:
    checker = Checker(design, Scope())
    assert checker.run() < 10_000
    assert checker.violation.startswith(violation)
