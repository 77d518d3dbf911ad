"""Templates: fields and escapes, and nothing that could run or reach further."""

from __future__ import annotations

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchctl.cli.output import fill
from tests.world import World

VALUE = {"id": "x1", "n": 3, "none": None, "on": True, "list": ["a"], "labels": {"k": "v"}, "output": {"next": 7}}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{id}", "x1"),
        (r"{id}\t{n}\n", "x1\t3\n"),
        ("{{{id}}}", "{x1}"),
        ("{none}|{on}|{list}", '|true|["a"]'),
        ("{output.next}", "7"),
        ("{labels.k}{labels.other}", "v"),
        ("{none.inner}", ""),
        (r"\\", "\\"),
        ("", ""),
    ],
)
def test_a_template_is_filled(template: str, text: str) -> None:
    assert fill(template, VALUE) == text


@pytest.mark.parametrize("template", ["{nobody}", "{id.__class__}", "{output.other}", "{n.real}"])
def test_a_field_that_is_not_there_is_named_with_those_that_are(template: str) -> None:
    with pytest.raises(click.UsageError, match="There is no field"):
        fill(template, VALUE)


@given(st.text(st.characters(exclude_characters="{}\\")))
def test_text_without_fields_stays(text: str) -> None:
    assert fill(text, VALUE) == text


def test_every_listing_takes_a_template(world: World) -> None:
    session = world.ok("spawn", "--name", "db", "-l", "k=v", "sleep", "1000")
    assert world.ok("list", "--template", r"{id}\t{name}\t{labels.k}") == f"{session}\tdb\tv"
    assert world.ok("info", "db", "--template", "{state} {exit_code}|") == "live |"
    done = world.run("list", "--template", "{nobody}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"'nobody'" in done.stderr
    assert b"managed_by" in done.stderr
    for bad in ("{", "}", "{a b}", r"\x", "\\"):
        assert world.run("list", "--template", bad).returncode == 2


def test_the_forms_exclude_each_other(world: World) -> None:
    done = world.run("list", "--json", "-q")
    assert done.returncode == 2
    assert json.loads(done.stderr)["code"] == "usage"


def test_json_in_a_command_of_the_users_is_not_ours(world: World) -> None:
    done = world.run("spawn", "--wait", "no-such-program", "--json")
    assert done.returncode == 125
    assert done.stderr.startswith(b"orchctl: ")
