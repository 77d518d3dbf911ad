"""The whole command line by one table: every option is used, every documented exit code is seen."""

from __future__ import annotations

import io
import os
import re
import shlex
import uuid
from collections.abc import Iterator

import click
import pytest
from pytest_console_scripts import ScriptRunner

from orchctl.cli.main import ALIASES, COMMANDS, cli
from tests.cli.surface import GLOBAL, TABLE
from tests.cli.surface.row import Row
from tests.harness import kits
from tests.world import ORCHCTL, World, until

TELL_ITSELF = ("supervisor status", "supervisor stop")  # that none runs is their answer
AGENTS = ("agent", "idle")
NAMES = (*AGENTS, "live", "shell", "cat", "pipe", "done", "killed", "ended", "gone", "forbidden")
_CODES = re.compile(r"Exit codes?:(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w+.])(\d{1,3})(?![\w+.]|\s*s\b)")
# options of commands that do not end by themselves, with the test that uses them
GO_ON = {
    "list": ({"--watch"}, "tests/cli/test_list.py"),
    "events": ({"-f", "--follow"}, "tests/e2e/test_events.py"),
    "supervisor logs": ({"-f", "--follow"}, "tests/cli/test_supervisor_logs.py"),
}
# 4 is a state directory that cannot be used: tests/e2e/test_bad_input.py has every way
# what cannot be brought about by a command line alone, with the test that shows it
ELSEWHERE = {
    ("kill", 1): "tests/e2e/test_escapees.py",
    ("kill-by-manager", 1): "tests/e2e/test_escapees.py",
    ("restart", 5): "tests/e2e/test_escapees.py",
    ("spawn", 6): "tests/cli/test_limits.py",
    ("verify", 1): "tests/cli/test_verify.py",
    **{(f"config {name}", 1): "tests/cli/test_config_command.py" for name in ("show", "get", "check")},
    ("expect", 5): "tests/e2e/test_expect.py",
    ("screen", 1): "tests/e2e/test_screen.py",
    ("limits", 1): "tests/cli/test_limits.py",
    ("doctor", 1): "tests/cli/test_doctor.py",
    ("supervisor logs", 1): "tests/cli/test_supervisor_logs.py",
    ("supervisor status", 1): "tests/e2e/test_start.py",
    ("supervisor restart", 1): "tests/e2e/test_restart.py",
}


def _leaves(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for inner in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), inner)
            assert found is not None
            yield from _leaves(f"{name} {inner}", found)
    else:
        yield name, command


def _commands() -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        found |= dict(_leaves(name, command))
    return found


def _options(command: click.Command) -> set[str]:
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    return {name for option in options for name in (*option.opts, *option.secondary_opts)}


def _documented(command: click.Command) -> set[int]:
    found = _CODES.search(click.Context(command).command.help or "")
    assert found is not None, f"{command.name} does not say its exit codes"
    return {int(number) for number in _NUMBER.findall(found[1])}


def test_every_command_has_rows() -> None:
    assert set(_commands()) == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_every_option_and_every_documented_exit_code_has_a_row(name: str) -> None:
    command = _commands()[name]
    used = {word.partition("=")[0] for row in TABLE[name] for word in shlex.split(row.line)}
    assert _options(command) - used == GO_ON.get(name, (set(), ""))[0]
    statuses = {row.status for row in TABLE[name]} | {8, 125}
    missing = {code for code in _documented(command) - statuses - {4} if (name, code) not in ELSEWHERE}
    assert missing == set()


def _sessions(world: World) -> dict[str, str]:
    """What the rows speak of."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
    program = f"{world.folder}/program"
    for name in ("gone", "forbidden"):
        with open(f"{program}-{name}", "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(f"{program}-{name}", 0o700)
    with world.client() as client:
        for name in ("gone", "forbidden"):
            client.spawn([f"{program}-{name}"], name=name, managed_by="other").wait()
        live = client.spawn(["sleep", "1000"], name="live").id
        client.spawn(["bash"], name="shell").exec("true")
        client.spawn(["cat"], name="cat")
        client.spawn(["sleep", "1000"], name="pipe", pty=False)
        client.spawn(["true"], name="done", managed_by="user:done").wait()
        client.spawn(["sh", "-c", "kill -9 $$"], name="killed").wait()
        client.spawn(["sh", "-c", "echo over; exit 3"], name="ended").wait()
    os.unlink(f"{program}-gone")
    os.chmod(f"{program}-forbidden", 0o600)
    with open(f"{world.folder}/file", "w", encoding="ascii") as file:
        file.write("A=1\n")
    os.mkdir(f"{world.folder}/dir")
    folders = {"dir": f"{world.folder}/dir", "file": f"{world.folder}/file"}
    return {name: name for name in NAMES} | folders | {"live_id": live}


def _agents(world: World) -> None:
    """Only where a row speaks of them."""
    with world.client() as client:
        client.spawn(profile="it", name="agent", prompt="asks 10")
        client.spawn(profile="it", name="idle")
        client.wait_for("agent", "needs-input", timeout_s=60)
    until(lambda: len(world.json("pending")) == 10)


def _check(runner: ScriptRunner, world: World, row: Row, known: dict[str, str]) -> None:
    words = shlex.split(row.line.format(**known))
    stdin = None if row.stdin is None else io.StringIO(row.stdin.format(**known))
    done = runner.run([ORCHCTL, *words], env=world.env, cwd=world.folder, stdin=stdin, print_result=False)
    assert done.returncode == row.status, (words, done.stdout, done.stderr)
    assert row.sees in done.stdout, (words, done.stdout)
    assert "Traceback" not in done.stderr
    if row.status in (2, 4, 5, 6, 8, 125, 126, 127) or (row.status == 3 and "nobody" in words):
        assert "orchctl: " in done.stderr, words


@pytest.mark.parametrize("name", ["global", *TABLE])
@pytest.mark.script_launch_mode("subprocess")
def test_every_row_ends_as_it_says(name: str, world: World, script_runner: ScriptRunner) -> None:
    known = _sessions(world)
    rows = GLOBAL if name == "global" else TABLE[name]
    if any(f"{{{one}}}" in row.line for row in rows for one in AGENTS):
        _agents(world)
    for row in rows:
        _check(script_runner, world, row, known)


@pytest.mark.parametrize(
    "name", [name for name in TABLE if 8 in _documented(_commands()[name]) and name not in TELL_ITSELF]
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
