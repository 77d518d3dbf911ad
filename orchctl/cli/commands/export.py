"""`export`: a recording of a session, for other programs."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from orchctl.cli.app import App, pass_app, refuse_if
from orchctl.cli.follow import choose_view, say_gap
from orchctl.cli.output import Form, forms, write_all
from orchctl.session.stream import Gap
from orchctl.terminal.views import RawView, SafeView

if TYPE_CHECKING:
    from orchctl.client import recording
    from orchctl.session.model import Session

SHAPES = ("asciicast", "raw", "text", "jsonl")


@click.command("export")
@click.argument("session")
@click.option("--as", "shape", type=click.Choice(SHAPES), required=True, help="In which form.")
@click.option("-o", "--output", "path", metavar="FILE", help="Into this file instead of stdout; 0600 if it is new.")
@forms
@pass_app
def export_command(app: App, session: str, shape: str, path: str | None, form: Form) -> None:
    """Take out what SESSION has written, as far as it is kept; it may be live or ended.

    \b
    asciicast  a recording with times and resizes, which asciinema and its players play
    raw        the bytes as the program wrote them to its terminal
    text       the same with newlines as newlines and without our marks; commands run by exec as they were given
    jsonl      one object a chunk, as it is in the log, with its offset and its time; resizes and gaps too

    What is no longer kept is named on stderr. With -o the file is there when it is whole. With --json, which needs
    -o, one object that says what was written.

    \b
    orchctl export --as asciicast -o demo.cast work && asciinema play demo.cast
    orchctl export --as raw work > work.log

    \b
    Exit codes: 0; 1 FILE cannot be written; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    refuse_if(
        path is None and not (form.words or form.quiet),
        "--json and --template tell about the file that -o names; for NDJSON there is --as jsonl.",
    )
    gaps: list[Gap] = []

    def on_gap(gap: Gap) -> None:
        gaps.append(gap)
        if form.words:
            say_gap(gap)

    with app.client() as client:
        found = client.info(session)
        pieces = client.export(found.id, _shape(shape, found, to_stdout=path in (None, "-")), on_gap=on_gap)
        with _opened(path) as write:
            size = 0
            for piece in pieces:
                write(piece)
                size += len(piece)
    told = {"session": found.id, "name": found.name, "form": shape, "file": path, "bytes": size}
    form.one(told | {"gaps": [[gap.first, gap.end] for gap in gaps]})


def _shape(name: str, session: Session, *, to_stdout: bool) -> recording.Form:
    from orchctl.client import recording
    from orchctl.terminal.views import TextView

    if name == "asciicast":
        return recording.Asciicast(session)
    if name == "jsonl":
        return recording.Lines(session)
    if name == "raw":
        return recording.Bytes()
    view = choose_view(raw=False, live=False) if to_stdout else TextView()
    return recording.Bytes(view if session.backend == "pty" or isinstance(view, SafeView) else RawView())


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[Callable[[bytes], None]]:
    """Stdout, or a file that takes the place of what was there when all is written; a device is just written to."""
    if path in (None, "-"):
        yield lambda data: write_all(1, data)
        return
    assert path is not None
    special = os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)
    real = os.path.realpath(path)
    temporary = real if special else f"{os.path.dirname(real)}/.{os.path.basename(real)}.{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        yield lambda data: write_all(fd, data)
        if not special:
            os.replace(temporary, real)
    except BaseException:
        if not special:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        raise
    finally:
        os.close(fd)
