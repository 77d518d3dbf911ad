"""`completion`: the scripts for bash, zsh and fish, and what they ask for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from orchctl.cli.complete import KINDS
from orchctl.cli.output import Form, forms
from orchctl.cli.schema import document
from orchctl.cli.shapes import SHAPES
from orchctl.client.output import write_all

if TYPE_CHECKING:
    from orchctl.cli.pages.tree import Node


SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.option("--candidates", "kind", type=click.Choice(KINDS), hidden=True, help="What the scripts ask for.")
@click.option("--word", default="", hidden=True, help="What is typed of it already.")
@click.argument("shell", type=click.Choice(SHELLS), required=False, metavar="bash|zsh|fish")
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
    from orchctl.cli.pages.tree import tree

    text = script(shell, tree())
    form.one({"shell": shell, "script": text}, lambda: write_all(1, text.encode()))


def script(shell: str, root: Node) -> str:
    """The script for one shell."""
    from importlib import import_module

    made: str = import_module(f"orchctl.cli.pages.{shell}").script(root)
    return made


def _offer(kind: str, word: str) -> None:
    """One a line, with what it is behind a tab; nothing at all where something is wrong."""
    from orchctl.cli.complete import candidates

    try:
        lines = "".join(f"{name}\t{about}\n" for name, about in candidates(kind, word))
        write_all(1, lines.encode(errors="replace"))
    except Exception:  # noqa: BLE001 - a word at somebody's prompt would be worse than no answer
        return


@click.command("schema")
@click.argument("name", type=click.Choice(list(SHAPES)), required=False, metavar="[NAME]")
@forms
def schema_command(name: str | None, form: Form) -> None:
    """Print the JSON Schema (draft 2020-12) of what orchctl prints with --json: of NAME, or of everything.

    Without NAME it is one document whose $defs has them all. Fields may be added in later versions; those
    that are there stay as they are.

    \b
    orchctl schema
    orchctl schema session > session.schema.json

    \b
    Exit codes: 0; 2 usage, such as a name that is none.
    """
    made = document(name)
    form.one(made, lambda: write_all(1, json.dumps(made, indent=2).encode() + b"\n"))
