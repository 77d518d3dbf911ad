"""One row of the table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One command line, its exit status, and what goes to its stdin."""

    line: str
    status: int = 0
    stdin: str | None = None
    sees: str = ""  # somewhere on stdout


def rows(text: str, status: int = 0) -> list[Row]:
    """One a line."""
    return [Row(line.strip(), status) for line in text.strip().splitlines()]
