"""`audit`: who did what, and whether the journal that says so is what it was."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from typing import Any

import click

from orchctl.cli.commands.events import Since
from orchctl.cli.moments import clock
from orchctl.cli.output import Form, forms
from orchctl.client.output import write_all
from orchctl.client.workers import ask_store
from orchctl.errors import BadInput, Internal
from orchctl.paths import Root, check, find_root
from orchctl.terminal.views import one_line

_HEAD = re.compile(r"(?:\d{1,18}:)?[0-9a-f]{32}")
_HEADER = f"{'SEQ':>6}  {'TIME':<23}  {'WHO':<24}  {'DEED':<9}  {'SESSION':<8}  WHAT"
Line = dict[str, Any]


@click.command("audit")
@click.option("--verify", is_flag=True, help="Check that the journal is what it was.")
@click.option("--head", metavar="[SEQ:]HASH", help="With --verify: a head that was noted earlier.")
@click.option("--since", type=Since(), default=(None, None), metavar="SEQ|5m|TIME", help="Where to begin.")
@click.argument("sessions", nargs=-1)
@forms
def audit_command(
    verify: bool,
    head: str | None,
    since: tuple[int | None, float | None],
    sessions: tuple[str, ...],
    form: Form,
) -> int:
    """Show who did what to SESSIONS, or to all: spawn, exec, input, interrupt, kill, prune and the like, oldest first.

    A session is an id, a name, 8 or more digits of an id, @last, or @MANAGER for all of a manager's and below; also one
    that was pruned. With --json, one object a line. No supervisor is needed or started.

    The journal is a hash chain. --verify names each record that was changed, removed or put elsewhere. What was cut
    from its end, or written anew as a whole, shows only against a head noted elsewhere: --verify prints it, and so does
    'orchctl supervisor status'. Whoever runs as you can delete the journal: this detects, it does not prevent.

    \b
    orchctl audit --since 1h
    orchctl audit @orchestrator:coordinator-001 --json
    orchctl audit --verify | ssh elsewhere 'cat >> heads'
    orchctl audit --verify --head 57:0f3a8c5b9d2e47716a0b1c2d3e4f5061

    \b
    Exit codes: 0; 1 with --verify, something does not hold; 2 usage; 3 no such session; 4 the state directory
    cannot be used.
    """
    root = find_root(os.environ)
    check(root)
    if head is not None and not verify:
        raise click.UsageError("--head is for --verify.")
    if verify:
        if sessions or since != (None, None):
            raise click.UsageError("--verify checks the whole journal: without SESSIONS and --since.")
        return _verify(root, head, form)
    for number, deed in enumerate(_deeds(root, since, sessions)):
        if form.words and number == 0:
            click.echo(_HEADER)
        if form.words:
            write_all(1, _shown(deed).encode(errors="replace") + b"\n")
        elif not form.quiet:
            write_all(1, form.line(deed))
    return 0


def _deeds(root: Root, since: tuple[int | None, float | None], sessions: tuple[str, ...]) -> Iterator[Line]:
    words = [f"--session={session}" for session in sessions]
    words += [f"--own={os.environ.get('ORCHCTL_MANAGER') or 'user'}"]
    seq, time = since
    words += [f"--since-seq={seq}"] if seq is not None else []
    words += [f"--since={time}"] if time is not None else []
    return ask_store("audit", root.path, *words)


def _verify(root: Root, head: str | None, form: Form) -> int:
    if head is not None and not _HEAD.fullmatch(head):
        raise BadInput(
            f"{head!r} is not a head: 32 hex digits, perhaps with a record's number and ':' before", code="bad-head"
        )
    *findings, last = ask_store("chain", root.path, *([f"--head={head}"] if head is not None else []))
    summary = last.get("summary")
    if summary is None:
        raise Internal("the check broke off before its end", code="verify-failed")
    noted = "" if head is None or findings else "; the head that was noted is in it"
    form.one({**summary, "findings": findings}, lambda: _report(summary, findings, noted))
    return 1 if findings else 0


def _report(summary: Line, findings: list[Line], noted: str) -> None:
    for line in findings:
        click.echo(one_line(f"record {line['seq']}: {line['kind']}: {line['detail']}"))
    if summary["last_seq"] is None:
        click.echo("no records")
    else:
        click.echo(f"records {summary['first_seq']} to {summary['last_seq']}, findings: {len(findings)}{noted}")
        click.echo(f"head {summary['last_seq']}:{summary['head']}")


def _shown(deed: Line) -> str:
    session = (deed.get("session") or "-")[:8]
    cells = [str(deed["seq"]).rjust(6), clock(deed["time"]), str(deed.get("who") or "-").ljust(24)]
    cells += [deed["deed"].ljust(9), session.ljust(8)]
    return one_line("  ".join([*cells, _more(deed)]).rstrip())


def _more(deed: Line) -> str:
    """What there is to say about it, by its kind."""
    if deed["deed"] == "spawn":
        name = f"{deed['name']}: " if deed.get("name") else ""
        return name + shlex.join(map(str, deed.get("command") or ()))
    if deed["deed"] == "exec":
        return f"#{deed.get('number')} {deed.get('text')}"
    if deed["deed"] == "limit":
        return f"{deed.get('limit')} of {deed.get('owner') or 'all'}: {deed.get('used')} of {deed.get('value')}"
    if deed["deed"] == "prune":
        return f"{deed.get('count')} sessions" + ("' output" if deed.get("output") else "")
    if deed["deed"] == "config":
        return ", ".join(map(str, deed.get("changed") or ()))
    return f"{deed['bytes']} bytes" if deed["deed"] == "input" else ""
