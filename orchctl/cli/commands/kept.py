"""`events` and `prune`: what happened, and what is kept of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import click

from orchctl.cli.app import DURATION, SIZE_BYTES, App, json_option, pass_app, quiet_option, show_json
from orchctl.cli.moments import parse_time
from orchctl.client.output import write_all

TYPES = (
    "session.state",
    "command",
    "input",
    "error",
    "gap",
    "lease",
    "limit",
    "turn",
    "tool",
    "reasoning",
    "needs-input",
    "answered",
)


class Since(click.ParamType[tuple[int | None, float | None]]):
    """An event's number, a duration before now, or a time."""

    name = "since"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, float | None]:
        """The number, or the Unix time."""
        if isinstance(value, tuple):
            return value
        text = str(value)
        if text.isascii() and text.isdigit():
            return int(text), None
        try:
            return None, parse_time(text)
        except ValueError:
            self.fail(f"{text!r} is neither an event's number, nor a duration such as 5m, nor a time", param, ctx)


@click.command("events")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens from now on.")
@click.option("--since", type=Since(), default=(None, None), metavar="SEQ|5m|TIME", help="Where to begin.")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), metavar="T", help="Only these; repeatable.")
@click.option("--exec", "command", metavar="CMD", help="Run CMD in a shell for each event, which is on its stdin.")
@click.option("--json", "as_json", is_flag=True, help="What comes is NDJSON in any case.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; for --exec.")
@click.argument("sessions", nargs=-1)
@pass_app
def events_command(
    app: App,
    follow: bool,
    since: tuple[int | None, float | None],
    types: tuple[str, ...],
    command: str | None,
    as_json: bool,
    quiet: bool,
    sessions: tuple[str, ...],
) -> int:
    """Show what happened to SESSIONS, or to all: one JSON object a line, oldest first.

    Each event has a number, `seq`, that only grows: a reader that ended goes on with --since SEQ.
    The supervisor may die and come back meanwhile: no event is lost or shown twice. A session is an
    id, a name, or @MANAGER for all of a manager's and below.

    \b
    orchctl events --since 1h --type session.state
    orchctl events -f --type command --exec 'jq -r .text >> commands.log' work

    \b
    Exit codes: 0; 1 with --exec, if CMD failed once; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    import json

    seq, time = since
    failed = False
    with app.client() as client:
        for event in client.events(*sessions, since_seq=seq, since=time, types=types, follow=follow):
            line = json.dumps(event).encode() + b"\n"
            if not quiet:
                write_all(1, line)
            if command is not None:
                failed = not _run(command, line) or failed
    return int(failed)


def _run(command: str, line: bytes) -> bool:
    done = subprocess.run(["/bin/sh", "-c", command], input=line, check=False, env=os.environ)
    if done.returncode:
        sys.stderr.write(f"orchctl: {command!r} ended with {done.returncode}\n")
    return done.returncode == 0


@click.command("prune")
@click.option("--older-than", type=DURATION, metavar="D", help="Sessions that ended longer ago than this.")
@click.option("--size", type=SIZE_BYTES, metavar="SIZE", help="The oldest, until the output of the rest is no more.")
@click.option("--output", is_flag=True, help="Take their output alone; live sessions may be named too.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@json_option
@quiet_option
@click.argument("sessions", nargs=-1)
@pass_app
def prune_command(
    app: App,
    older_than: float | None,
    size: int | None,
    output: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    sessions: tuple[str, ...],
) -> int:
    """Take away ended sessions: those named, or those that are too old or too much.

    Without any option: those that ended longer ago than they are kept, which is 7 days. What goes of a
    live session's output is told to its readers as a gap.

    \b
    orchctl prune --older-than 1d --dry-run
    orchctl prune --size 500M
    orchctl prune --output work

    \b
    Exit codes: 0 (also when there was nothing to take); 2 usage; 3 no such session; 5 a session is
    not over; 8 no supervisor answers.
    """
    if sessions and (older_than is not None or size is not None):
        raise click.UsageError("Name sessions, or say how old or how much; not both.")
    with app.client() as client:
        pruned = client.prune(*sessions, older_than_s=older_than, keep_bytes=size, output=output, dry_run=dry_run)
    if as_json:
        show_json(pruned)
    elif quiet:
        for session in pruned.sessions:
            click.echo(session)
    else:
        what = "sessions' output" if output else "sessions"
        verb = "would go" if dry_run else "pruned"
        click.echo(f"{len(pruned.sessions)} {what} {verb}, {pruned.output_bytes} bytes")
    return 0
