"""`search`: which lines of which sessions match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from orchctl.cli import output
from orchctl.cli.app import App, pass_app, refuse_if, report
from orchctl.cli.follow import say_gap
from orchctl.cli.options import PointInTime, sessions_argument
from orchctl.cli.output import Form, forms, write_all
from orchctl.cli.tables import Shown
from orchctl.errors import OrchctlError
from orchctl.plain import text_or_base64
from orchctl.session.model import Selection, Session
from orchctl.session.search import Count, Line

TROUBLE = 2  # any error: 1 says that nothing was found
LINES = click.IntRange(0)


@click.command("search", context_settings={"max_content_width": 100})
@click.argument("pattern")
@click.option("-F", "--fixed-strings", "fixed", is_flag=True, help="PATTERN is text.")
@click.option("-E", "--regex", "regex", is_flag=True, help="PATTERN is a regular expression; the default.")
@click.option("-i", "--ignore-case", is_flag=True, help="a is A; of ASCII letters only.")
@click.option("-n", "--line-number", "numbers", is_flag=True, help="The line's number in front of it.")
@click.option("-A", "--after-context", "after", type=LINES, metavar="N", help="N lines after each match, too.")
@click.option("-B", "--before-context", "before", type=LINES, metavar="N", help="N lines before each match, too.")
@click.option("-C", "--context", type=LINES, metavar="N", help="Both.")
@click.option("--since", type=PointInTime(), metavar="5m|TIME", help="Only what was written since then.")
@click.option("-c", "--count", is_flag=True, help="How many lines match, for each session.")
@click.option("--max", "limit", type=click.IntRange(1), metavar="N", help="N lines of each session at most.")
@sessions_argument(required=False)
@forms
@pass_app
def search_command(app: App, /, pattern: str, selection: Selection, form: Form, **given: Any) -> int:
    """Show the lines that match PATTERN in the output of SESSIONS: of all there are, ended ones too.

    PATTERN is a regular expression in the syntax of Python's re: \\d \\s \\w, a|b, x{2,3}; with -F it is text. It is
    looked for in each line by itself, and bytes are compared: a dot is one byte. Lines are those that 'orchctl tail
    -n all' shows into a pipe, with commands run by exec as they were given; their numbers count from the first
    that is kept. Unless one session is named, its name is in front of each line. Lines over 4 MiB are searched in
    pieces of that size, and the first piece that matches is shown. What is no longer kept is named on stderr.

    The search runs in a process of its own, which reads the logs: nobody else waits for it, and Ctrl-C ends it.
    With --json, one object a line; spans count characters of text, or bytes where text_b64 stands in its place.

    \b
    orchctl search 'error|panic'
    orchctl search -F -i -C 2 'connection refused' @orchestrator:coordinator-001
    orchctl search --since 10m --count Traceback -l job=nightly
    orchctl search -n '^make.*Error \\d+' build && echo it failed

    \b
    Exit codes: 0 found; 1 not found; 2 any error, also where something was found.
    """
    try:
        return _search(app, pattern, selection, form, given)
    except OrchctlError as error:
        report(error.code, error.message, as_json=form.as_json)
    except OSError as error:
        report("os-error", error.strerror or str(error), as_json=form.as_json)
    return TROUBLE


def _search(app: App, pattern: str, selection: Selection, form: Form, given: dict[str, Any]) -> int:
    refuse_if(given["fixed"] and given["regex"], "-F and -E exclude each other.")
    since = given["since"]
    refuse_if(since is not None and since.unix_s is None, "An offset is a place in one session's output; give a time.")
    if selection.empty and not click.get_current_context().params.get("sessions"):  # `-` may have named none
        selection = Selection(everything=True)
    painted = form.words and output.on_stdout(app.colour)
    with app.client() as client:
        stream = client.search(
            pattern,
            selection,
            fixed=given["fixed"],
            ignore_case=given["ignore_case"],
            before=given["context"] if given["before"] is None else given["before"],
            after=given["context"] if given["after"] is None else given["after"],
            since=None if since is None else since.unix_s,
            count=given["count"] or form.quiet,
            limit=1 if form.quiet else given["limit"],
            numbers=given["numbers"] or not form.words,
            spans=painted or not form.words,
        )
        terminal = output.is_terminal(1)
        words = Shown(prefix=not selection.single, numbers=given["numbers"], painted=painted, terminal=terminal)
        return _show(stream.batches(), words, form)


def _show(batches: Any, words: Shown, form: Form) -> int:
    found = failed = False
    put: Callable[[Session, Line | Count], bytes] = words.put if form.words else lambda *one: form.line(_object(*one))
    for batch in batches:
        shown: list[bytes] = []
        for session, finding in batch:
            if isinstance(finding, Line | Count):
                found = found or isinstance(finding, Line) or finding.lines > 0
                shown += [] if form.quiet else [put(session, finding)]
            elif isinstance(finding, str):
                failed = True
                report("search-failed", f"{session.name or session.id}: {finding}", as_json=form.as_json)
            elif form.as_json:
                gap = {"type": "gap", "session": session.id, "first": finding.first, "end": finding.end}
                shown.append(form.line(gap))
            else:
                say_gap(finding, session.name or session.id)
        write_all(1, b"".join(shown))
        if form.quiet and found:
            break
    return TROUBLE if failed else 0 if found else 1


def _object(session: Session, finding: Line | Count) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "count", "session": session.id, "name": session.name}
    if isinstance(finding, Count):
        return told | {"count": finding.lines}
    told |= {"type": "match" if finding.matches else "context", "offset": finding.offset, "line": finding.number}
    told |= {"part": True} if finding.part else {}
    told |= text_or_base64("text", finding.text)
    spans = finding.spans
    if "text" in told and not finding.text.isascii():
        spans = tuple((_characters(finding.text, start), _characters(finding.text, end)) for start, end in spans)
    return told | {"spans": spans}


def _characters(text: bytes, end: int) -> int:
    return len(text[:end].decode(errors="ignore"))
