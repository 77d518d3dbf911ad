"""`schema`: the JSON Schema of what orchctl prints. Apart from `completion`, which must not load every shape."""

from __future__ import annotations

import json

import click

from orchctl.cli.output import Form, forms, write_all
from orchctl.cli.schema import document
from orchctl.cli.shapes import SHAPES


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
