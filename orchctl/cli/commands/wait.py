"""`wait`: until sessions have ended, or something else holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchctl.cli.app import DURATION, App, parse_duration, pass_app, refuse_if
from orchctl.cli.interrupts import exit_code
from orchctl.cli.options import Point, PointInTime, sessions_argument
from orchctl.cli.output import Form, forms, show_text
from orchctl.client.calls.wait import check_conditions
from orchctl.errors import NoSuchSession
from orchctl.plain import text_or_base64
from orchctl.session.model import Happened, Selection, Session

if TYPE_CHECKING:
    from orchctl.client.blocking import Client

QUIET_S = 2.0


@click.command("wait", context_settings={"max_content_width": 100})
@click.option(
    "--for",
    "conditions",
    multiple=True,
    metavar="exit|command|prompt|input|quiet[=2s]|state=STATE|output=REGEX",
    help="What to wait for; exit if not said. Repeatable.",
)
@click.option("--any", "first_only", is_flag=True, help="Come back with the first of several sessions.")
@click.option("--since", type=PointInTime(), metavar="WHEN", help="Look at output since then: 5m, a time or @OFFSET.")
@click.option("--new", is_flag=True, help="Look at output only as it comes from now on.")
@click.option("--timeout", "timeout_s", type=DURATION, metavar="D", help="Give up after this long; exit 124.")
@sessions_argument()
@forms
@pass_app
def wait_command(
    app: App,
    selection: Selection,
    conditions: tuple[str, ...],
    first_only: bool,
    since: Point | None,
    new: bool,
    timeout_s: float | None,
    form: Form,
) -> int:
    """Wait until SESSIONS have ended, or until something else holds, and say which.

    command: no command runs or waits. prompt: the shell waits for one. input: it waits for input, be it a line,
    a key, a password or a command. quiet=D: no output for D. state=S: idle, bootstrapping, live or closed.
    turn: an agent is not at work. needs-input: an agent asks something.
    output=REGEX: it is in what was written since the last input, or comes. With several, whichever is
    first. Sessions that have ended already count. Of several sessions, each is told as it comes to hold;
    one that ends before that is an error.

    \b
    orchctl wait build
    orchctl wait db --for output='ready to accept' --timeout 1m
    orchctl wait work --for prompt --for exit
    orchctl wait ask --for input && orchctl send ask yes
    orchctl wait --any @orchestrator:coordinator-001

    \b
    Exit codes: for one session's exit its own, 128+N for signal N, 125 any trouble of
    orchctl's; of several sessions 0 if all ended with 0, else 1; with --any that of the first;
    else 0; 2 usage; 3 no such session, or it ended before; 124 timed out.
    """
    names, quiet_s = _conditions(conditions)
    _check(selection, names, since, new=new)
    check_conditions(names or ["exit"])
    with app.client() as client:
        if set(names) <= {"exit"}:
            return _ends(client, selection, timeout_s, form, first_only=first_only)
        found = list[Happened]()
        for one in client.wait_for_each(
            [session.id for session in _chosen(client, selection)],
            names,
            first_only=first_only,
            quiet_s=quiet_s,
            since=since.unix_s if since else None,
            offset=since.offset if since else None,
            new=new,
            timeout_s=timeout_s,
        ):
            found.append(one)
            if form.words:
                _show(one, single=selection.single, first_only=first_only)
    form.results([_plain(one) for one in found], single=selection.single or first_only)
    return 0


def _chosen(client: Client, selection: Selection) -> list[Session]:
    chosen = list(client.select(selection, ended_too=True))
    if not chosen:
        raise NoSuchSession("no session matches; 'orchctl list -a' shows all")
    return chosen


def _ends(client: Client, selection: Selection, timeout_s: float | None, form: Form, *, first_only: bool) -> int:
    ended: list[Session] = []
    codes: list[int] = []
    for session in client.wait_each([one.id for one in _chosen(client, selection)], timeout_s=timeout_s):
        ended.append(session)
        codes.append(exit_code(session))
        if form.words and first_only:
            click.echo(session.id)
        elif form.words and not selection.single:
            click.echo(f"{session.name or session.id}  {codes[-1]}")
        if first_only:
            break
    form.results(ended, single=selection.single or first_only)
    return codes[0] if selection.single or first_only else int(any(codes))


def _show(happened: Happened, *, single: bool, first_only: bool) -> None:
    """What a person wants to know: of one session what matched, else which condition; of several also whose."""
    if single and happened.match is not None:
        show_text(happened.match + b"\n")
    elif single:
        click.echo(happened.condition)
    else:
        session = happened.session
        click.echo(f"{session.id if first_only else session.name or session.id}  {happened.condition}")


def _plain(happened: Happened) -> dict[str, Any]:
    condition = happened.condition.partition("=")[0]
    found: dict[str, Any] = {"condition": condition, "asked": happened.condition, "session": happened.session}
    return found if happened.match is None else found | text_or_base64("match", happened.match)


def _conditions(words: tuple[str, ...]) -> tuple[list[str], float]:
    """What the client is asked for; how long quiet lasts goes apart."""
    names, quiet_s = [], QUIET_S
    for word in words:
        name, equals, value = word.partition("=")
        timed = name == "quiet" and bool(equals)
        quiet_s = parse_duration(value) if timed else quiet_s
        names.append(name if timed else word)
    return names, quiet_s


def _check(selection: Selection, names: list[str], since: Point | None, *, new: bool) -> None:
    refuse_if(since is not None and new, "--since and --new exclude each other.")
    refuse_if(
        (since is not None or new) and not any(name.startswith("output=") for name in names),
        "--since and --new are for '--for output=REGEX'.",
    )
    refuse_if(
        since is not None and since.offset is not None and not selection.single,
        "An offset belongs to one session; several take '--since 5m' or a time.",
    )
