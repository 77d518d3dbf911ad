"""`verify`: what is on disk, checked by a process of its own that needs no supervisor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import click

from orchctl.cli.output import Form, forms
from orchctl.cli.progress import progress
from orchctl.errors import BadInput, Internal, NoSuchSession, NotPermitted
from orchctl.paths import Root, check, find_root
from orchctl.terminal.views import one_line

_PREFIX = re.compile(r"[0-9a-f-]{8,36}")
Line = dict[str, Any]


@click.command("verify")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@forms
def verify_command(sessions: tuple[str, ...], form: Form) -> int:
    """Check every file of the state directory, or those of SESSION (an id, a name, 8 or more digits of an id).

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
                    click.echo(_shown(line))
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


def _shown(finding: Line) -> str:
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
    found = [one for one in ids if one.startswith(text)] if _PREFIX.fullmatch(text) else []
    if len(found) > 1:
        raise BadInput(f"{len(found)} sessions begin with {text}; give more digits", code="ambiguous-session")
    if not found:
        raise NoSuchSession(f"no session {text!r}; 'orchctl list -a' shows all of them")
    return found[0]


def _ids(root: Root) -> list[str]:
    try:
        with os.scandir(root.sessions) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise NotPermitted(f"cannot look at {root.sessions}: {error.strerror}", code="bad-state-dir") from None


def _name(root: Root, session: str) -> tuple[str | None, float]:
    """A session's name and when it was created, as far as its spec can be read."""
    try:
        with open(f"{root.sessions}/{session}/spec.json", encoding="ascii") as file:
            spec = json.load(file)
        return str(spec["name"]), float(spec["created_at"])
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None, 0.0
