"""The whole command line by one table: every option is used, every documented exit code is seen."""

from __future__ import annotations

import os
import re
import shlex
import uuid
from collections.abc import Iterator

import click
import pytest

from orchctl.cli.main import ALIASES, COMMANDS, cli
from tests.cli.snapshot.forks import Done, Forks
from tests.cli.snapshot.lines import EVERY, READERS, TEXT, commands, options
from tests.cli.snapshot.record import Stage, difference, installed, perform, stage_for
from tests.cli.surface import TABLE
from tests.cli.surface.row import Row
from tests.cli.surface.scene import NAMES, scene
from tests.world import World

TELL_ITSELF = ("supervisor status", "supervisor stop")  # that none runs is their answer
_CODES = re.compile(r"Exit codes?:(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w+.])(\d{1,3})(?![\w+.]|\s*s\b)")
# options of commands that do not end by themselves, or need somebody who stays, with the test that uses them
GO_ON = {
    "list": ({"--watch"}, "tests/cli/test_list.py"),
    "events": ({"-f", "--follow"}, "tests/e2e/log/test_events.py"),
    "lease transfer": ({"--json"}, "tests/e2e/lease/test_leases.py"),
    "supervisor logs": ({"-f", "--follow"}, "tests/cli/test_supervisor_logs.py"),
}
# 4 is a state directory that cannot be used: tests/e2e/client/test_bad_input.py has every way
# what cannot be brought about by a command line alone, with the test that shows it
ELSEWHERE = {
    ("attach", 0): "tests/e2e/attach/test_attach.py",
    ("attach", 124): "tests/e2e/attach/test_attach.py",
    ("kill", 1): "tests/e2e/session/test_escapees.py",
    ("kill-by-manager", 1): "tests/e2e/session/test_escapees.py",
    ("restart", 5): "tests/e2e/session/test_escapees.py",
    ("spawn", 6): "tests/cli/test_limits.py",
    ("verify", 1): "tests/cli/test_verify.py",
    **{(f"config {name}", 1): "tests/cli/test_config_command.py" for name in ("show", "get", "check")},
    ("expect", 5): "tests/e2e/session/test_expect.py",
    ("screen", 1): "tests/e2e/log/test_screen.py",
    ("limits", 1): "tests/cli/test_limits.py",
    ("doctor", 1): "tests/cli/test_doctor.py",
    ("supervisor logs", 1): "tests/cli/test_supervisor_logs.py",
    ("supervisor status", 1): "tests/e2e/lifecycle/test_start.py",
    ("supervisor restart", 1): "tests/e2e/lifecycle/test_restart.py",
}


def _documented(command: click.Command) -> set[int]:
    found = _CODES.search(click.Context(command).command.help or "")
    assert found is not None, f"{command.name} does not say its exit codes"
    return {int(number) for number in _NUMBER.findall(found[1])}


def test_every_command_has_rows() -> None:
    assert set(commands()) == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_every_option_and_every_documented_exit_code_has_a_row(name: str) -> None:
    command = commands()[name]
    used = {word.partition("=")[0] for row in TABLE[name] for word in shlex.split(row.line)}
    assert options(command) - used == GO_ON.get(name, (set(), ""))[0]
    statuses = {row.status for row in TABLE[name]} | {8, 125}
    missing = {code for code in _documented(command) - statuses - {4} if (name, code) not in ELSEWHERE}
    assert missing == set()


@pytest.fixture(scope="module")
def readers() -> Iterator[Stage]:
    """What commands that change nothing look at."""
    with scene(agents=False) as made:
        yield made


def _check(row: Row, done: Done) -> None:
    words = row.line.split()
    assert done.status == row.status, (row.line, done)
    assert row.sees in done.stdout, (row.line, done.stdout)
    assert "Traceback" not in done.stderr
    if row.status in (2, 4, 5, 6, 8, 125, 126, 127) or (row.status == 3 and "nobody" in words):
        assert "orchctl: " in done.stderr or '"code": ' in done.stderr, words


@pytest.mark.parametrize("name", EVERY, ids=lambda name: f"subprocess-{name}")
def test_every_row_ends_as_it_says(name: str, request: pytest.FixtureRequest) -> None:
    """The first row is run by the installed program, the others in forks of one process; all print what they did."""
    shared = request.getfixturevalue("readers") if name in READERS else None
    with stage_for(name, shared) as stage:
        now = perform(name, TEXT, stage, Forks(), _check, installed)
    if changed := difference(name, TEXT, now):
        pytest.fail(changed, pytrace=False)


@pytest.mark.parametrize(
    "name", [name for name in TABLE if 8 in _documented(commands()[name]) and name not in TELL_ITSELF]
)
def test_no_supervisor_and_sessions_to_ask_about_is_exit_8(name: str, world: World) -> None:
    for folder in (world.state, f"{world.state}/sessions", f"{world.state}/sessions/{uuid.uuid4()}"):
        os.mkdir(folder, 0o700)
    row = next(row for row in TABLE[name] if row.status == 0 and not row.stdin)
    words = shlex.split(row.line.format(**{name: name for name in NAMES}, dir=world.folder, file=__file__))
    done = world.run("--no-autostart", *words)
    assert done.returncode == 8, (words, done)
    world.state = f"{world.folder}/unused"


def test_aliases_are_those_of_the_table() -> None:
    assert set(ALIASES.values()) <= set(COMMANDS)
    for alias in ALIASES:
        assert cli.get_command(click.Context(cli), alias) is not None
