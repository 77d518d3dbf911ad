"""The forms of output that every command has: words for people, one JSON document, a template, or nothing but ids.

A command makes its values and says how a person would see them; this says what is printed. Templates know
fields and nothing else: no code, no attributes, no calls.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from orchctl.cli.app import App
from orchctl.lazy_dataclass import dataclass
from orchctl.plain import to_plain

F = TypeVar("F", bound=Callable[..., Any])
_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)\}|[{}]|\\(.)|\\\Z", re.DOTALL)
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
        from orchctl.terminal.views import visible

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
            if found[0] in ("{", "}", "\\") or (found[2] is not None and found[2] not in _ESCAPES):
                raise click.BadParameter(
                    rf"{found[0]!r} at character {found.start() + 1}: fields are {{name}}, a brace is {{{{ or }}}}, "
                    r"and \t \n \r \e \0 \\ are known"
                )
    return text


def fill(template: str, value: Any) -> str:
    """`template` with each `{field}`, or `{field.inner}`, replaced by that of `value`."""

    def part(found: re.Match[str]) -> str:
        if found[1] is not None:
            return _text(_field(value, found[1]))
        return _ESCAPES[found[2]] if found[2] is not None else found[0][0]

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
