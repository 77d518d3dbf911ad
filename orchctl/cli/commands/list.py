"""`list`, `info` and `top`: sessions in a table, one in full, and what they use."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from orchctl.cli import tables
from orchctl.cli.app import App, pass_app
from orchctl.cli.options import sessions_argument
from orchctl.cli.output import Form, aligned, forms, is_terminal, on_stdout, paint
from orchctl.cli.output import width as terminal_width
from orchctl.session.model import Selection, Session
from orchctl.terminal import one_line

if TYPE_CHECKING:
    from orchctl.client.blocking import Client
    from orchctl.session.agent import AgentState


GROUPS: dict[str, Callable[[Session], str]] = {
    "repo": lambda session: session.repo or "(no repository)",
    "manager": lambda session: session.managed_by,
}


class ListCommand(click.Command):
    """`-o json`, as other tools have it, is `--json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the habit translated."""
        at = next((at for at, pair in enumerate(itertools.pairwise(args)) if pair == ("-o", "json")), None)
        return super().parse_args(ctx, args if at is None else [*args[:at], "--json", *args[at + 2 :]])


@click.command("list", cls=ListCommand, context_settings={"max_content_width": 100})
@click.option("-a", "--all", "ended_too", is_flag=True, help="Ended sessions too.")
@click.option(
    "--sort", type=click.Choice(list(tables.SORTS)), default="created", help="By what; oldest first if not said."
)
@click.option("--group-by", type=click.Choice(list(GROUPS)), help="A heading for each repository or manager.")
@click.option("--watch", is_flag=True, help="Go on, and show it anew when it changes.")
@sessions_argument(required=False, all_option=False)
@forms
@pass_app
def list_command(
    app: App, selection: Selection, ended_too: bool, sort: str, group_by: str | None, watch: bool, form: Form
) -> None:
    """Show the live sessions: all, or those chosen.

    \b
    orchctl list
    orchctl list -a --sort ended --json
    orchctl list -m orchestrator:coordinator-001 --group-by repo
    orchctl list --template '{id}\\t{name}\\t{state}'

    \b
    Exit codes: 0, also for none; 2 usage; 3 a session that was named does not exist;
    8 no supervisor answers.
    """
    waiting = form.as_json or form.template is not None
    usage = waiting or sort in ("cpu", "memory")
    with app.client() as client:

        def look() -> list[Session]:
            found = _sessions(client, selection, ended_too=ended_too, usage=usage, waiting=waiting)
            return tables.in_order(found, sort)

        if watch:
            from orchctl.cli.tables import watch as go_on

            go_on(look, lambda found: _lines(app, found, group_by), form)
            return
        sessions = look()
    form.several(sessions, lambda: tables.echo_lines(_lines(app, sessions, group_by)))
    if not sessions and form.words and is_terminal(1):
        click.echo("orchctl: no session" if ended_too else "orchctl: no live session; -a shows ended ones", err=True)


def _sessions(
    client: Client, selection: Selection, *, ended_too: bool, usage: bool, waiting: bool
) -> Sequence[Session]:
    if selection.empty:
        return client.list(ended_too=ended_too, usage=usage, waiting=waiting)
    ended_too = ended_too or bool(selection.sessions)
    return client.select(selection, ended_too=ended_too, usage=usage, waiting=waiting)


def _lines(app: App, sessions: Sequence[Session], group_by: str | None) -> list[str]:
    painted = on_stdout(app.colour)
    width = terminal_width()
    if group_by is None:
        return tables.show_sessions(sessions, colour=painted, width=width)
    name_of = GROUPS[group_by]
    lines: list[str] = []
    for name, members in itertools.groupby(sorted(sessions, key=name_of), key=name_of):
        lines += [*([""] if lines else []), paint(one_line(name), 1, on=painted)]
        lines += [f"  {line}" for line in tables.show_sessions(list(members), colour=painted, width=width - 2)]
    return lines


@click.command("info")
@click.option("--env", is_flag=True, help="And the environment its program was started with: it may hold secrets.")
@click.argument("session")
@forms
@pass_app
def info_command(app: App, session: str, env: bool, form: Form) -> None:
    """Show SESSION (an id, a name, 4 or more digits of an id, or @last) in full.

    \b
    orchctl info db
    orchctl info @last --json
    orchctl info db --template '{exit_code}'

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        found = client.info(session, env=env)
    form.one(found, lambda: _show(found))


def _show(session: Session) -> None:
    for name, value in _fields(session):
        click.echo(f"{name:<12} {one_line(value)}")
    for name, value in sorted((session.env or {}).items()):
        click.echo(f"{'env':<12} {one_line(f'{name}={value}')}")


def _fields(session: Session) -> list[tuple[str, str]]:
    output, io = session.output, session.io
    found = {
        "id": session.id,
        "name": session.name,
        "backend": session.backend,
        "managed_by": session.managed_by,
        "labels": " ".join(f"{key}={value}" for key, value in sorted(session.labels.items())) or None,
        "state": tables.state_of(session),
        "run": session.run if session.run > 1 or session.restart != "no" else None,
        "restart": session.restart if session.restart != "no" else None,
        "command": tables.command_of(session),
        "shell": session.shell,
        "cwd": session.cwd,
        "repo": session.repo,
        "size": f"{session.cols}x{session.rows}" if session.cols else None,
        "pid": session.pid,
        "created": tables.stamp(session.created_at),
        "started": tables.stamp(session.started_at),
        "ended": tables.stamp(session.ended_at),
        "uptime": tables.age(session.uptime) if session.uptime is not None else None,
        "timeout": session.timeout_s,
        "idle_timeout": session.idle_s,
        "bind_pid": session.bind_pid,
        "end_reason": session.end_reason.value if session.end_reason else None,
        "exit_code": session.exit_code,
        "signal": session.signal,
        "waiting": session.waiting.value,
        "lease": tables.lease_of(session.lease) if session.lease is not None else None,
        **(_agent_fields(session.agent) if session.agent is not None else {}),
        "stalled": session.stalled,
        "leftover": " ".join(map(str, session.leftover)) or None,
        "cpu": f"{session.cpu:.2f} s" if session.cpu is not None else None,
        "memory": tables.size(session.memory) if session.memory is not None else None,
        "io": f"{tables.size(io.read_bytes)} read, {tables.size(io.written_bytes)} written" if io else None,
        "processes": session.processes,
        "output": f"{output.first_offset}–{output.next_offset}, {output.kept_bytes} bytes kept",
    }
    return [(name, str(value)) for name, value in found.items() if value is not None]


def _agent_fields(agent: AgentState) -> dict[str, str | int | None]:
    usage = agent.usage
    tokens = f"{usage.input_tokens} in, {usage.output_tokens} out"
    tokens += f", {usage.cached_tokens} cached" if usage.cached_tokens else ""
    tokens += f", {usage.reasoning_tokens} of reasoning" if usage.reasoning_tokens else ""
    return {
        "profile": agent.profile,
        "model": agent.model,
        "permission": agent.permission.value,
        "native": " ".join(f"{name}={value}" for name, value in sorted(agent.native.items())) or None,
        "server": agent.server,
        "turns": f"{agent.turns}{', one under way' if agent.busy else ''}",
        "pending": agent.pending or None,
        "tokens": tokens,
        "cost": f"{usage.cost_usd:.4f} USD" if usage.cost_usd is not None else None,
        "unknown": f"{agent.unknown} messages" if agent.unknown else None,
    }


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

        if is_terminal(1) and form.words and not once:
            from orchctl.cli.tables import repaint

            repaint(lambda: _use_lines(look()))
            return
        if look():
            time.sleep(APART_S)
        found = look()
    form.several([one for one, _ in found], lambda: tables.echo_lines(_use_lines(found) if found else []))


def _share(session: Session, before: dict[str, tuple[float, float]], now: float) -> float:
    """Percent of one processor since the last look."""
    cpu = session.cpu or 0.0
    then, at = before.get(session.id, (cpu, now))
    before[session.id] = (cpu, now)
    return 100.0 * max(0.0, cpu - then) / (now - at) if now > at else 0.0


def _use_lines(found: Sequence[tuple[Session, float]]) -> list[str]:
    return aligned(HEAD, [_row(session, share) for session, share in found], width=terminal_width())


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
