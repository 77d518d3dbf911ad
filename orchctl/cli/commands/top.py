"""`top`: what sessions use."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from orchctl.cli import colour, tables
from orchctl.cli.app import App, pass_app
from orchctl.cli.columns import aligned
from orchctl.cli.options import sessions_argument
from orchctl.cli.output import Form, forms
from orchctl.session.model import Selection, Session

HEAD = ("ID", "NAME", "CPU%", "TIME", "MEMORY", "READ", "WRITTEN", "PROCS", "OUTPUT", "COMMAND")
APART_S = 0.5  # between two looks, where only one table is shown


@click.command("top")
@click.option("--once", is_flag=True, help="One look, also on a terminal; into a pipe it is one in any case.")
@sessions_argument(required=False)
@forms
@pass_app
def top_command(app: App, selection: Selection, once: bool, form: Form) -> None:
    """Show what live sessions use, the busiest first: all their processes together, anew each second.

    CPU% is of one processor, since the last look. TIME is all processor time so far.

    \b
    orchctl top
    orchctl top --once -m orchestrator:coordinator-001
    orchctl top --json

    \b
    Exit codes: 0, also for none; 2 usage; 3 a session that was named does not exist;
    8 no supervisor answers.
    """
    before: dict[str, tuple[float, float]] = {}
    chosen = Selection(everything=True) if selection.empty else selection
    with app.client() as client:

        def look() -> list[tuple[Session, float]]:
            now = time.monotonic()
            found = [(one, _share(one, before, now)) for one in client.select(chosen, usage=True) if one.is_alive]
            return sorted(found, key=lambda pair: (-pair[1], -(pair[0].cpu or 0.0)))

        if colour.is_terminal(1) and form.words and not once:
            from orchctl.cli.watching import repaint

            repaint(lambda: _lines(look()))
            return
        if look():
            time.sleep(APART_S)
        found = look()
    form.several([one for one, _ in found], lambda: tables.echo_lines(_lines(found) if found else []))


def _share(session: Session, before: dict[str, tuple[float, float]], now: float) -> float:
    """Percent of one processor since the last look."""
    cpu = session.cpu or 0.0
    then, at = before.get(session.id, (cpu, now))
    before[session.id] = (cpu, now)
    return 100.0 * max(0.0, cpu - then) / (now - at) if now > at else 0.0


def _lines(found: Sequence[tuple[Session, float]]) -> list[str]:
    return aligned(HEAD, [_row(session, share) for session, share in found], width=colour.width())


def _row(session: Session, share: float) -> list[str]:
    io = session.io
    return [
        session.id[:8],
        session.name or "-",
        f"{share:.0f}",
        f"{session.cpu or 0.0:.1f}s",
        tables.size(session.memory),
        tables.size(io.read_bytes if io else None),
        tables.size(io.written_bytes if io else None),
        str(session.processes or 0),
        tables.size(session.output.next_offset),
        tables.command_of(session),
    ]
