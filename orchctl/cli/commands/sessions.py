"""`list` and `info`."""

from __future__ import annotations

import time

import click

from orchctl.cli.app import App, json_option, pass_app, quiet_option, show_json
from orchctl.client.views import one_line
from orchctl.model.session import Session


@click.command("list")
@click.option("-a", "--all", "ended_too", is_flag=True, help="Ended sessions too.")
@click.option("-m", "--manager", help="Only those of this manager and below it.")
@json_option
@quiet_option
@pass_app
def list_command(app: App, ended_too: bool, manager: str | None, as_json: bool, quiet: bool) -> None:
    """Show the live sessions, oldest first.

    \b
    orchctl list
    orchctl list -a --json

    \b
    Exit codes: 0; 2 usage; 8 no supervisor answers.
    """
    with app.client() as client:
        sessions = client.list(managed_by=manager, ended_too=ended_too)
    if as_json:
        show_json(sessions)
    elif quiet:
        for session in sessions:
            click.echo(session.id)
    elif sessions:
        _table([_row(session) for session in sessions])


@click.command("info")
@json_option
@quiet_option
@click.argument("session")
@pass_app
def info_command(app: App, session: str, as_json: bool, quiet: bool) -> None:
    """Show SESSION (an id, a name, 8 or more digits of an id, or @last) in full.

    \b
    orchctl info db
    orchctl info @last --json

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        found = client.info(session)
    if as_json:
        show_json(found)
    elif not quiet:
        for name, value in _lines(found):
            click.echo(f"{name:<12} {one_line(value)}")


def _row(session: Session) -> list[str]:
    end = session.ended_at or time.time()
    age = _age(end - (session.started_at or session.created_at))
    state = session.state.value if session.exit_status is None else f"closed ({session.exit_status})"
    return [session.id[:8], session.name or "-", session.managed_by, state, age, one_line(_command(session))]


def _table(rows: list[list[str]]) -> None:
    rows = [["ID", "NAME", "MANAGER", "STATE", "TIME", "COMMAND"], *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _lines(session: Session) -> list[tuple[str, str]]:
    times = (session.created_at, session.started_at, session.ended_at)
    created, started, ended = (_stamp(at) for at in times)
    output = session.output
    found = {
        "id": session.id,
        "name": session.name,
        "backend": session.backend,
        "managed_by": session.managed_by,
        "state": session.state.value,
        "command": _command(session),
        "cwd": session.cwd,
        "repo": session.repo,
        "size": f"{session.cols}x{session.rows}",
        "pid": session.pid,
        "created": created,
        "started": started,
        "ended": ended,
        "end_reason": session.end_reason.value if session.end_reason else None,
        "exit_code": session.exit_code,
        "signal": session.signal,
        "output": f"{output.first_offset}–{output.next_offset}, {output.kept_bytes} bytes kept",
    }
    return [(name, str(value)) for name, value in found.items() if value is not None]


def _command(session: Session) -> str:
    import shlex

    return shlex.join(session.command)


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def _stamp(at: float | None) -> str | None:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at is not None else None
