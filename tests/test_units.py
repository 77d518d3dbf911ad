"""Durations and sizes: one notation, read and written without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30.0),
        ("5m", 300.0),
        ("2h", 7200.0),
        ("7d", 604800.0),
        ("90", 90.0),
        ("1.5h", 5400.0),
        ("0", 0),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "-1s", "1w", "1 s", "1e3", ".5s", "٣s", "3651d", "9" * 400, "5M", "nan", "1h30m"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("500", 500), ("64K", 1 << 16), ("10M", 10 << 20), ("4G", 4 << 30)]
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert units.parse_size(text) == size
    assert units.format_size(size) == text


@pytest.mark.parametrize("text", ["", "K", "64k", "64MB", "-1", "1.5G", " 1", "1T", "٣", "9" * 17])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as"):
        units.parse_size(text)


@given(st.integers(0, (1 << 50) - 1))
def test_a_size_comes_back(size: int) -> None:
    assert units.parse_size(units.format_size(size)) == size


@given(st.integers(0, int(units.LONGEST_S) * 1000).map(lambda ms: ms / 1000))
def test_a_duration_comes_back(seconds: float) -> None:
    assert units.parse_duration(units.format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (600, "10m"), (604800, "7d"), (90, "90s"), (0.25, "250ms"), (1.5, "1.5s")]
)
def test_a_duration_is_written_shortly(seconds: float, text: str) -> None:
    assert units.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0.9, "0s"), (59, "59s"), (61, "1m 1s"), (3600, "1h"), (90061, "1d 1h"), (86400 * 400, "400d")],
)
def test_people_get_the_two_largest_units(seconds: float, text: str) -> None:
    assert units.about_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0"), (1023, "1023"), (1536, "1.5K"), (64 << 20, "64M"), (4 << 30, "4.0G")]
)
def test_people_get_a_size_with_a_unit(size: int, text: str) -> None:
    assert units.about_size(size) == text
