"""`audit` and `verify`: who did what, and whether the journal and every other file are what they were."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import click

from orchctl.cli.app import refuse_if
from orchctl.cli.commands.events import Since
from orchctl.cli.options import clock
from orchctl.cli.output import Form, forms, progress, write_all
from orchctl.client.workers import ask_store
from orchctl.errors import BadInput, Internal, NoSuchSession, NotPermitted
from orchctl.paths import Root, check, find_root
from orchctl.session import selection
from orchctl.terminal import one_line
from orchctl.units import count

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

    A session is an id, a name, 4 or more digits of an id, @last, or @MANAGER for all of a manager's and below; also one
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
    refuse_if(head is not None and not verify, "--head is for --verify.")
    if verify:
        refuse_if(sessions or since != (None, None), "--verify checks the whole journal: without SESSIONS and --since.")
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
        pruned = count(int(deed.get("count") or 0), "session")
        return f"the output of {pruned}" if deed.get("output") else pruned
    if deed["deed"] == "config":
        return ", ".join(map(str, deed.get("changed") or ()))
    return f"{deed['bytes']} bytes" if deed["deed"] == "input" else ""


@click.command("verify")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@forms
def verify_command(sessions: tuple[str, ...], form: Form) -> int:
    """Check every file of the state directory, or those of SESSION (an id, a name, 4 or more digits of an id).

    It reads only: nothing is repaired, no supervisor is needed or started, and sessions may go on meanwhile.
    One line for each thing that is wrong: session, kind, file, and what it is. What was written in the last
    moments before and is not sealed yet has nothing to be compared with.

    \b
    orchctl verify
    orchctl verify db --json

    \b
    Exit codes: 0 nothing is wrong; 1 something is; 2 usage; 3 no such session; 4 the state directory
    cannot be used.
    """
    root = find_root(os.environ)
    check(root)
    ids = [_find(root, session) for session in sessions]
    findings: list[Line] = []
    summary: Line | None = None
    with progress("checking", quiet=not form.words):
        for line in _lines(root, ids):
            summary = line.get("summary")
            if summary is None:
                findings.append(line)
                if form.words:
                    click.echo(_shown_finding(line))
    if summary is None:
        raise Internal("the check broke off before its end", code="verify-failed")
    words = "sessions: {sessions}, bytes of output: {bytes}, findings: {findings}".format(**summary)
    form.one({**summary, "findings": findings}, lambda: click.echo(words))
    return 1 if findings else 0


def _lines(root: Root, ids: list[str]) -> Iterator[Line]:
    """What the check says, as it says it; -P, so that nothing in the current directory can take a module's place."""
    argv = [sys.executable, "-P", "-m", "orchctl.log.check", "verify", root.path]
    argv += [f"--session={session}" for session in ids]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            for line in child.stdout:
                yield json.loads(line)
        except BaseException:  # Ctrl-C, or nobody listens any more
            child.kill()
            raise
        last = child.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
    if child.returncode:
        raise Internal(f"the check ended with {child.returncode}: {last}", code="verify-failed")


def _shown_finding(finding: Line) -> str:
    session = (finding["session"] or "-")[:8]
    return one_line(f"{session:<8} {finding['kind']} {finding['path']}: {finding['detail']}")


def _find(root: Root, text: str) -> str:
    """The id that is meant, by the names of directories, so that it works where nothing else does."""
    ids = _ids(root)
    if text in ids:
        return text
    named = [(created_at, one) for one in ids for name, created_at in [_name(root, one)] if name == text]
    if named:
        return max(named)[1]  # the newest: a name is taken again only when the one before has ended
    if (found := selection.by_prefix(text, ids)) is not None:
        return found
    raise NoSuchSession(f"no session {text!r}; 'orchctl list -a' shows all of them")


def _ids(root: Root) -> list[str]:
    try:
        with os.scandir(root.sessions) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise NotPermitted(f"cannot look at {root.sessions}: {error.strerror}", code="bad-state-dir") from None


def _name(root: Root, session: str) -> tuple[str | None, float]:
    try:
        with open(f"{root.sessions}/{session}/spec.json", encoding="ascii") as file:
            spec = json.load(file)
        return str(spec["name"]), float(spec["created_at"])
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None, 0.0
