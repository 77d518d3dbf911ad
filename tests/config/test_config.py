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


def test_limits_are_for_all_for_any_manager_and_for_one(tmp_path: Path) -> None:
    text = """
[limits]
total = 500
sessions = "none"
log = "1G"
[limits."orchestrator:coordinator-001"]
sessions = 20
time = "2h"
[limits.user]
idle = "none"
"""
    found = read(tmp_path, text)
    assert found.problems == ()
    assert found.limits.total == 500
    assert found.limits.default == {"sessions": None, "log": 1 << 30, "time": None, "idle": None}
    assert found.limits.managers == {
        "orchestrator:coordinator-001": {"sessions": 20, "time": 7200.0},
        "user": {"idle": None},
    }
    assert DEFAULT.limits.default == {"sessions": 200, "log": None, "time": None, "idle": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sessions = -1", "not a number from 0 to 1000000, nor 'none'"),
        ("sessions = true", "not a number"),
        ("sessions = 1.5", "not a number"),
        ('log = "lots"', "not a size such as 64M or 4G, nor 'none'"),
        ('time = "0s"', "a session cannot end before it begins, nor 'none'"),
        ('idle = "soon"', "not a duration such as 12h or 7d, up to ten years, nor 'none'"),
        ("total = {}", "not a number"),
    ],
)
def test_a_wrong_limit_says_what_is_expected(tmp_path: Path, text: str, expected: str) -> None:
    found = read(tmp_path, f"# limits\n[limits]\n{text}\n")
    assert found.limits == DEFAULT.limits
    (problem,) = found.problems
    assert problem.startswith("config.toml line 3: limits.")
    assert expected in problem


@pytest.mark.parametrize("value", ['""', '"bin/sh"', "5", '"a\\nb"'])
def test_a_shell_is_a_path_or_a_name(tmp_path: Path, value: str) -> None:
    assert read(tmp_path, 'shell = "/bin/zsh"').shell == "/bin/zsh"
    assert read(tmp_path, 'shell = "fish"').shell == "fish"
    found = read(tmp_path, f"shell = {value}")
    assert found.shell is None
    assert found.problems[0].startswith("config.toml line 1: shell is ")


def test_what_is_not_said_is_as_it_is_by_default(tmp_path: Path) -> None:
    assert read(tmp_path, 'retention.ended = "1d"') == replace(DEFAULT, ended_s=DAY_S)


@pytest.mark.parametrize(
    ("value", "size"),
    [(SMALLEST_RING, SMALLEST_RING), ("16384", 16384), ("16K", 1 << 14), ("3M", 3 << 20), ("2G", 2 << 30)],
)
def test_a_size_has_a_unit_or_is_in_bytes(value: object, size: int) -> None:
    assert config.parse({"retention": {"session": value}}).config == replace(DEFAULT, session_bytes=size)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *[(0, 0.0), (90, 90.0), (0.5, 0.5), ("90", 90.0), ("250ms", 0.25), ("2s", 2.0), ("1.5m", 90.0)],
        *[("1h", 3600.0), ("7d", 7 * DAY_S)],
    ],
)
def test_a_duration_has_a_unit_or_is_in_seconds(value: object, seconds: float) -> None:
    found = config.parse({"retention": {"ended": value}}).config
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
    found = config.parse({table: {inner: value}} if table else {inner: value}).config
    assert replace(found, problems=()) == DEFAULT
    (problem,) = found.problems
    assert problem.startswith(f"config.toml: {name} is {value!r}: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('durabilty = "strict"', "line 1: there is no setting durabilty; did you mean durability?"),
        ("[retention]\nsesion = 1", "line 2: there is no setting retention.sesion; did you mean retention.session?"),
        (
            "[retentions]\nsession = 1",
            "line 2: there is no setting retentions.session; did you mean retention.session?",
        ),
        (
            '\n# all\n\nretension = { session = "1M" } # of one',
            "line 4: there is no setting retension.session; did you",
        ),
        ("[retension]", "line 1: there is no setting retension; did you mean retention?"),
        ("retention = 5", "line 1: there is no setting retention; it is a table, written [retention]"),
        ("[[retention]]\nsession = 1", "line 1: there is no setting retention; it is a table, written [retention]"),
        ("[durability]\nmode = 1", "line 2: there is no setting durability.mode; did you mean durability?"),
        ('session = "64M"', "line 1: there is no setting session; did you mean retention.session?"),
        ("colour = 1", "line 1: there is no setting colour; 'orchctl config show' lists all of them"),
        ("[limits]\nsession = 1", "line 2: there is no setting limits.session; did you mean limits.sessions?"),
        (
            "[limits.user]\nsesions = 1",
            "line 2: there is no setting limits.user.sesions; did you mean limits.user.sessions?",
        ),
        (
            "[limits.agent.one]\nlog = 1",
            "line 2: there is no setting limits.agent.one.log; a manager's name stands in quot",
        ),
        ('[limits."a b"]\nlog = 1', "line 2: there is no setting limits.\"a b\".log; 'a b' is no manager"),
        ('x = """\n[retention]\n"""\n\n[retention]\ny = 2', "line 6: there is no setting retention.y; "),
    ],
)
def test_an_unknown_name_is_named_with_its_line_and_what_is_near(tmp_path: Path, text: str, problem: str) -> None:
    found = read(tmp_path, text)
    assert replace(found, problems=()) == DEFAULT
    assert found.problems[-1].startswith(f"config.toml {problem}")


def test_what_is_right_holds_beside_what_is_wrong(tmp_path: Path) -> None:
    found = read(tmp_path, ALL.replace('"16M"', '"lots"').replace("total", "totals"))
    assert (found.durability, found.session_bytes, found.total_bytes) == ("strict", 64 << 20, 4 << 30)
    assert (found.ended_s, found.events_s) == (12 * 3600.0, 90 * DAY_S)
    assert len(found.problems) == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("durability = ", "line 1, column 14"),
        ("\n[retention", "line 2, column 11"),
        ("a = 1\na = 2", "line 2, column 6"),
        (b"a = 1\n# \xff\xfe", "line 2, column 3"),
        ("\0", "line 1, column 1"),
    ],
)
def test_what_is_no_toml_says_where_and_is_no_error(tmp_path: Path, text: str | bytes, place: str) -> None:
    found = read(tmp_path, text)
    assert replace(found, problems=()) == DEFAULT
    (problem,) = found.problems
    assert problem.startswith(f"config.toml {place}: it cannot be read: ")


def test_what_cannot_be_opened_is_a_problem_and_no_error(tmp_path: Path) -> None:
    found = config.read(str(tmp_path))
    assert replace(found, problems=()) == DEFAULT
    assert found.problems == ("config.toml: it cannot be read: Is a directory",)


def test_a_file_that_never_ends_is_not_read_for_ever() -> None:
    assert "longer than" in config.read("/dev/zero").problems[0]


@PROPERTY
@given(
    st.dictionaries(st.text(max_size=4) | st.just("durability"), values, max_size=3),
    st.dictionaries(st.sampled_from(RETENTION) | st.text(max_size=4), values, max_size=5),
)
def test_whatever_is_in_the_file_every_setting_ends_up_usable(top: dict[str, Any], retention: dict[str, Any]) -> None:
    found = config.parse(top | {"retention": retention}).config
    assert found.durability in ("relaxed", "strict")
    assert min(found.session_bytes, found.total_bytes, found.events_bytes) >= SMALLEST_RING
    assert min(found.ended_s, found.events_s) >= 0
