"""`history`, `wait` and `interrupt`."""

from __future__ import annotations

import time

import click

from orchctl.cli.app import DURATION, App, json_option, parse_duration, pass_app, quiet_option, show_json
from orchctl.cli.follow import exit_code
from orchctl.client.output import write_all
from orchctl.client.views import one_line

CONDITIONS = ("exit", "command", "prompt", "quiet")


@click.command("history")
@click.option("--failed", is_flag=True, help="Only those that did not exit with 0.")
@json_option
@quiet_option
@click.argument("session")
@pass_app
def history_command(app: App, session: str, failed: bool, as_json: bool, quiet: bool) -> None:
    """Show the commands run in SESSION's shell: number, exit code, seconds, directory, text.

    \b
    orchctl history work
    orchctl history --failed work

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        commands = [one for one in client.history(session) if not failed or one.exit_code not in (0, None)]
    if as_json:
        show_json(commands)
        return
    for command in commands:
        if quiet:
            click.echo(command.number)
            continue
        code = "-" if command.exit_code is None else str(command.exit_code)
        seconds = time.time() - command.started_at if command.duration_s is None else command.duration_s
        cwd, text = one_line(command.cwd or "-"), one_line(command.text)
        click.echo(f"{command.number:>4}  {code:>3}  {seconds:8.2f}  {cwd}  {text}")


@click.command("wait")
@click.option(
    "--for",
    "conditions",
    multiple=True,
    metavar="WHAT",
    help="exit (the default), command, prompt, quiet[=2s], or output=REGEX.",
)
@click.option("--timeout", "timeout_s", type=DURATION, metavar="D", help="Give up after this long; exit 124.")
@json_option
@quiet_option
@click.argument("sessions", nargs=-1, required=True)
@pass_app
def wait_command(
    app: App,
    sessions: tuple[str, ...],
    conditions: tuple[str, ...],
    timeout_s: float | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Wait until SESSIONS have ended, or until something else holds, and say which.

    command: no command runs or waits. prompt: the shell waits for one. quiet=D: no output for D.
    output=REGEX: it is in what was written since the last input, or comes.

    \b
    orchctl wait build
    orchctl wait db --for output='ready to accept' --timeout 1m
    orchctl wait work --for prompt --for exit

    \b
    Exit codes: for one session's exit its own, 128+N for signal N, 125 any trouble of
    orchctl's; of several sessions 0 if all ended with 0, else 1; else 0; 124 timed out.
    """
    with app.client() as client:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s

        def left() -> float | None:
            return None if deadline is None else max(0.001, deadline - time.monotonic())

        pattern = next((one[7:] for one in conditions if one.startswith("output=")), None)
        if pattern is not None:
            _alone(sessions, conditions)
            found = client.wait_for_output(sessions[0], pattern, timeout_s=left())
            if as_json:
                show_json({"condition": "output", "match": found[0].decode(errors="backslashreplace")})
            elif not quiet:
                write_all(1, found[0] + b"\n")
            return 0
        if conditions and set(conditions) != {"exit"}:
            _alone(sessions, ("one",))
            names, quiet_s = _conditions(conditions)
            fired, session = client.wait_for(sessions[0], *names, quiet_s=quiet_s, timeout_s=left())
            if as_json:
                show_json({"condition": fired, "session": session})
            elif not quiet:
                click.echo(fired)
            return 0
        ended = [client.wait(one, timeout_s=left()) for one in sessions]
    if as_json:
        show_json(ended[0] if len(ended) == 1 else ended)
    codes = [exit_code(one) for one in ended]
    return codes[0] if len(codes) == 1 else int(any(codes))


def _alone(sessions: tuple[str, ...], conditions: tuple[str, ...]) -> None:
    if len(sessions) != 1 or len(conditions) != 1:
        raise click.UsageError("That can be waited for in one session at a time, and output only by itself.")


def _conditions(words: tuple[str, ...]) -> tuple[list[str], float]:
    names, quiet_s = [], 2.0
    for word in words:
        name, _, value = word.partition("=")
        if name not in CONDITIONS or (value and name != "quiet"):
            raise click.UsageError(f"{word!r} is none of exit, command, prompt, quiet[=2s] and output=REGEX.")
        if value:
            quiet_s = parse_duration(value)
        names.append(name)
    return names, quiet_s


@click.command("interrupt")
@json_option
@quiet_option
@click.argument("session")
@pass_app
def interrupt_command(app: App, session: str, as_json: bool, quiet: bool) -> None:
    """Do what Ctrl-C does in SESSION, by signal and not by typing: no output is thrown away.

    \b
    orchctl interrupt work

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    with app.client() as client:
        client.interrupt(session)
    if as_json and not quiet:
        show_json({"interrupted": session})
