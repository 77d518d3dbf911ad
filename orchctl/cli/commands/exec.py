"""`exec`: a command in a session's live shell."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import click

from orchctl.cli.app import DURATION, SIZE_BYTES, App, environment, pass_app, refuse_if
from orchctl.cli.interrupts import Leaving, PassOn, WaitingLine, end_by_signal
from orchctl.cli.main import leading_options
from orchctl.cli.options import lease_option, lease_wait_option
from orchctl.cli.output import Form, forms, write_all
from orchctl.client.exec import CommandStream, Options, collect
from orchctl.errors import Conflict
from orchctl.plain import text_or_base64, to_plain
from orchctl.session.command import CommandStatus, Result
from orchctl.terminal.views import RawView, SafeView, View


class ExecCommand(click.Command):
    """Options may stand before and after SESSION; COMMAND begins at the first word after it that is none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = leading_options(self, args)
        session = args[first : first + 1]
        rest = args[first + len(session) :]
        second = leading_options(self, rest)
        options = [word for word in args[:first] + rest[:second] if word != "--"]
        return super().parse_args(ctx, [*options, "--", *session, *rest[second:]])


@click.command("exec", cls=ExecCommand, context_settings={"max_content_width": 100})
@click.option("-c", "text", metavar="TEXT", help="Shell text to run.")
@click.option("--script", metavar="FILE", help="Shell text from a file, or - for stdin; any number of lines.")
@click.option("-w", "--cwd", metavar="DIR", help="Run it there, and go back afterwards.")
@click.option("-e", "--env", multiple=True, callback=environment, metavar="K=V", help="Set for this command alone.")
@click.option("--stdin", "with_stdin", is_flag=True, help="Hand over our stdin; without it, it has /dev/null.")
@click.option("--tty-stdin", is_flag=True, help="Leave it the terminal to read from.")
@click.option("--pipe", is_flag=True, help="Give it two pipes: stdout and stderr apart, and byte for byte.")
@click.option("--raw", is_flag=True, help="The terminal's bytes, newlines as the terminal made them.")
@click.option("--timeout", "timeout_s", type=DURATION, metavar="D", help="Interrupt it after this long; exit 124.")
@click.option(
    "--kill-after",
    "kill_after_s",
    type=DURATION,
    default="2s",
    show_default=True,
    metavar="D",
    help="End it by force so long after that.",
)
@click.option("--max-output", type=SIZE_BYTES, metavar="SIZE", help="Show no more than this; the rest is in the log.")
@click.option("--wait-prompt", "wait_prompt_s", type=DURATION, metavar="D", help="Wait so long for a prompt.")
@lease_option
@lease_wait_option
@click.option("--detach", is_flag=True, help="Start it and come back; it goes on.")
@click.option("--once", metavar="ID", help="To an agent: said once, however often it is asked with this id.")
@click.option("--no-wait-input", is_flag=True, help="To an agent: come back with 7 when it waits for a human.")
@click.option("--no-record", is_flag=True, help="Keep it out of the session's history.")
@click.argument("session")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@forms
@pass_app
def exec_command(app: App, /, session: str, command: tuple[str, ...], form: Form, **given: Any) -> int:
    """Run COMMAND in SESSION's live shell, show what it writes, and end with its exit code.

    One word is shell text; several are a command and its arguments, which arrive unchanged. It
    returns the moment the command ends. Variables, directory and functions stay for the next one.
    Commands sent to one session at the same time run one after another. Ctrl-C goes to the command;
    before the command has begun, it only takes this exec out of the queue.

    \b
    orchctl exec work 'cd /srv && make'
    orchctl exec work grep 'a b' file
    orchctl exec work --timeout 30s --script build.sh
    orchctl exec work --pipe 'make' >out.txt 2>errors.txt
    generate | orchctl exec work -
    orchctl exec agent 'now write a test for it'

    With --pipe, what a background job writes after the command's end is discarded. A command that
    cannot store its output because the disk is full waits for room, and exec says so.

    In a session with an agent, COMMAND is a prompt; what the agent says is shown until its turn ends.

    \b
    Exit codes: the command's own, 128+N for signal N; 124 timed out; 125 any trouble of
    orchctl's, such as a shell that is not at its prompt, or another who holds the lease (the
    last line on stderr says which). An agent: 0 turn completed; 1 turn failed, or was interrupted;
    7 it waits for a human; 124; 125.
    """
    options = Options(
        stdin=sys.stdin.buffer.read() if given["with_stdin"] else None,
        tty_stdin=given["tty_stdin"],
        env=given["env"],
        cwd=os.path.abspath(given["cwd"]) if given["cwd"] is not None else None,
        pipe=given["pipe"],
        raw=given["raw"],
        record=not given["no_record"],
        detach=given["detach"],
        timeout_s=given["timeout_s"],
        kill_after_s=given["kill_after_s"],
        wait_prompt_s=given["wait_prompt_s"],
        viewer=given["viewer"],
        lease_wait_s=given["lease_wait_s"],
        once=given["once"],
        wait_input=not given["no_wait_input"],
    )
    what = _command(command, given["text"], given["script"])
    with app.client() as client:
        stream = client.run(session, what, options)
        leaving = Leaving(stream)
        interrupts = PassOn(client, session, first=leaving.interrupt, leave=leaving.leave)
        leaving.end = interrupts.end
        try:
            with WaitingLine(stream, quiet=form.quiet), interrupts:
                if form.as_json or form.template is not None:
                    result = collect(stream, limit_bytes=given["max_output"])
                    form.one(_told(result))
                else:
                    result = _show(stream, limit=given["max_output"], quiet=form.quiet)
        except Conflict as error:
            if error.code == "withdrawn" and interrupts.happened:
                end_by_signal(signal.SIGINT)
            raise
    if interrupts.happened and result.exit_code == 128 + signal.SIGINT:
        end_by_signal(signal.SIGINT)
    return _exit(result, quiet=not form.words)


def _command(words: tuple[str, ...], text: str | None, script: str | None) -> str | tuple[str, ...]:
    if words == ("-",):
        words, script = (), "-" if script is None else script
    refuse_if(
        sum((bool(words), text is not None, script is not None)) != 1, "Give one of COMMAND, -c TEXT and --script FILE."
    )
    if text is not None:
        return text
    if script is not None:
        try:
            with open(0 if script == "-" else script, "rb", closefd=script != "-") as file:
                return os.fsdecode(file.read())
        except OSError as error:
            raise click.UsageError(f"Cannot read {script!r}: {error.strerror}.") from None
    return words[0] if len(words) == 1 else words


def _show(stream: CommandStream, *, limit: int | None, quiet: bool) -> Result:
    raw = stream.raw or not os.isatty(1)
    views: dict[int, View] = {fd: RawView() if raw or not os.isatty(fd) else SafeView() for fd in (1, 2)}
    left = limit
    truncated = False
    for channel, data in stream:
        part = data if left is None else data[:left]
        truncated = truncated or len(part) < len(data)
        left = None if left is None else left - len(part)
        fd = 2 if channel == 2 else 1
        if not quiet:
            write_all(fd, views[fd].feed(part))
    for fd, view in views.items():
        write_all(fd, view.end())
    assert stream.command is not None
    return Result(command=stream.command, newlines=stream.newlines, truncated=truncated, gaps=tuple(stream.gaps))


def _told(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = to_plain(result.command)
    told |= {"newlines": result.newlines, "truncated": result.truncated, "gaps": result.gaps}
    return told | text_or_base64("output", result.output) | text_or_base64("errors", result.errors)


def _exit(result: Result, *, quiet: bool) -> int:
    command = result.command
    for first, end in result.gaps:
        click.echo(f"orchctl: bytes {first} to {end - 1} of the output are no longer kept", err=True)
    if result.truncated and not quiet:
        click.echo("orchctl: there is more output; 'orchctl tail --command' shows all of it", err=True)
    if command.status is CommandStatus.TIMEOUT and not quiet:
        what = "turn was interrupted" if command.completion == "turn" else "command was ended"
        click.echo(f"orchctl: the {what} after {command.duration_s:.1f} s", err=True)
        if command.error:
            click.echo(f"orchctl: {command.error}", err=True)
    if command.status is CommandStatus.RUNNING:
        if not quiet:
            click.echo(command.number)
        return 0
    if command.status is CommandStatus.NEEDS_INPUT:
        click.echo("orchctl: the agent waits for a human; 'orchctl pending' shows what it asks", err=True)
        return 7
    if command.completion == "turn" and command.exit_code == 1 and not quiet:
        click.echo(f"orchctl: the turn did not complete: {command.error or 'failed'}", err=True)
    if command.status is CommandStatus.ERROR or command.exit_code is None:
        click.echo(f"orchctl: {command.error or 'nobody can tell how the command ended'}", err=True)
        return 125
    return command.exit_code
