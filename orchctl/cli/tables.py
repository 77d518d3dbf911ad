"""Tables for people: sessions, matches of a search, and tables that are drawn again when something changes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orchctl.cli.output import BAD, STATES, Form, aligned, paint, write_all
from orchctl.plain import to_plain
from orchctl.session.lease_state import Lease
from orchctl.session.model import Session, State

if TYPE_CHECKING:
    from orchctl.session.search import Count, Line

HEAD = ("ID", "NAME", "MANAGER", "STATE", "TIME", "ENDED", "COMMAND")
NOT_BY_ITSELF = ("killed", "timeout", "idle-timeout")  # what is shown instead of the exit code, which is the signal's
SORTS: dict[str, Callable[[Session], tuple[object, ...]]] = {
    "created": lambda session: (session.created_at,),
    "name": lambda session: (session.name is None, session.name or ""),
    "manager": lambda session: (session.managed_by, session.created_at),
    "state": lambda session: (list(State).index(session.state), session.created_at),
    "time": lambda session: (-(session.uptime or 0.0),),
    "ended": lambda session: (session.ended_at is None, session.ended_at or 0.0),
    "cpu": lambda session: (-(session.cpu or 0.0),),
    "memory": lambda session: (-(session.memory or 0),),
    "output": lambda session: (-session.output.next_offset,),
}


def in_order(sessions: Iterable[Session], key: str) -> list[Session]:
    """Sorted by one of `SORTS`; what is equal stays oldest first."""
    return sorted(sorted(sessions, key=lambda one: one.created_at), key=SORTS[key])


def row(session: Session) -> list[str]:
    """One line of `list`."""
    return [
        session.id[:8],
        session.name or "-",
        session.managed_by,
        state_of(session),
        age(session.uptime or 0.0),
        f"{age(time.time() - session.ended_at)} ago" if session.ended_at is not None else "-",
        command_of(session),
    ]


def state_of(session: Session) -> str:
    """With what matters beside it: an exit status, or what keeps it."""
    if session.state is State.CLOSED:
        reason = session.end_reason.value if session.end_reason else None
        told = reason if session.exit_status is None or reason in NOT_BY_ITSELF else session.exit_status
        return f"closed ({told})"
    beside = [name for name in ("paused", "degraded") if getattr(session, name)]
    beside += ["stalled"] if session.stalled else []
    return f"{session.state.value} ({', '.join(beside)})" if beside else session.state.value


def colour_of(session: Session) -> int:
    """Of its state."""
    bad = session.exit_status not in (None, 0) or session.stalled is not None or session.degraded
    return BAD if bad else STATES[session.state.value]


def show_sessions(sessions: Sequence[Session], *, colour: bool, width: int = 1 << 30) -> list[str]:
    """The table of `list`; the state in colour."""
    if not sessions:
        return []
    columns: tuple[str, ...] = HEAD
    rows = [row(session) for session in sessions]
    if all(session.ended_at is None for session in sessions):  # the column would be empty
        at = HEAD.index("ENDED")
        columns, rows = HEAD[:at] + HEAD[at + 1 :], [one[:at] + one[at + 1 :] for one in rows]
    head, *lines = aligned(columns, rows, width=width)
    start = head.index("STATE")
    for number, session in enumerate(sessions):
        state = state_of(session)
        if lines[number][start : start + len(state)] == state:
            painted = paint(state, colour_of(session), on=colour)
            lines[number] = lines[number][:start] + painted + lines[number][start + len(state) :]
    return [head, *lines]


def echo_lines(lines: Iterable[str]) -> None:
    """Each on its own line."""
    for line in lines:
        click.echo(line, color=True)


def command_of(session: Session) -> str:
    """As it would be typed into a shell."""
    import shlex

    return shlex.join(session.command)


def age(seconds: float) -> str:
    """`42s`, `5m`, `3h`, `2d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


def size(count: float | None) -> str:
    """`512B`, `1.5K`, `20M`."""
    if count is None:
        return "-"
    for unit in ("B", "K", "M", "G"):
        if count < 1024 or unit == "G":
            return f"{count:.0f}{unit}" if count >= 10 or unit == "B" else f"{count:.1f}{unit}"
        count /= 1024
    raise AssertionError


def stamp(at: float | None) -> str | None:
    """Local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at is not None else None


def lease_of(lease: Lease | None) -> str:
    """Who may type, in one line."""
    if lease is None:
        return "free"
    at = f" at {lease.terminal}" if lease.terminal else ""
    left = f", {age(lease.expires_at - time.time())} left" if lease.expires_at is not None else ""
    back = f", then {lease.returns_to}" if lease.returns_to else ""
    return f"{lease.holder}  {lease.who}{at}{' (away)' if lease.away else ''}{left}{back}"


NAME, NUMBER, SIGN = 35, 32, 36
_MATCH, _PLAIN = "\x1b[1;31m", "\x1b[0m"
_RESETS = ("\x1b[0m", "\x1b[m")
_WORN = 8  # sequences: more make no visible difference
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")


class Shown:
    """Makes lines of findings. Into a pipe the text is as it is, byte for byte."""

    def __init__(self, *, prefix: bool, numbers: bool, painted: bool, terminal: bool) -> None:
        self._prefix = prefix
        self._numbers = numbers
        self._painted = painted
        self._terminal = terminal

    def put(self, session: Session, finding: Line | Count) -> bytes:
        """With its end."""
        from orchctl.session.search import Count

        if isinstance(finding, Count):
            return self._front(session, ":") + b"%d\n" % finding.lines
        sign = ":" if finding.matches else "-"
        apart = self._sign("--") + b"\n" if finding.apart else b""
        number = self._paint(str(finding.number), NUMBER) + self._sign(sign) if self._numbers else b""
        return apart + self._front(session, sign) + number + self._text(finding) + b"\n"

    def _front(self, session: Session, sign: str) -> bytes:
        return self._paint(session.name or session.id[:8], NAME) + self._sign(sign) if self._prefix else b""

    def _sign(self, text: str) -> bytes:
        return self._paint(text, SIGN)

    def _paint(self, text: str, number: int) -> bytes:
        return paint(text, number, on=self._painted).encode()

    def _text(self, line: Line) -> bytes:
        if not self._terminal and not (self._painted and line.spans):
            return line.text
        encoding = "backslashreplace" if self._terminal else "surrogateescape"
        text, at = line.text, 0
        shown, worn = "", list[str]()  # the colours that the line itself has by then
        for span in line.spans if self._painted else ():
            start, end = (_whole(text, max(place, at)) for place in span)
            before, match = (part.decode(errors=encoding) for part in (text[at:start], text[start:end]))
            shown += self._safe(before, worn) + _MATCH + self._bare(match) + _PLAIN
            worn += _COLOUR.findall(before + match)
            worn = [] if worn and worn[-1] in _RESETS else worn[-_WORN:]
            at = end
        shown += self._safe(text[at:].decode(errors=encoding), worn)
        shown += _PLAIN if "\x1b[" in shown else ""
        return shown.encode("utf-8", "surrogateescape")

    def _safe(self, text: str, worn: list[str]) -> str:
        text = "".join(worn) + text
        if not self._terminal:
            return text
        from orchctl.terminal.safe import within_line  # for matches alone; other tables are loaded by most commands

        return within_line(text)

    def _bare(self, text: str) -> str:
        return self._safe(_COLOUR.sub("", text), [])


def _whole(text: bytes, at: int) -> int:
    """The end of the character that a place is in; bytes that are none are left alone."""
    for end in range(at, min(at + 3, len(text))):
        if text[end] & 0xC0 != 0x80:
            return end
    return at


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
    """Each second, on a screen of our own; until `q` or Ctrl-C."""
    sys.stdout.write("\x1b[?1049h\x1b[?25l")  # a screen of our own, without a cursor
    with _keys() as quits:
        while True:
            rows = os.get_terminal_size(1).lines
            shown = (lines() or ["no session"])[: max(1, rows - 1)]
            sys.stdout.write(_TO_TOP + "".join(f"{line}{_CLEAR_LINE}\r\n" for line in shown) + _CLEAR_BELOW)
            sys.stdout.flush()
            if quits(EVERY_S):
                return


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Read single keys: whether `q` comes within so many seconds. Afterwards the terminal is as it was."""
    import select
    import termios
    import tty

    keyboard = 0 if os.isatty(0) else None
    before = termios.tcgetattr(keyboard) if keyboard is not None else None

    def quits(seconds: float) -> bool:
        if keyboard is None:
            time.sleep(seconds)
            return False
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and select.select([keyboard], [], [], left)[0]:
            keys = os.read(keyboard, 64)
            if not keys or b"q" in keys.lower():
                return True
        return False

    try:
        if keyboard is not None:
            tty.setcbreak(keyboard)
        yield quits
    finally:
        if keyboard is not None and before is not None:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
