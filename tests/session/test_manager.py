"""Manager names: whole segments, checked before they are used."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput
from orchctl.session.manager import parse, resolve, selects

PROPERTY = settings(deadline=None, max_examples=100)
ALPHABET = string.ascii_letters + string.digits + "._-"

segments = st.lists(st.text(ALPHABET, min_size=1, max_size=6), min_size=1, max_size=5)
few_segments = st.lists(st.sampled_from(["a", "ab", "b", "."]), min_size=1, max_size=4)  # so that prefixes are common
names = segments.map(":".join)


@PROPERTY
@given(few_segments, few_segments)
def test_a_manager_selects_by_whole_segments(manager: list[str], other: list[str]) -> None:
    assert selects(":".join(manager), ":".join(other)) == (other[: len(manager)] == manager)


@PROPERTY
@given(names, st.text(ALPHABET, min_size=1, max_size=6))
def test_a_manager_never_selects_a_longer_name_that_shares_its_prefix(manager: str, more: str) -> None:
    assert selects(manager, manager)
    assert not selects(manager, manager + more)
    assert selects(manager, f"{manager}:{more}")
    assert not selects(f"{manager}:{more}", manager)


@PROPERTY
@given(names)
def test_a_good_name_stays_as_it_is(name: str) -> None:
    assert parse(name) == name


@PROPERTY
@given(segments, st.text(max_size=4), st.data())
def test_a_name_with_a_segment_of_anything_else_is_refused(good: list[str], bad: str, data: st.DataObject) -> None:
    if bad and all(char in ALPHABET + ":" for char in bad):
        bad += "/"
    place = data.draw(st.integers(0, len(good)))
    with pytest.raises(BadInput) as caught:
        parse(":".join([*good[:place], bad, *good[place:]]))
    assert caught.value.code == "bad-manager"


@pytest.mark.parametrize("text", ["", ":", "a:", ":a", "a::b", "a\n", "a b", "ä", "a:b\n", "a/b"])
def test_names_that_are_not_segments_joined_by_colons_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse(text)


def test_a_refusal_names_the_segment() -> None:
    with pytest.raises(BadInput, match="has the segment 'b c'"):
        parse("a:b c")
    with pytest.raises(BadInput, match="has an empty segment"):
        parse("a::b")


def test_a_name_may_be_1024_bytes_long_and_no_longer() -> None:
    assert parse("a" * 1024) == "a" * 1024
    with pytest.raises(BadInput, match="1025 bytes") as caught:
        parse("a" * 1025)
    assert caught.value.code == "bad-manager"


@PROPERTY
@given(names, names)
def test_a_name_that_begins_with_a_colon_goes_below_the_callers_own(own: str, below: str) -> None:
    found = resolve(f":{below}", own)
    assert found == f"{own}:{below}"
    assert selects(own, found)


@PROPERTY
@given(names, names)
def test_a_whole_name_is_taken_as_it_is_asked_for(own: str, asked: str) -> None:
    assert resolve(asked, own) == asked


@pytest.mark.parametrize("asked", [None, ""])
def test_whoever_asks_for_no_manager_gets_its_own(asked: str | None) -> None:
    assert resolve(asked, "boss:worker") == "boss:worker"


@pytest.mark.parametrize("own", [None, ""])
def test_whoever_has_no_manager_is_the_user(own: str | None) -> None:
    assert resolve(None, own) == "user"
    assert resolve(":helper", own) == "user:helper"


@pytest.mark.parametrize(("asked", "own"), [(":", "a"), ("a b", "a"), (None, "a b"), (":b", "a:"), (":b", "a" * 1023)])
def test_what_comes_out_is_always_checked(asked: str | None, own: str) -> None:
    with pytest.raises(BadInput):
        resolve(asked, own)
