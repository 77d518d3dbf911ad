"""What expressions say about their matches: never more than is true."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput
from orchctl.search.pattern import Needle, compiled, required, within_lines
from orchctl.session.search import Search

ATOMS = [
    "a",
    "b",
    "ab",
    "B",
    ".",
    "[ab]",
    "[^a]",
    r"[\s\d]",
    r"[^\S]",
    r"[\W_]",
    r"\s",
    r"\S",
    r"\w",
    r"\W",
    r"\D",
    r"\n",
    r"\r",
]
ATOMS += [
    "^",
    "$",
    r"\A",
    r"\Z",
    r"\b",
    r"\B",
    r"[\t-\r]",
    "(?=a)",
    "(?!a)",
    r"(?!\s)",
    "(?<=b)",
    "(?<!b)",
    "(a)",
    r"(?i:aB)",
    "(?s:.)",
]
SUFFIXES = ["*", "+", "?", "*?", "+?", "{2}", "{1,3}", "*+", "++"]


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(SUFFIXES)).map(lambda made: f"(?:{made[0]}){made[1]}"),
        inner.map(lambda made: f"(?>{made})"),
        inner.map(lambda made: rf"({made})\1"),
    )


EXPRESSIONS = st.recursive(st.sampled_from(ATOMS), _grown, max_leaves=6)
BLOCKS = st.lists(st.sampled_from([b"a", b"b", b"ab", b"A", b" ", b"\r", b"\r\n", b"\n", b"1", b"_"]), max_size=25)


def _valid(pattern: str) -> bool:
    try:
        re.compile(pattern.encode())
    except re.error:
        return False
    return True


def lines_of(data: bytes) -> list[bytes]:
    """Without their ends."""
    *whole, rest = data.split(b"\n")
    return [line.removesuffix(b"\r") for line in whole] + ([rest] if rest else [])


@settings(max_examples=1500, deadline=None)
@given(EXPRESSIONS.filter(_valid), BLOCKS.map(b"".join), st.booleans())
def test_the_lines_found_in_a_block_are_those_that_match_alone(pattern: str, data: bytes, ignore_case: bool) -> None:
    needle = Needle(Search(pattern=pattern, ignore_case=ignore_case), returns=True)
    found, at = [], 0
    while line := needle.next(data, at, len(data)):
        found.append(needle.text(data, *line))
        at = line[1] + 1
    alone = re.compile(pattern.encode(), re.IGNORECASE if ignore_case else 0)
    assert found == [line for line in lines_of(data) if alone.search(line)]


@settings(max_examples=500, deadline=None)
@given(EXPRESSIONS.filter(_valid), BLOCKS.map(b"".join))
def test_what_is_required_is_in_every_match(pattern: str, data: bytes) -> None:
    literal, folded = required(pattern.encode())
    for line in lines_of(data):
        if re.search(pattern.encode(), line):
            assert literal in (line.lower() if folded else line)


@pytest.mark.parametrize(
    ("pattern", "literal", "folded"),
    [
        ("error", b"error", False),
        ("foo.*barbaz", b"barbaz", False),
        ("ab+cde", b"bcde", False),
        ("(abc|abd)xyz", b"xyz", False),
        ("(?:abc)+d", b"abcd", False),
        (r"^make\b.*Error \d+$", b"Error ", False),
        ("(?i)FooBar", b"foobar", True),
        ("(?i:foo)bar", b"bar", False),
        ("a|b", b"", False),
        ("x*", b"", False),
        ("a\nb", b"", False),
    ],
)
def test_the_longest_text_is_chosen(pattern: str, literal: bytes, folded: bool) -> None:
    assert required(pattern.encode()) == (literal, folded)


@pytest.mark.parametrize("pattern", [r"[^x]*y", r"\s+", r"a.c", "^$", r"\w+@\w+"])
def test_common_expressions_search_blocks(pattern: str) -> None:
    within = within_lines(pattern.encode())
    assert within is not None
    assert within.search(b"\n" * 10) is None or pattern == "^$"


@pytest.mark.parametrize("pattern", [r"a(?!b)", r"(?>a)b", r"a\nb", "(?s)a.b", r"\W+x"])
def test_what_needs_its_line_alone_is_not_guessed_at(pattern: str) -> None:
    assert within_lines(pattern.encode()) is None


@pytest.mark.parametrize("pattern", ["a[", "(", "*a", "a{99999999999999999999}", "[[:digit:]]", "a\nb"])
def test_a_bad_pattern_says_so(pattern: str) -> None:
    with pytest.raises(BadInput) as error:
        compiled(Search(pattern=pattern))
    assert error.value.code == "bad-pattern"


def test_a_pattern_that_may_mean_something_else_one_day_is_taken_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Needle(Search(pattern="[[a]|x"), returns=True).matches(b"[")
