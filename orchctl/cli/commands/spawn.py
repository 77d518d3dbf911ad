"""`spawn`: a new session."""

from __future__ import annotations

import os
from typing import Any, Literal

import click

from orchctl import extras
from orchctl.cli.app import DURATION, TERMINAL_SIZE, App, environment, give_up_stdin, labels, pass_app, refuse_if
from orchctl.cli.interrupts import own_size, work_in
from orchctl.cli.main import leading_options
from orchctl.cli.output import Form, forms
from orchctl.client.inherited import in_ci
from orchctl.errors import OrchctlError

PROGRAMS = ("pty", "pipe")
PERMISSIONS = ("ask", "allow", "deny")


class Backend(click.Choice[str]):
    """Programs on a terminal or on pipes, and agents; those of other packages are looked for when a word is unknown."""

    def __init__(self) -> None:
        super().__init__((*PROGRAMS, *extras.agents_inside()))

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices and value in extras.agents_outside():
            return value
        return super().convert(value, param, ctx)


class SpawnCommand(click.Command):
    """`--stdin` has a value only where that is joined by `=`: the next word may be COMMAND."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = leading_options(self, args)
        own = ["--stdin-open" if word == "--stdin=open" else word for word in args[:first]]
        if wrong := next((word for word in own if word.startswith("--stdin=")), None):
            raise click.UsageError(f"{wrong}: it is --stdin, or --stdin=open.", ctx)
        return super().parse_args(ctx, [*own, *args[first:]])


@click.command("spawn", cls=SpawnCommand, context_settings={"allow_interspersed_args": False, "max_content_width": 100})
@click.option("--name", metavar="NAME", help="A name for it, unique among live sessions.")
@click.option("-m", "--manager", metavar="MANAGER", help="Who manages it; ':name' adds a segment to the caller's own.")
@click.option("-b", "--backend", type=Backend(), help="A terminal (the default), pipes, or an agent.")
@click.option("--prompt", metavar="TEXT", help="Said to the agent at once.")
@click.option("--model", metavar="MODEL", help="The agent's model.")
@click.option("--profile", metavar="NAME", help="How the agent's harness is run: [profiles.NAME] in config.toml.")
@click.option(
    "--permission", type=click.Choice(PERMISSIONS), help="When the agent wants one: ask a human, or reply so."
)
@click.option("--resume", metavar="NATIVE_ID", help="Go on with a conversation that the harness has.")
@click.option("--shell", metavar="PATH", help="The shell to start, if there is no COMMAND.")
@click.option("-w", "--cwd", help="Where it runs; default: here.", metavar="DIR")
@click.option("--size", type=TERMINAL_SIZE, default="80x24", show_default=True, help="Its terminal's size.")
@click.option("-e", "--env", multiple=True, callback=environment, metavar="K=V", help="Set in its environment.")
@click.option("--env-file", multiple=True, metavar="FILE", help="The same from a file, one K=V a line; -e wins.")
@click.option("-l", "--label", multiple=True, callback=labels, metavar="K=V", help="A note to find it by.")
@click.option("--timeout", "timeout_s", type=DURATION, metavar="D", help="End it after this time.")
@click.option(
    "--idle-timeout", "idle_s", type=DURATION, metavar="D", help="End it after so long without output or input."
)
@click.option("--bind-pid", type=click.IntRange(1), metavar="PID", help="End it when that process ends.")
@click.option(
    "--restart", default="no", metavar="no|on-failure[:N]|always", help="Whether it starts again when it ended."
)
@click.option(
    "--if-exists",
    type=click.Choice(["error", "reuse", "skip"]),
    default="error",
    help="When a live session has the name: an error; that one, if it runs the same; or that one in any case.",
)
@click.option("--no-pty", is_flag=True, help="The same as -b pipe: faster for much output.")
@click.option(
    "--stdin",
    "hand_over",
    is_flag=True,
    help="Let COMMAND read this command's stdin; --stdin=open: what 'send' sends.",
)
@click.option("--stdin-open", is_flag=True, hidden=True)
@click.option("-d", "_", is_flag=True, hidden=True, expose_value=False)  # a habit: it runs on its own anyway
@click.option("--rm", "remove", is_flag=True, help="Take it away, with its log, when it has ended.")
@click.option("--wait", is_flag=True, help="Come back when it ended, with its exit code.")
@click.option("--follow", is_flag=True, help="Show its output instead of the id; end with its exit code.")
@click.option("--attach", is_flag=True, help="Work in it with your own terminal; end with its exit code.")
@click.option("--id-file", metavar="FILE", help="Write the id there too, as soon as it runs.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@forms
@pass_app
def spawn_command(app: App, /, command: tuple[str, ...], form: Form, **given: Any) -> int:
    """Start COMMAND, or your shell, in a terminal of its own, and print the session's id.

    It goes on when you, this command, or orchctl's own processes end. In a shell, 'orchctl exec'
    runs commands.

    \b
    orchctl spawn make -j4
    id=$(orchctl spawn --name db -w /srv postgres -D data)
    orchctl spawn --wait -e CI=1 ./test.sh
    orchctl spawn --timeout 1h --bind-pid $$ ./server
    orchctl spawn --name nightly --if-exists skip ./backup.sh
    orchctl spawn --name work --if-exists reuse --attach
    orchctl spawn -b codex --name agent --prompt 'fix the failing test'
    gzip -dc dump.sql.gz | orchctl spawn --no-pty --stdin --follow psql

    With --stdin, COMMAND reads the stdin of this command, to its end, as if it were run here; a shell
    takes it for a script. This command itself reads nothing of it. Without --stdin, COMMAND reads its
    terminal. It reads /dev/null on pipes, and with --wait or --follow where CI is set, unless it is a shell.
    --stdin=open leaves the input open for 'send'; 'send --eof' ends it. When COMMAND is started again, it
    reads /dev/null instead of a stdin that was handed over.

    \b
    Exit codes: 0 started; 2 usage; 5 name taken, or the agent did not begin; 6 a limit is reached;
    8 no supervisor; 126, 127 COMMAND cannot be executed, not found. With --wait, --follow or --attach:
    COMMAND's own, 128+N for signal N, 124 if its time was over, 125 for any trouble of orchctl's;
    0 when it was detached from.
    """
    wait, follow, attach, shell = given["wait"], given["follow"], given["attach"], given["shell"]
    agent = given["backend"] not in (None, *PROGRAMS) or given["profile"] is not None
    _check(command, given, agent=agent)
    if attach:
        given["size"] = own_size()
    with app.client(stays=wait or follow or attach) as client:
        session = client.spawn(
            command or ((shell,) if shell else ()),
            name=given["name"],
            managed_by=given["manager"],
            cwd=given["cwd"],
            env=_from_files(given["env_file"]) | given["env"],
            size=given["size"],
            pty=not (given["no_pty"] or given["backend"] == "pipe"),
            restart=given["restart"],
            timeout_s=given["timeout_s"],
            idle_s=given["idle_s"],
            bind_pid=given["bind_pid"],
            labels=given["label"],
            if_exists=given["if_exists"],
            remove=given["remove"],
            backend=given["backend"],
            profile=given["profile"],
            model=given["model"],
            permission=given["permission"],
            resume=given["resume"],
            prompt=given["prompt"],
            stdin=_stdin(command, given, agent=agent),
        )
        if given["hand_over"]:
            give_up_stdin()
        if session.warnings and form.words:
            kind = "" if agent else "environment-differs: "
            click.echo(f"orchctl: warning: {kind}{'; '.join(session.warnings)}", err=True)
        if given["id_file"] is not None:
            _write_id(given["id_file"], session.id)
        skipped = given["if_exists"] == "skip" and not session.is_new
        if attach:
            return work_in(client, session.id, form)
        if skipped or not (wait or follow):
            form.one(session.value, lambda: click.echo(session.id))
            return 0
        from orchctl.cli.follow import stay  # only who stays pays for it

        if wait and form.words:
            click.echo(session.id)
        ended, status = stay(client, session.id, visible=follow and form.words)
        if not form.words:
            form.one(ended)
        return status


def _check(command: tuple[str, ...], given: dict[str, Any], *, agent: bool) -> None:
    """Refuse what excludes each other."""
    refuse_if(
        given["wait"] + given["follow"] + given["attach"] > 1, "--wait, --follow and --attach exclude each other."
    )
    refuse_if(
        given["attach"] and (agent or given["no_pty"] or given["backend"] == "pipe"),
        "--attach needs a session with a terminal.",
    )
    refuse_if(given["hand_over"] and given["stdin_open"], "--stdin and --stdin=open exclude each other.")
    refuse_if(
        given["hand_over"] and (given["attach"] or agent),
        f"--stdin and {'--attach' if given['attach'] else 'an agent'} exclude each other.",
    )
    refuse_if(given["shell"] is not None and command, "--shell and COMMAND exclude each other.")
    for name in () if agent else ("prompt", "model", "permission", "resume"):
        if given[name] is not None:
            raise click.UsageError(f"--{name} is for an agent: -b {'|'.join(extras.agents_inside())} or --profile.")
    refuse_if(given["if_exists"] != "error" and given["name"] is None, "--if-exists needs a --name.")


def _stdin(command: tuple[str, ...], given: dict[str, Any], *, agent: bool) -> Literal["open", "null"] | int | None:
    """None leaves it to the kind of session; in a CI job nobody is there who could type."""
    if given["hand_over"]:
        return 0
    if given["stdin_open"]:
        return "open"
    stays = given["wait"] or given["follow"]
    return "null" if stays and command and not agent and in_ci() else None


def _from_files(paths: tuple[str, ...]) -> dict[str, str]:
    """`K=V` a line, as it stands; blank lines and those that begin with `#` say nothing; `K` alone is ours."""
    found = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().splitlines()
        except OSError as error:
            raise click.UsageError(f"Cannot read {path!r}: {error.strerror}.") from None
        for number, line in enumerate(lines, 1):
            name, equals, value = line.lstrip().partition("=")
            if not name or name.startswith("#"):
                continue
            if not equals and name.strip() in os.environ:
                value = os.environ[name.strip()]
            elif not equals:
                raise click.UsageError(f"{path}, line {number}: {name.strip()!r} is not NAME=VALUE.")
            found[name.strip()] = value
    return found


def _write_id(path: str, session: str) -> None:
    """Whole or not at all."""
    try:
        with open(f"{path}.new", "w", encoding="ascii") as file:
            file.write(f"{session}\n")
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise OrchctlError(
            f"session {session} was started, but its id cannot be written to {path!r}: {error.strerror}",
            code="bad-id-file",
        ) from None
