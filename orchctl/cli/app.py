"""What all commands share: the client, the forms of output, arguments with units, errors on stderr."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orchctl.model.values import to_plain

if TYPE_CHECKING:
    from orchctl.client.client import Client

F = TypeVar("F", bound=Callable[..., Any])
_UNITS_S = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)")
_LONGEST_S = 10 * 365 * 86400.0
_BYTES = re.compile(r"(\d{1,12})([KMG]?)")
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}
_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})")


class App:
    """What the global options say."""

    def __init__(self, *, autostart: bool) -> None:
        self.autostart = autostart

    def client(self) -> Client:
        """Imported here, so that `--help` does not pay for it."""
        from orchctl.client.client import Client

        return Client(autostart=self.autostart)


pass_app = click.make_pass_decorator(App)


def json_option(command: F) -> F:
    """`--json`, on every command."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(command)


def quiet_option(command: F) -> F:
    """`-q`, on every command."""
    return click.option("-q", "--quiet", is_flag=True, help="Ids only in listings, else nothing but errors.")(command)


def show_json(value: Any) -> None:
    """One document, the same object as on the socket."""
    click.echo(json.dumps(to_plain(value)))


def report(code: str, message: str, *, as_json: bool) -> None:
    """One error on stderr: words for people, or an object with a stable code for programs."""
    from orchctl.client.views import one_line

    if as_json:
        click.echo(json.dumps({"code": code, "message": message}), err=True)
    else:
        click.echo(f"orchctl: {one_line(message)}", err=True)


class Duration(click.ParamType[float]):
    """`500ms 30s 5m 2h 7d`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float):
            return value
        try:
            return parse_duration(str(value))
        except click.UsageError as error:
            self.fail(error.message, param, ctx)


def parse_duration(text: str) -> float:
    """Seconds."""
    found = _DURATION.fullmatch(text)
    seconds = float(found[1]) * _UNITS_S[found[2]] if found else math.inf
    if seconds > _LONGEST_S:
        raise click.UsageError(f"{text!r} is not a duration such as 500ms, 30s, 5m, 2h or 7d, up to ten years")
    return seconds


def environment(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    """`-e NAME=VALUE`, any number of times."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{word!r} is not NAME=VALUE")
        found[name] = value
    return found


class TerminalSize(click.ParamType[tuple[int, int]]):
    """`80x24`: columns and rows."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Columns and rows, neither of them zero."""
        if isinstance(value, tuple):
            return value
        found = _SIZE.fullmatch(str(value))
        if not found or not (0 < int(found[1]) < 65536 and 0 < int(found[2]) < 65536):
            self.fail(f"{value!r} is not a terminal size such as 80x24", param, ctx)
        return int(found[1]), int(found[2])


class ByteCount(click.ParamType[int]):
    """`500`, `64K`, `10M`, `1G`: powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        found = _BYTES.fullmatch(str(value))
        if not found:
            self.fail(f"{value!r} is not a size such as 500, 64K, 10M or 1G", param, ctx)
        return int(found[1]) << _SHIFTS[found[2]]


DURATION = Duration()
SIZE_BYTES = ByteCount()
TERMINAL_SIZE = TerminalSize()


# commands that give a program's own exit code, and the options that make them do so
_PASS_THROUGH = {"spawn": {"--wait", "--follow"}, "tail": {"--exit-status"}}
_ALWAYS = {"exec"}


def passes_through(words: list[str]) -> bool:
    """Whether these words ask for a program's own exit code; known before they are parsed, for usage errors."""
    rest = [word for word in words if word != "--no-autostart"]
    if rest[:1] == ["wait"]:
        return "--for" not in rest
    return bool(rest) and (rest[0] in _ALWAYS or bool(_PASS_THROUGH.get(rest[0], set()) & set(rest[1:])))
