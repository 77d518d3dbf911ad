"""`doctor`: what could go wrong here, and the command that helps."""

from __future__ import annotations

import os
from collections import Counter

import click

from orchctl import procfs
from orchctl.cli.output import Form, forms
from orchctl.client.doctor import Finding, Level, diagnose
from orchctl.terminal import one_line

COLOURS = {Level.OK: "green", Level.NOTE: "cyan", Level.WARNING: "yellow", Level.PROBLEM: "red"}


@click.command("doctor")
@forms
def doctor_command(form: Form) -> int:
    """Look for what could go wrong here, and name the command that helps.

    The state directory, the supervisor, the disk, the machine, the login, shells and agents. It changes nothing,
    starts nothing that stays, and works where nothing else does. A note is worth knowing, a warning may become a
    problem, and a problem stops orchctl.

    \b
    orchctl doctor
    orchctl doctor --json | jq -r '.findings[] | select(.level == "problem").fix'

    \b
    Exit codes: 0 there is no problem; 1 there is one; 2 usage.
    """
    found = []
    for finding in diagnose(_environment()):
        found.append(finding)
        if form.words:
            _print(finding)
    counts = Counter(finding.level for finding in found)
    numbers = {f"{level}s": counts[level] for level in (Level.PROBLEM, Level.WARNING, Level.NOTE)}
    words = ", ".join(f"{name}: {number}" for name, number in numbers.items())
    form.one({**numbers, "findings": found}, lambda: click.echo(words))
    return 1 if counts[Level.PROBLEM] else 0


def _print(finding: Finding) -> None:
    level = click.style(f"{finding.level:<8}", fg=COLOURS[finding.level])
    click.echo(f"{level} {finding.check:<12} {one_line(finding.what)}")
    if finding.fix is not None:
        click.echo(f"{'':<8} {'':<12} → {one_line(finding.fix)}")


def _environment() -> dict[str, str]:
    """As we were given it: Python itself may set LC_CTYPE."""
    given = procfs.environment("self")
    if given is None:
        return dict(os.environ)
    return {name: value for name, _, value in (os.fsdecode(pair).partition("=") for pair in given)}
