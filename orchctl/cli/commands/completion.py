"""`completion`: the scripts for bash, zsh and fish, and what they ask for."""

from __future__ import annotations

import os

import click

from orchctl.cli.complete import KINDS
from orchctl.cli.output import Form, forms, write_all
from orchctl.errors import Internal

SCRIPTS = {"bash": "orchctl.bash", "zsh": "_orchctl", "fish": "orchctl.fish"}
_CLI = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# where the package has them, and where a checkout does
_FOLDERS = (f"{_CLI}/scripts", f"{os.path.dirname(os.path.dirname(_CLI))}/completions")


@click.command("completion")
@click.option("--candidates", "kind", type=click.Choice(KINDS), hidden=True, help="What the scripts ask for.")
@click.option("--word", default="", hidden=True, help="What is typed of it already.")
@click.argument("shell", type=click.Choice(list(SCRIPTS)), required=False, metavar="bash|zsh|fish")
@forms
def completion_command(shell: str | None, kind: str | None, word: str, form: Form) -> None:
    """Print the completion script for a shell.

    It completes commands, options and what they take, and sessions and managers with what they run.
    Completing starts no supervisor. Packages install these scripts where the shells look for them.

    \b
    source <(orchctl completion bash)
    orchctl completion zsh > ~/.zfunc/_orchctl
    orchctl completion fish > ~/.config/fish/completions/orchctl.fish

    \b
    Exit codes: 0; 2 usage.
    """
    if kind is not None:
        _offer(kind, word)
        return
    if shell is None:
        raise click.UsageError("Say for which shell: bash, zsh or fish.")
    text = script(shell)
    form.one({"shell": shell, "script": text}, lambda: write_all(1, text.encode()))


def script(shell: str) -> str:
    """The script for one shell, as it was made from the commands of this version."""
    for folder in _FOLDERS:
        try:
            with open(f"{folder}/{SCRIPTS[shell]}", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            continue
    raise Internal(f"this installation has no completion script for {shell}")


def _offer(kind: str, word: str) -> None:
    """One a line, with what it is behind a tab; nothing at all where something is wrong."""
    from orchctl.cli.complete import candidates

    try:
        lines = "".join(f"{name}\t{about}\n" for name, about in candidates(kind, word))
        write_all(1, lines.encode(errors="replace"))
    except Exception:  # noqa: BLE001 - a word at somebody's prompt would be worse than no answer
        return
