"""`expect`: wait for one of several patterns in what a session writes."""

from __future__ import annotations

from typing import Any

import click

from orchctl.cli.app import DURATION, App, pass_app, refuse_if
from orchctl.cli.output import Form, forms, show_text
from orchctl.plain import text_or_base64
from orchctl.session.model import Expected


@click.command("expect", context_settings={"max_content_width": 100})
@click.option("--timeout", "timeout_s", type=DURATION, metavar="D", help="Give up after this long; exit 124.")
@click.argument("session")
@click.argument("patterns", nargs=-1, metavar="PATTERN...")
@forms
@pass_app
def expect_command(app: App, session: str, patterns: tuple[str, ...], timeout_s: float | None, form: Form) -> None:
    """Wait until one of the PATTERNs is in what SESSION wrote since the caller's last input, or comes.

    Prints the number of the pattern that came first, counted from 0, and then the text before it. Patterns are
    regular expressions of Python; ^ and $ are the ends of lines. If several begin at the same place, the first of
    them counts. --json has index, match, before and groups.

    \b
    orchctl send db 'select 1;' && orchctl expect db 'rows?\\)' 'ERROR.*' --timeout 30s
    orchctl expect login 'assword:' '\\$ ' --template '{index}'

    \b
    Exit codes: 0 one of them came; 2 usage; 3 no such session, or it ended without any; 5 the
    session is the caller's own; 8 no supervisor answers; 124 timed out.
    """
    refuse_if(not patterns, "Say at least one PATTERN to expect.")
    with app.client() as client:
        found = client.expect(session, patterns, timeout_s=timeout_s)
    form.one(_plain(found), lambda: show_text(f"{found.index}\n".encode() + _line(found.before)))


def _line(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _plain(found: Expected) -> dict[str, Any]:
    groups = [None if one is None else one.decode("utf-8", "backslashreplace") for one in found.groups]
    return {
        "index": found.index,
        **text_or_base64("match", found.match),
        **text_or_base64("before", found.before),
        "groups": groups,
        "dropped_bytes": found.dropped_bytes,
    }
