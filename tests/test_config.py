"""Settings of a state directory: what is wrong is named, and then it is as it is by default."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl import config
from orchctl.config import SMALLEST_RING, Config

PROPERTY = settings(deadline=None, max_examples=150)
DEFAULT = Config()
DAY_S = 86400.0
RETENTION = ["session", "total", "ended", "events", "events_age"]
ALL = """
durability = "strict"
idle_exit = "0s"

[retention]
session = "16M"
total = "1G"
ended = "12h"
events = 1000000
events_age = "90d"
"""

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=4,
)


def read(folder: Path, text: str | bytes) -> Config:
    path = folder / "config.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return config.read(str(path))


def test_the_defaults_are_those_that_are_documented(tmp_path: Path) -> None:
    assert config.read(str(tmp_path / "none.toml")) == read(tmp_path, "") == DEFAULT
    assert (DEFAULT.durability, DEFAULT.strict, DEFAULT.problems) == ("relaxed", False, ())
    assert (DEFAULT.session_bytes, DEFAULT.total_bytes, DEFAULT.events_bytes) == (64 << 20, 4 << 30, 256 << 20)
    assert (DEFAULT.ended_s, DEFAULT.events_s, DEFAULT.idle_exit_s) == (7 * DAY_S, 30 * DAY_S, 600)


def test_every_setting_can_be_set(tmp_path: Path) -> None:
    found = read(tmp_path, ALL)
    assert found == Config(
        durability="strict",
        session_bytes=16 << 20,
        total_bytes=1 << 30,
        ended_s=12 * 3600.0,
        events_bytes=1000000,
        events_s=90 * DAY_S,
        idle_exit_s=0.0,
    )
    assert found.strict


def test_what_is_not_said_is_as_it_is_by_default(tmp_path: Path) -> None:
    assert read(tmp_path, 'retention.ended = "1d"') == replace(DEFAULT, ended_s=DAY_S)


@pytest.mark.parametrize(
    ("value", "size"),
    [(SMALLEST_RING, SMALLEST_RING), ("16384", 16384), ("16K", 1 << 14), ("3M", 3 << 20), ("2G", 2 << 30)],
)
def test_a_size_has_a_unit_or_is_in_bytes(value: object, size: int) -> None:
    assert config.parse({"retention": {"session": value}}) == replace(DEFAULT, session_bytes=size)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *[(0, 0.0), (90, 90.0), (0.5, 0.5), ("90", 90.0), ("250ms", 0.25), ("2s", 2.0), ("1.5m", 90.0)],
        *[("1h", 3600.0), ("7d", 7 * DAY_S)],
    ],
)
def test_a_duration_has_a_unit_or_is_in_seconds(value: object, seconds: float) -> None:
    found = config.parse({"retention": {"ended": value}})
    assert found.ended_s == pytest.approx(seconds)
    assert replace(found, ended_s=DEFAULT.ended_s) == DEFAULT


SIZES = ["64MB", "64m", "-1", "M", "", "1.5G", " 64M", -1, 1.5, True, None, [], {}, 0, SMALLEST_RING - 1, "1K"]
DURATIONS = ["7 days", "1w", "d", "", "-1s", "1e3", ".5s", -1, -0.5, float("nan"), True, None, [], {}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(f"retention.{name}", value) for name in ("session", "total", "events") for value in SIZES],
        *[(f"retention.{name}", value) for name in ("ended", "events_age") for value in DURATIONS],
        *[("durability", value) for value in ("", "Strict", "none", True, 1, None, ["strict"])],
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(name: str, value: object) -> None:
    table, _, inner = name.rpartition(".")
    found = config.parse({table: {inner: value}} if table else {inner: value})
    assert replace(found, problems=()) == DEFAULT
    (problem,) = found.problems
    assert problem.startswith(f"config.toml: {name} is {value!r}: ")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('durabilty = "strict"', "durabilty"),
        ("[retention]\nsesion = 1", "retention.sesion"),
        ("[retentions]\nsession = 1", "retentions.session"),
        ("retention = 5", "retention"),
        ("[[retention]]\nsession = 1", "retention"),
        ("[durability]\nmode = 1", "durability.mode"),
        ('session = "64M"', "session"),
    ],
)
def test_an_unknown_name_is_named_and_changes_nothing(tmp_path: Path, text: str, name: str) -> None:
    assert read(tmp_path, text) == replace(DEFAULT, problems=(f"config.toml: there is no setting {name!r}",))


def test_what_is_right_holds_beside_what_is_wrong(tmp_path: Path) -> None:
    found = read(tmp_path, ALL.replace('"16M"', '"lots"').replace("total", "totals"))
    assert (found.durability, found.session_bytes, found.total_bytes) == ("strict", 64 << 20, 4 << 30)
    assert (found.ended_s, found.events_s) == (12 * 3600.0, 90 * DAY_S)
    assert len(found.problems) == 2


@pytest.mark.parametrize("text", ["durability = ", "[retention", "a = 1\na = 2", b"\xff\xfe", "\0"])
def test_what_is_no_toml_is_a_problem_and_no_error(tmp_path: Path, text: str | bytes) -> None:
    found = read(tmp_path, text)
    assert replace(found, problems=()) == DEFAULT
    (problem,) = found.problems
    assert problem.startswith("config.toml cannot be read: ")


def test_what_cannot_be_opened_is_a_problem_and_no_error(tmp_path: Path) -> None:
    found = config.read(str(tmp_path))
    assert replace(found, problems=()) == DEFAULT
    assert "config.toml cannot be read: " in found.problems[0]


@PROPERTY
@given(
    st.dictionaries(st.text(max_size=4) | st.just("durability"), values, max_size=3),
    st.dictionaries(st.sampled_from(RETENTION) | st.text(max_size=4), values, max_size=5),
)
def test_whatever_is_in_the_file_every_setting_ends_up_usable(top: dict[str, Any], retention: dict[str, Any]) -> None:
    found = config.parse(top | {"retention": retention})
    assert found.durability in ("relaxed", "strict")
    assert min(found.session_bytes, found.total_bytes, found.events_bytes) >= SMALLEST_RING
    assert min(found.ended_s, found.events_s) >= 0
