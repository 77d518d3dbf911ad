"""`limits`: what managers may have, and what they have."""

from __future__ import annotations

import os

import click

from orchctl import units
from orchctl.cli.output import Form, forms, table
from orchctl.client.usage import LimitRow, look
from orchctl.paths import check, find_root


@click.command("limits")
@click.argument("manager", required=False)
@forms
def limits_command(manager: str | None, form: Form) -> int:
    """Show each limit and what is used of it: for MANAGER, or for all that have sessions or a limit of their own.

    A limit counts a manager with all below it. Every manager above a session that has limits of its own is asked; the
    default holds for the topmost. 'sessions' are live ones, 'log' is output that is kept; 'time' and 'idle' are what
    each session may have at most. No supervisor is needed or started.

    \b
    orchctl limits
    orchctl limits orchestrator:coordinator-001 --json
    orchctl config set limits.orchestrator:coordinator-001.sessions 20

    \b
    Exit codes: 0; 1 a limit is reached; 2 usage; 4 the state directory cannot be used.
    """
    root = find_root(os.environ)
    check(root)
    rows = look(root, manager)
    lines = [_line(row) for row in rows]
    form.several(rows, lambda: table(["MANAGER", "LIMIT", "VALUE", "USED", "ORIGIN"], lines), key="manager")
    return int(any(row.value is not None and row.used is not None and row.used >= row.value for row in rows))


def _line(row: LimitRow) -> list[str]:
    used = "-" if row.used is None else units.about_size(row.used) if row.limit == "log" else str(row.used)
    origin = f"config.toml:{row.line}" if row.line is not None else "default"
    return [row.manager or "(all)", row.limit, _value(row), used, origin]


def _value(row: LimitRow) -> str:
    if row.value is None:
        return "none"
    if row.limit == "log":
        return units.format_size(int(row.value))
    return units.format_duration(row.value) if row.limit in ("time", "idle") else f"{row.value:.0f}"
