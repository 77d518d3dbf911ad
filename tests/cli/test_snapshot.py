"""The command line does what it did when the snapshot was accepted.

The text of every row is compared where the rows are run, by `test_surface.py`; this has the other forms of output, the
errors and the help. A difference that is meant is accepted with `python -m tests.cli.snapshot`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.snapshot.forks import Forks
from tests.cli.snapshot.lines import ERRORS, EVERY, FORMS, JSON, QUIET, READERS
from tests.cli.snapshot.record import (
    HERE,
    Stage,
    changes,
    difference,
    help_path_of,
    helps,
    kept,
    path_of,
    record,
    record_help,
)
from tests.cli.surface.scene import scene


@pytest.fixture(scope="module")
def readers() -> Iterator[Stage]:
    """What commands that change nothing look at."""
    with scene(agents=False) as made:
        yield made


@pytest.mark.parametrize("name", EVERY)
def test_a_command_prints_and_ends_as_accepted(name: str, request: pytest.FixtureRequest) -> None:
    shared = request.getfixturevalue("readers") if name in READERS else None
    now = record(name, (JSON, QUIET, ERRORS), Forks(), shared)
    changed = [found for form, text in now.items() if (found := difference(name, form, text))]
    if changed:
        pytest.fail("\n".join(changed), pytrace=False)


@pytest.mark.parametrize("name", helps(), ids=lambda name: name or "orchctl")
def test_help_is_what_was_accepted(name: str) -> None:
    path = help_path_of(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if changed := changes(f"help/{path.name}", before, record_help(name, Forks()), name or "global"):
        pytest.fail(changed, pytrace=False)


def test_there_is_a_file_for_each_command_and_no_other() -> None:
    assert {*HERE.glob("*.txt")} == {path_of(name) for name in EVERY}
    assert {*(HERE / "help").iterdir()} == {help_path_of(name) for name in helps()}
    assert {name: tuple(kept(name)) for name in EVERY} == dict.fromkeys(EVERY, FORMS)
