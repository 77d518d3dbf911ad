"""Every option and every exit code of every command, as rows: what is typed, and how it ends.

The test runs each row, and fails for an option or a documented exit code that no row here shows. In a row
`{live}` is a session that goes on, `{shell}` a bash, `{cat}` one that reads, `{ended}` one that ended with 3,
`{pipe}` one without a terminal, `{dir}` a folder, and `{file}` a file with one line, `A=1`.
"""

from __future__ import annotations

from tests.cli.surface import agents, leases, sessions, upkeep
from tests.cli.surface.row import Row

GLOBAL = [
    Row("--version", sees="orchctl "),
    Row("--help", sees="Start and use sessions:"),
    Row("-h", sees="Start and use sessions:"),
    Row("--verbose list"),
    Row("--color always list", sees="\x1b["),
    Row("--color never list"),
    Row("--color sometimes list", 2),
    Row("--no-autostart list", sees="ID"),
    Row("--no-such-option", 2),
    Row("no-such-command", 2),
]

TABLE = {**sessions.TABLE, **leases.TABLE, **agents.TABLE, **upkeep.TABLE}
