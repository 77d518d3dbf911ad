"""What all commands share: the client, arguments with units, errors on stderr, and the standard streams.

Streams that are closed, full or gone are met here once, so that no command has to.
"""

from __future__ import annotations

import json
import os
import re
import signal as signals
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orchctl import units
from orchctl.errors import BadInput

if TYPE_CHECKING:
    from orchctl.client.blocking import Client


F = TypeVar("F", bound=Callable[..., Any])
_SIZE = re.compile(r"([0-9]{1,5})x([0-9]{1,5})")


class App:
    """What the global options say."""

    def __init__(self) -> None:
        self.autostart = True
        self.host = "local"
        self.verbose = False
        self.colour = "auto"
        self.as_json = False  # whether errors are JSON

    def client(self, *, stays: bool = False) -> Client:
        """Imported here, so that `--help` does not pay for it. `stays`: to the end of all that is started."""
        from orchctl.client.blocking import Client

        if self.host not in ("local", "ephemeral"):
            raise BadInput(f"{self.host!r} is no host; there are 'local' and 'ephemeral'", code="bad-host")
        if self.host == "ephemeral" and not stays:
            raise BadInput(
                "with --host ephemeral everything ends with the command, so it must stay to the end: "
                "use 'spawn --wait' or 'spawn --follow'",
                code="ephemeral-host",
            )
        if self.host == "ephemeral":
            return Client.ephemeral()
        return Client(autostart=self.autostart, say=self.say if self.verbose else None)

    def say(self, text: str) -> None:
        """For `--verbose`: what is being done."""
        from orchctl.terminal import one_line

        sys.stderr.write(f"orchctl: {one_line(text)}\n")


pass_app = click.make_pass_decorator(App)


def report(code: str, message: str, *, as_json: bool) -> None:
    """One error on stderr: words for people, or an object with a stable code for programs."""
    from orchctl.terminal import one_line

    if as_json:
        click.echo(json.dumps({"code": code, "message": message}), err=True)
    else:
        click.echo(f"orchctl: {one_line(message)}", err=True)


def refuse_if(wrong: object, why: str) -> None:
    """Options and arguments that cannot be meant together: a mistake in usage, with the reason."""
    if wrong:
        raise click.UsageError(why)


class Duration(click.ParamType[float]):
    """`500ms 30s 5m 2h 7d`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_duration(str(value))
        except click.UsageError as error:
            self.fail(error.message, param, ctx)


def parse_duration(text: str) -> float:
    """Seconds."""
    try:
        return units.parse_duration(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def key_values(form: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str]]:
    """A callback for an option that takes pairs of that form, any number of times."""

    def pairs(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
        found = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not name or not equals:
                raise click.BadParameter(f"{word!r} is not {form}")
            found[name] = value
        return found

    return pairs


environment = key_values("NAME=VALUE")
labels = key_values("key=value")


class TerminalSize(click.ParamType[tuple[int, int]]):
    """`80x24`: columns and rows."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
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
        try:
            return units.parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SignalName(click.ParamType[int]):
    """`HUP`, `SIGHUP` or `1`."""

    name = "signal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).upper()
        known = {one.name: int(one) for one in signals.Signals}
        number = int(text) if text.isascii() and text.isdigit() else known.get(text, known.get(f"SIG{text}", 0))
        if number not in {int(one) for one in signals.valid_signals()}:
            self.fail(f"{value!r} is not a signal such as HUP, USR1 or 15", param, ctx)
        return number


DURATION = Duration()
SIGNAL = SignalName()
SIZE_BYTES = ByteCount()
TERMINAL_SIZE = TerminalSize()


_NAMES = ("stdin", "stdout", "stderr")


def open_missing() -> None:
    """A stream that was closed is /dev/null; or else the next file, the supervisor's socket, would be in its place."""
    for fd, name in enumerate(_NAMES):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, and that is this one
            setattr(sys, name, open(fd, "r" if fd == 0 else "w", closefd=False))  # noqa: SIM115 - for all our life


def end_with_reader(fd: int = 1) -> None:
    """From now on, end by SIGPIPE as soon as nobody can read what we write, even if there is nothing to write."""
    import select
    import signal
    import threading

    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def watch() -> None:
        poll = select.poll()
        poll.register(fd, 0)  # errors and hang-ups are told in any case
        poll.poll()
        os.kill(os.getpid(), signal.SIGPIPE)

    threading.Thread(target=watch, daemon=True).start()


def give_up_stdin() -> None:
    """It is another's now: whoever writes to it hears when that one has gone, and not only when we have."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def give_up_stdout() -> None:
    """What is still held for it goes nowhere; or else Python would try once more at its end, and say so."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
