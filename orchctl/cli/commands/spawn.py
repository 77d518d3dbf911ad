"""`spawn`: a new session."""

from __future__ import annotations

import click

from orchctl.cli.app import DURATION, TERMINAL_SIZE, App, environment, json_option, pass_app, quiet_option, show_json
from orchctl.cli.follow import stay


@click.command("spawn", context_settings={"allow_interspersed_args": False, "max_content_width": 100})
@click.option("--name", help="A name for it, unique among live sessions.")
@click.option("-m", "--manager", help="Who manages it; ':name' adds a segment to the caller's own.")
@click.option("-w", "--cwd", help="Where it runs; default: here.", metavar="DIR")
@click.option("-e", "--env", multiple=True, callback=environment, metavar="K=V", help="Set in its environment.")
@click.option("--shell", metavar="PATH", help="The shell to start, if there is no COMMAND.")
@click.option("--size", type=TERMINAL_SIZE, default="80x24", show_default=True, help="Its terminal's size.")
@click.option(
    "--restart", default="no", metavar="no|on-failure[:N]|always", help="Whether it starts again when it ended."
)
@click.option("--no-pty", is_flag=True, help="On pipes instead of a terminal: faster for much output.")
@click.option("--timeout", "timeout_s", type=DURATION, metavar="D", help="End it after this time.")
@click.option(
    "--idle-timeout", "idle_s", type=DURATION, metavar="D", help="End it after so long without output or input."
)
@click.option("--bind-pid", type=click.IntRange(1), metavar="PID", help="End it when that process ends.")
@click.option("--wait", is_flag=True, help="Come back when it ended, with its exit code.")
@click.option("--follow", is_flag=True, help="Show its output instead of the id; end with its exit code.")
@json_option
@quiet_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@pass_app
def spawn_command(
    app: App,
    name: str | None,
    manager: str | None,
    cwd: str | None,
    env: dict[str, str],
    shell: str | None,
    size: tuple[int, int],
    restart: str,
    no_pty: bool,
    timeout_s: float | None,
    idle_s: float | None,
    bind_pid: int | None,
    wait: bool,
    follow: bool,
    as_json: bool,
    quiet: bool,
    command: tuple[str, ...],
) -> int:
    """Start COMMAND, or your shell, in a terminal of its own, and print the session's id.

    It goes on when you, this command, or orchctl's own processes end. In a shell, 'orchctl exec'
    runs commands.

    \b
    orchctl spawn make -j4
    id=$(orchctl spawn --name db -w /srv postgres -D data)
    orchctl spawn --wait -e CI=1 ./test.sh
    orchctl spawn --timeout 1h --bind-pid $$ ./server

    \b
    Exit codes: 0 started; 2 usage; 5 name taken; 8 no supervisor; 126, 127 COMMAND cannot
    be executed, not found. With --wait or --follow: COMMAND's own, 128+N for signal N, 124 if
    its time was over, 125 for any trouble of orchctl's.
    """
    if wait and follow:
        raise click.UsageError("--wait and --follow exclude each other.")
    if shell is not None and command:
        raise click.UsageError("--shell and COMMAND exclude each other.")
    with app.client() as client:
        session = client.spawn(
            command or ((shell,) if shell else ()),
            name=name,
            managed_by=manager,
            cwd=cwd,
            env=env,
            size=size,
            pty=not no_pty,
            restart=restart,
            timeout_s=timeout_s,
            idle_s=idle_s,
            bind_pid=bind_pid,
        )
        if not (wait or follow):
            if as_json:
                show_json(session.value)
            elif not quiet:
                click.echo(session.id)
            return 0
        if wait and not as_json and not quiet:
            click.echo(session.id)
        ended, status = stay(client, session.id, visible=follow and not as_json)
        if as_json:
            show_json(ended)
        return status
