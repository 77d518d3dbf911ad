"""The first words: who may talk to whom."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import Conflict, ProtocolMismatch, SupervisorUnreachable
from orchctl.protocol.codec import PROTOCOL, Hello, check, require

PROPERTY = settings(deadline=None, max_examples=100)


@PROPERTY
@given(st.text(), st.lists(st.text()).map(tuple), st.integers())
def test_whoever_speaks_our_protocol_is_welcome_whatever_its_version_and_features(
    version: str, features: tuple[str, ...], pid: int
) -> None:
    check(Hello(protocol=PROTOCOL, version=version, features=features, pid=pid))


@PROPERTY
@given(st.integers().filter(lambda number: number != PROTOCOL))
def test_any_other_protocol_is_refused_and_both_numbers_are_named(number: int) -> None:
    with pytest.raises(ProtocolMismatch, match=rf"speaks protocol {number}, this orchctl speaks {PROTOCOL};") as caught:
        check(Hello(protocol=number, version="9.9", pid=77))
    assert "(pid 77, version 9.9)" in caught.value.message
    assert isinstance(caught.value, SupervisorUnreachable)


def test_a_supervisor_that_does_not_tell_its_version_is_refused_politely() -> None:
    with pytest.raises(ProtocolMismatch, match="version unknown"):
        check(Hello(protocol=PROTOCOL + 1))


def test_the_fields_of_a_hello_never_lose_their_names() -> None:
    hello = Hello(protocol=1, version="0.1", features=("x",), pid=2)
    assert (hello.protocol, hello.version, hello.features, hello.pid) == (1, "0.1", ("x",), 2)
    assert PROTOCOL == 1


def test_what_an_older_supervisor_would_pass_over_is_not_asked_of_it() -> None:
    require(Hello(protocol=PROTOCOL, features=("stdin",)), "stdin")
    require(Hello(protocol=PROTOCOL), "")
    with pytest.raises(Conflict, match="supervisor restart") as refused:
        require(Hello(protocol=PROTOCOL, features=("leases",)), "stdin")
    assert refused.value.code == "older-version"
