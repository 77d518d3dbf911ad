"""Rows of text in columns, for people."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orchctl.terminal.views import one_line


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = 1 << 30) -> list[str]:
    """A header and its rows as lines, cut at the terminal's width; what comes from elsewhere is made harmless."""
    lines = [list(header), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    shown = ["  ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True)).rstrip() for line in lines]
    return [text if len(text) <= width else text[: width - 1] + "…" for text in shown]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The same, printed."""
    for line in aligned(header, rows):
        click.echo(line)
