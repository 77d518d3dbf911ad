"""Whose words they are: orchctl's own, or those of the COMMAND it is to run."""

from __future__ import annotations

import click
import pytest

from orchctl.cli.main import cli, own, passes_through


def _own(text: str) -> tuple[str, list[str]]:
    return own(text.split(), lambda name: cli.get_command(click.Context(cli), name))


@pytest.mark.parametrize(
    ("line", "name", "words"),
    [
        ("list --json", "list", ["--json"]),
        ("--color never list -a", "list", ["-a"]),
        ("--color=never --no-autostart list", "list", []),
        ("spawn --name x make --json", "spawn", ["--name", "x"]),
        ("spawn --wait -- make --json", "spawn", ["--wait", "--"]),
        ("exec s ls --json", "exec", ["s"]),
        ("exec -w / s --json ls --wait", "exec", ["-w", "/", "s", "--json"]),
        ("", "", []),
        ("--version", "", []),
    ],
)
def test_a_commands_words_are_its_own(line: str, name: str, words: list[str]) -> None:
    assert _own(line) == (name, words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("exec s true", True),
        ("spawn true --wait", False),
        ("spawn --wait true", True),
        ("spawn --follow", True),
        ("tail --exit-status s", True),
        ("tail s", False),
        ("wait s", True),
        ("wait s --for exit", True),
        ("wait s --for=exit --timeout 5s", True),
        ("wait @last", True),
        ("wait s --for prompt", False),
        ("wait a b", False),
        ("wait @user", False),
        ("wait -m user", False),
        ("wait --any s", False),
        ("list", False),
    ],
)
def test_which_commands_end_with_a_programs_own_code(line: str, expected: bool) -> None:
    assert passes_through(*_own(line)) is expected
