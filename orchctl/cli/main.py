"""The entry point: one lazy table of commands, and the one place where errors become exit codes.

A command's module is imported when it runs; `--help` imports none.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from orchctl.cli.app import App, give_up_stdout, open_missing, report
from orchctl.cli.output import CHOICES
from orchctl.errors import OrchctlError
from orchctl.version import VERSION

_GLOBAL_WITH_VALUE = ("--host", "--color")
TAKE_A_COMMAND = ("spawn", "exec")
# commands that give a program's own exit code, and the options that make them do so
_PASS_THROUGH = {"spawn": ("--wait", "--follow", "--attach"), "tail": ("--exit-status",)}


def leading_options(command: click.Command, words: Sequence[str]) -> int:
    """How many of the first words are options and their values."""
    valued = {
        name for param in command.params if isinstance(param, click.Option) and not param.is_flag for name in param.opts
    }
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in valued else 1
    return min(at, len(words))


def own(words: Sequence[str], find: Callable[[str], click.Command | None]) -> tuple[str, list[str]]:
    """The command's name, and the words after it that are not a COMMAND's."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL_WITH_VALUE else 1
    name, rest = (words[at], list(words[at + 1 :])) if at < len(words) else ("", [])
    command = find(name) if name in TAKE_A_COMMAND else None
    if command is None:
        return name, rest
    first = leading_options(command, rest)
    if name == "exec":  # its options may stand after SESSION too
        return name, rest[: first + 1 + leading_options(command, rest[first + 1 :])]
    return name, rest[:first]


def passes_through(name: str, words: Sequence[str]) -> bool:
    """Whether a command with these words ends with a program's own exit code."""
    if name in ("exec", "attach"):
        return True
    if name == "wait":
        return _waits_for_one_exit(words)
    return any(word in _PASS_THROUGH.get(name, ()) for word in words)


def _waits_for_one_exit(words: Sequence[str]) -> bool:
    sessions, at = 0, 0
    while at < len(words):
        word = words[at]
        if word == "--for" or word.startswith("--for="):
            what = words[at + 1 : at + 2] if word == "--for" else [word[6:]]
            if what != ["exit"]:
                return False
        elif word in ("-m", "--manager", "-l", "--label", "--repo", "--all", "--any", "-") or word.startswith("@"):
            if word != "@last":
                return False
            sessions += 1
        elif not word.startswith("-"):
            sessions += 1
        at += 2 if word in ("--for", "--timeout", "--template", "--since") else 1
    return sessions <= 1


# name → module of orchctl.cli.commands, and the line that `orchctl --help` shows
COMMANDS: dict[str, tuple[str, str]] = {
    "spawn": ("spawn", "Start a session and print its id."),
    "exec": ("exec", "Run a command in a session's live shell."),
    "list": ("list", "Show the live sessions."),
    "info": ("list", "Show one session in full."),
    "top": ("list", "Show what sessions use, live."),
    "tail": ("tail", "Show a session's output; -f follows it."),
    "search": ("search", "Find lines in the output of sessions."),
    "screen": ("screen", "Show what a session's terminal shows now."),
    "export": ("export", "Take a session's recording out."),
    "attach": ("attach", "Work in a session with your own terminal."),
    "send": ("send", "Type into a session."),
    "history": ("history", "Show the commands run in a session."),
    "wait": ("wait", "Wait for sessions to end, or for something else."),
    "expect": ("expect", "Wait for one of several patterns in a session's output."),
    "interrupt": ("history", "Do what Ctrl-C does in a session."),
    "pending": ("agents", "Show what agents wait for a human to say."),
    "approve": ("agents", "Let an agent do what it asks for."),
    "deny": ("agents", "Do not let an agent do what it asks for."),
    "answer": ("agents", "Answer an agent's question."),
    "harness": ("agents", "Look at the agent harnesses."),
    "rename": ("rename", "Give a session another name."),
    "label": ("rename", "Set, remove and show labels of sessions."),
    "signal": ("control", "Send a signal to a session's program."),
    "resize": ("control", "Give a session's terminal another size."),
    "pause": ("control", "Stop everything a session runs."),
    "unpause": ("control", "Let a paused session go on."),
    "restart": ("control", "End what a session runs and start it again."),
    "lease": ("lease", "Say who may type into a session."),
    "kill": ("kill", "End sessions."),
    "kill-by-manager": ("kill", "End every session of a manager and below it."),
    "verify": ("audit", "Check every file of the store."),
    "events": ("events", "Show what happened, as NDJSON; -f follows."),
    "prune": ("events", "Take ended sessions away, or their output."),
    "audit": ("audit", "Show who did what; --verify checks that nothing was changed."),
    "limits": ("limits", "Show what managers may have, and what they have."),
    "config": ("config", "Show and change settings."),
    "doctor": ("doctor", "Look for what could go wrong here."),
    "supervisor": ("supervisor", "Start, stop and look at the supervisor."),
    "completion": ("completion", "Print a completion script for a shell."),
    "schema": ("schema", "Print the JSON Schema of what orchctl prints."),
}
# names that people know from other tools
ALIASES = {
    "ls": "list",
    "ps": "list",
    "show": "info",
    "inspect": "info",
    "logs": "tail",
    "stats": "top",
    "rm": "prune",
    "stop": "kill",
}
PASS_THROUGH = 125  # our own trouble in commands that give a program's exit code


class LazyGroup(click.Group):
    """Knows its commands by name and loads one when it is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`help COMMAND` is `COMMAND --help`, and `version` is `--version`."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        elif args == ["version"]:
            args = ["--version"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = import_module(f"orchctl.cli.commands.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, name.replace("-", "_") + "_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table alone, in sections."""
        from orchctl.cli.overview import SECTIONS

        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names])
        with formatter.section("Other names"):
            formatter.write_dl([(name, f"The same as {meant!r}.") for name, meant in ALIASES.items()])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--host",
    envvar="ORCHCTL_HOST",
    default="local",
    metavar="local|ephemeral",
    help="Whose supervisor: the user's, or its own.",
)
@click.option("--verbose", is_flag=True, help="Say on stderr what is being done.")
@click.option("--color", "colour", type=click.Choice(CHOICES), default="auto", help="When to use colour.")
@click.option("--no-autostart", is_flag=True, help="Fail instead of starting a supervisor.")
@click.version_option(VERSION, "-V", "--version", message="orchctl %(version)s")
@click.pass_context
def cli(ctx: click.Context, host: str, verbose: bool, colour: str, no_autostart: bool) -> None:
    """Run work in terminals that outlive you.

    \b
    orchctl spawn make -j4         start it; prints the session's id
    orchctl tail -f @last          follow its output
    orchctl spawn --wait make      start it, come back with its exit code
    orchctl spawn --name work bash; orchctl exec work 'cd /srv && make'
    orchctl --host ephemeral spawn --follow make      with no daemon before and none after

    --host local, the default, is this user's supervisor on this machine. --host ephemeral is one
    of the command's own, in a temporary directory; it ends with the command, and everything
    with it. ORCHCTL_HOST says the same.
    """
    app = ctx.ensure_object(App)
    app.autostart, app.host, app.verbose, app.colour = not no_autostart, host, verbose, colour
    if ctx.invoked_subcommand is None:
        from orchctl.cli.overview import show

        show(app, ctx)


def main(argv: list[str] | None = None) -> None:
    """Run one command and end with its exit code. No traceback ever reaches a user."""
    open_missing()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a closed pipe ends us as it ends any other tool
    words = sys.argv[1:] if argv is None else argv
    app = App()
    try:
        result: Any = cli.main(args=words, prog_name="orchctl", standalone_mode=False, obj=app)
        sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else 0)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        sys.exit(130 if is_interrupt(error) else _fail(app, words, error))
    finally:
        gc.freeze()  # the interpreter looks for garbage once more before it ends


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: Python 3.11 wraps it where it arrives while a class is being made."""
    return isinstance(error, KeyboardInterrupt) or (error.__cause__ is not None and is_interrupt(error.__cause__))


def _fail(app: App, words: list[str], error: Exception) -> int:
    name, own_words = own(words, lambda name: cli.get_command(click.Context(cli), name))
    status, code, message = _told(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not app.as_json:
        click.echo(error.ctx.get_help(), err=True)  # a group alone
        return status
    report(code, message, as_json=app.as_json or "--json" in own_words)
    return PASS_THROUGH if status != 124 and passes_through(ALIASES.get(name, name), own_words) else status


def _told(error: Exception) -> tuple[int, str, str]:
    """The exit code, the stable code and the words for it."""
    if isinstance(error, OrchctlError):
        return error.exit_status, error.code, error.message
    if isinstance(error, click.ClickException):
        return error.exit_code, "usage", _usage(error)
    if isinstance(error, OSError):  # of our own files or streams: a closed stdout, a full disk
        give_up_stdout()
        where = f" {error.filename!r}" if error.filename is not None else ""
        return 1, "os-error", f"the system refuses: {error.strerror or error}{where}"
    return 1, "internal", f"{type(error).__name__}: {error}; please report this"


def _usage(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.NoSuchOption | click.exceptions.NoSuchCommand):
        from orchctl.cli.overview import unknown

        text = unknown(error, (*COMMANDS, *ALIASES))
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{text} Try '{error.ctx.command_path} --help'."
    return text
