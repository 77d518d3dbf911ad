"""Showing something anew while it changes: in place on a terminal, one after another into a pipe."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from orchctl.cli.output import Form
from orchctl.client.output import write_all
from orchctl.plain import to_plain

T = TypeVar("T")
EVERY_S = 1.0  # times in the table count seconds
_TO_TOP, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def watch(look: Callable[[], Sequence[T]], lines: Callable[[Sequence[T]], list[str]], form: Form) -> None:
    """Until Ctrl-C. A terminal is repainted each second; a pipe gets what changed, as often as it does."""
    if form.words and os.isatty(1):
        repaint(lambda: lines(look()))
        return
    before: Any = None
    while True:
        found = look()
        now = [_steady(to_plain(one)) for one in found]
        if now != before:
            before = now
            write_all(1, _text(found, lines, form))
        time.sleep(EVERY_S)


def _text(found: Sequence[T], lines: Callable[[Sequence[T]], list[str]], form: Form) -> bytes:
    if form.as_json:
        return json.dumps(to_plain(list(found))).encode() + b"\n"
    if form.template is not None:
        return b"".join(form.line(to_plain(one)) for one in found)
    if form.quiet:
        return "".join(f"{to_plain(one)['id']}\n" for one in found).encode()
    return "".join(f"{line}\n" for line in [*lines(found), ""]).encode()


def _steady(session: dict[str, Any]) -> dict[str, Any]:
    """What is news; time that passes is none."""
    passing = ("uptime", "cpu", "memory", "io", "processes", "output")
    return {name: value for name, value in session.items() if name not in passing}


def repaint(lines: Callable[[], list[str]]) -> None:
    """Each second, on a screen of our own; until Ctrl-C."""
    sys.stdout.write("\x1b[?1049h\x1b[?25l")  # a screen of our own, without a cursor
    try:
        while True:
            rows = os.get_terminal_size(1).lines
            shown = (lines() or ["no session"])[: max(1, rows - 1)]
            sys.stdout.write(_TO_TOP + "".join(f"{line}{_CLEAR_LINE}\r\n" for line in shown) + _CLEAR_BELOW)
            sys.stdout.flush()
            time.sleep(EVERY_S)
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
