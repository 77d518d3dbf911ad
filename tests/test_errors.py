"""The tree of errors: codes and exit statuses that programs rely on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl import errors
from orchctl.errors import OrchctlError, ProtocolMismatch, SupervisorUnreachable, from_wire

PROPERTY = settings(deadline=None, max_examples=50)
STABLE = {
    "OrchctlError": ("failed", 1),
    "BadInput": ("usage", 2),
    "NoSuchSession": ("no-such-session", 3),
    "NotPermitted": ("not-permitted", 4),
    "Conflict": ("conflict", 5),
    "LimitReached": ("limit-reached", 6),
    "SupervisorUnreachable": ("supervisor-unreachable", 8),
    "ProtocolMismatch": ("protocol-mismatch", 8),
    "TimedOut": ("timed-out", 124),
    "CannotExecute": ("not-executable", 126),
    "CommandNotFound": ("command-not-found", 127),
    "PeerBroke": ("bad-message", 1),
    "Internal": ("internal", 1),
}
KINDS: dict[str, type[OrchctlError]] = {
    name: found for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, OrchctlError)
}


def test_the_tree_has_exactly_the_errors_that_are_promised() -> None:
    assert {name: (kind.code, kind.exit_status) for name, kind in KINDS.items()} == STABLE


@pytest.mark.parametrize("name", STABLE)
def test_the_drawing_of_the_tree_names_every_error_and_its_exit_status(name: str) -> None:
    (line,) = [line for line in (errors.__doc__ or "").splitlines() if name in line.split()]
    assert str(STABLE[name][1]) in line.split()


@pytest.mark.parametrize("kind", KINDS.values())
@PROPERTY
@given(st.text(), st.text())
def test_an_error_that_travelled_is_the_same_at_the_other_end(
    kind: type[OrchctlError], code: str, message: str
) -> None:
    back = from_wire(kind.__name__, code, message)
    assert type(back) is kind
    assert (back.code, back.message, str(back)) == (code, message, message)
    assert back.exit_status == kind.exit_status


@PROPERTY
@given(st.text().filter(lambda name: name not in STABLE))
def test_an_error_from_the_future_is_still_an_error(name: str) -> None:
    back = from_wire(name, "from-the-future", "words")
    assert type(back) is OrchctlError
    assert (back.code, back.message, back.exit_status) == ("from-the-future", "words", 1)


@pytest.mark.parametrize("kind", KINDS.values())
def test_a_code_of_its_own_changes_one_error_and_not_its_kind(kind: type[OrchctlError]) -> None:
    assert kind("words", code="special").code == "special"
    assert kind("words").code == STABLE[kind.__name__][0]


def test_a_supervisor_of_another_protocol_is_one_that_cannot_be_reached() -> None:
    assert issubclass(ProtocolMismatch, SupervisorUnreachable)
