"""The forms of output that every command has: words for people, one JSON document, a template, or nothing but ids.

A command makes its values and says how a person would see them; this says what is printed. Templates know
fields and nothing else: no code, no attributes, no calls.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from orchctl.cli.app import App
from orchctl.lazy_dataclass import dataclass
from orchctl.plain import to_plain
from orchctl.terminal import one_line, visible


def write_all(fd: int, data: bytes) -> None:
    """Every byte of `data` to `fd`, now."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = 1 << 30) -> list[str]:
    """A header and its rows as lines, cut at the terminal's width; what comes from elsewhere is made harmless."""
    lines = [list(header), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    shown = ["  ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True)).rstrip() for line in lines]
    return [text if len(text) <= width else text[: width - 1] + "…" for text in shown]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The same, printed."""
    for line in aligned(header, rows):
        click.echo(line)


def show_text(data: bytes) -> None:
    """On stdout: as it is into a pipe, made safe on a terminal."""
    write_all(1, visible(data.decode("utf-8", "backslashreplace")).encode() if os.isatty(1) else data)


CHOICES = ("auto", "always", "never")
PREFIXES = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # for one session each: readable on dark and on light
STATES = {"live": 32, "bootstrapping": 33, "idle": 33, "closed": 90}
BAD = 31


def wanted(choice: str, environ: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether output may have colour of ours."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and environ.get("TERM", "dumb") not in ("dumb", "")


def paint(text: str, colour: int | None, *, on: bool) -> str:
    """`text` in a colour."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and colour is not None else text


def on_stdout(choice: str) -> bool:
    """For this process's stdout."""
    return wanted(choice, os.environ, terminal=is_terminal(1))


def is_terminal(fd: int) -> bool:
    """Also when the descriptor is closed."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def width() -> int:
    """Columns of the terminal; wide enough to cut nothing where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 1 << 30


AFTER_S = 1.0


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[None]:
    """`what` and the seconds so far, while the block runs."""
    if quiet or not os.isatty(2):
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, done: threading.Event) -> None:
    begun, shown = time.monotonic(), False
    while not done.wait(AFTER_S):
        sys.stderr.write(f"\r\x1b[K{what} … {time.monotonic() - begun:.0f} s")
        sys.stderr.flush()
        shown = True
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


F = TypeVar("F", bound=Callable[..., Any])
_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)(?::\.(\d{1,4}))?\}|[{}]|\\(.)|\\\Z", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "0": "\0", "\\": "\\", "e": "\x1b", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Form:
    """What the options `--json`, `--template` and `-q` ask for."""

    as_json: bool = False
    quiet: bool = False
    template: str | None = None

    @property
    def words(self) -> bool:
        """Whether a person reads it."""
        return not (self.as_json or self.quiet or self.template is not None)

    def one(self, value: Any, words: Callable[[], object] | None = None) -> None:
        """One value: as JSON, by the template, or as `words` prints it."""
        if self.as_json:
            click.echo(json.dumps(to_plain(value)))
        elif self.template is not None:
            self._fill(to_plain(value))
        elif not self.quiet and words is not None:
            words()

    def several(self, values: Sequence[Any], words: Callable[[], object], *, key: str = "id") -> None:
        """A listing: one JSON array, one line of the template each, ids only, or as `words` prints it."""
        if self.as_json:
            click.echo(json.dumps(to_plain(list(values))))
        elif self.template is not None:
            for value in values:
                self._fill(to_plain(value))
        elif self.quiet:
            for value in values:
                click.echo(to_plain(value)[key])
        else:
            words()

    def results(self, values: Sequence[Any], *, single: bool, words: Callable[[], object] | None = None) -> None:
        """Sessions to which something was done: one object if one was named, else an array; no list of ids."""
        if single and values:
            self.one(values[0], words)
        elif not self.quiet:
            self.several(values, words or (lambda: None))

    def line(self, value: dict[str, Any]) -> bytes:
        """One value of a stream: NDJSON, or a line of the template."""
        text = json.dumps(value) if self.template is None else self._filled(value)
        return text.encode("utf-8", "surrogateescape") + b"\n"

    def _fill(self, value: Any) -> None:
        click.echo(self._filled(value).encode("utf-8", "surrogateescape"))

    def _filled(self, value: Any) -> str:
        text = fill(self.template or "", value)
        return visible(text) if os.isatty(1) else text


def forms(command: F) -> F:
    """`--json`, `--template` and `-q`, on every command, handed over as one `form`."""

    @functools.wraps(command)
    def with_form(*args: Any, as_json: bool, quiet: bool, template: str | None, **given: Any) -> Any:
        if sum((as_json, quiet, template is not None)) > 1:
            raise click.UsageError("--json, --template and --quiet exclude each other.")
        return command(*args, form=Form(as_json, quiet, template), **given)

    options = (
        click.option("--json", "as_json", is_flag=True, is_eager=True, callback=_noted, help="JSON on stdout."),
        click.option(
            "--template", metavar="TEXT", callback=_checked, help=r"Fields of the JSON in a text: '{id}\t{state}'."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Ids only in listings, else nothing but errors."),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), with_form)  # type: ignore[return-value]


def _noted(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """From here on errors are JSON too."""
    app = ctx.find_object(App)
    if value and app is not None:
        app.as_json = True
    return value


def _checked(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None:
        for found in _PART.finditer(text):
            if found[0] in ("{", "}", "\\") or (found[3] is not None and found[3] not in _ESCAPES):
                raise click.BadParameter(
                    rf"{found[0]!r} at character {found.start() + 1}: fields are {{name}} or {{name:.8}}, "
                    r"a brace is {{ or }}, "
                    r"and \t \n \r \e \0 \\ are known"
                )
        if re.search(r"\{\{\s*\.\w", text):
            raise click.BadParameter("fields are {name}, not {{.Name}}; 'orchctl schema' lists them")
    return text


def fill(template: str, value: Any) -> str:
    """`template` with each `{field}`, `{field.inner}` or `{field:.8}` (8 characters) replaced by that of `value`."""

    def part(found: re.Match[str]) -> str:
        if found[1] is not None:
            text = _text(_field(value, found[1]))
            return text if found[2] is None else text[: int(found[2])]
        return _ESCAPES[found[3]] if found[3] is not None else found[0][0]

    return _PART.sub(part, template)


def _field(value: Any, path: str) -> Any:
    at, here = "", value
    for name in path.split("."):
        if here is None:
            return None
        if not isinstance(here, dict) or (name not in here and at not in ("labels", "env")):
            known = ", ".join(_names(here)) if isinstance(here, dict) else "none"
            raise click.UsageError(f"There is no field {path!r}; the fields here are: {known}.")
        at, here = name, here.get(name)
    return here


def _names(value: dict[str, Any]) -> Iterable[str]:
    return sorted(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
