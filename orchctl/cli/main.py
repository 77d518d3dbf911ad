"""The entry point: one lazy table of commands, and the one place where errors become exit codes.

A command's module is imported when it runs; `--help` imports none.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Any

import click

from orchctl.cli.app import App, passes_through, report
from orchctl.errors import OrchctlError
from orchctl.version import VERSION

# name → module of orchctl.cli.commands, and the line that `orchctl --help` shows
COMMANDS: dict[str, tuple[str, str]] = {
    "spawn": ("spawn", "Start a session and print its id."),
    "exec": ("exec", "Run a command in a session's live shell."),
    "list": ("sessions", "Show the live sessions."),
    "info": ("sessions", "Show one session in full."),
    "tail": ("tail", "Show a session's output; -f follows it."),
    "send": ("send", "Type into a session."),
    "history": ("history", "Show the commands run in a session."),
    "wait": ("history", "Wait for sessions to end, or for something else."),
    "interrupt": ("history", "Do what Ctrl-C does in a session."),
    "signal": ("control", "Send a signal to a session's program."),
    "resize": ("control", "Give a session's terminal another size."),
    "pause": ("control", "Stop everything a session runs."),
    "unpause": ("control", "Let a paused session go on."),
    "restart": ("control", "End what a session runs and start it again."),
    "kill": ("kills", "End sessions."),
    "kill-by-manager": ("kills", "End every session of a manager and below it."),
    "verify": ("verify", "Check every file of the store."),
    "events": ("kept", "Show what happened, as NDJSON; -f follows."),
    "prune": ("kept", "Take ended sessions away, or their output."),
    "supervisor": ("supervisor", "Start, stop and look at the supervisor."),
}
ALIASES = {"ls": "list", "ps": "list", "show": "info"}
PASS_THROUGH = 125  # our own trouble in commands that give a program's exit code


class LazyGroup(click.Group):
    """Knows its commands by name and loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds it."""
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = import_module(f"orchctl.cli.commands.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, name.replace("-", "_") + "_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--no-autostart", is_flag=True, help="Fail instead of starting a supervisor.")
@click.version_option(VERSION, message="orchctl %(version)s")
@click.pass_context
def cli(ctx: click.Context, no_autostart: bool) -> None:
    """Run work in terminals that outlive you.

    \b
    orchctl spawn make -j4         start it; prints the session's id
    orchctl tail -f @last          follow its output
    orchctl spawn --wait make      start it, come back with its exit code
    orchctl spawn --name work bash; orchctl exec work 'cd /srv && make'
    """
    ctx.obj = App(autostart=not no_autostart)


def main(argv: list[str] | None = None) -> None:
    """Run one command and end with its exit code. No traceback ever reaches a user."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a closed pipe ends us as it ends any other tool
    words = sys.argv[1:] if argv is None else argv
    as_json = "--json" in words
    try:
        result: Any = cli.main(args=words, prog_name="orchctl", standalone_mode=False)
        status = result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        status = end.exit_code
    except click.ClickException as error:
        status = error.exit_code
        report("usage", _usage(error), as_json=as_json)
    except OrchctlError as error:
        status = error.exit_status
        report(error.code, error.message, as_json=as_json)
    except (KeyboardInterrupt, click.Abort):
        status = 130
    except Exception as error:  # noqa: BLE001 - the last line of defence
        status = 1
        report("internal", f"{type(error).__name__}: {error}; please report this", as_json=as_json)
    else:
        sys.exit(status)
    if status not in (0, 124, 130) and passes_through(words):
        status = PASS_THROUGH
    sys.exit(status)


def _usage(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{text} Try '{error.ctx.command_path} --help'."
    return text
