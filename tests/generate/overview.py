"""What orchctl.1 says beyond the table: the words that all commands share."""

from __future__ import annotations

from collections.abc import Iterator

from orchctl.cli.main import COMMANDS
from tests.generate import roff

_WHAT = (
    "orchctl runs programs in terminals of their own, called sessions, that go on when whoever started them is gone. "
    "A supervisor owns all sessions of one user on one machine; it starts by itself when it is needed. "
    "Everything a program writes is in a log before anybody sees it."
)
_PROMISE = (
    "A session never dies because orchctl did: the supervisor, and any other process of orchctl's, may be killed at "
    "any moment, and the program goes on."
)
_SESSIONS = {
    "ID": "All of it, or its first 4 or more digits where no other session begins with them.",
    "NAME": "As it was given with --name: the live session of that name; else, for commands that only read, the one "
    "that ended last.",
    "@last": "The newest session of the caller's own manager.",
    "-m MANAGER, -l KEY=VALUE, --repo PATH, --all": "For commands that take SESSIONS: those for which all of it holds.",
    "-": "For commands that take SESSIONS: one a line from standard input.",
    "@MANAGER": "For commands that take SESSIONS: all sessions of a manager and of the managers below it, by whole "
    "segments: @agent-1 selects those of agent-1 and of agent-1:tests, never those of agent-12.",
}
_UNITS = {
    "Durations": "A number with a unit: 500ms, 30s, 5m, 2h, 7d. A bare number is seconds.",
    "Times": "RFC 3339, such as 2026-01-31T12:00; local without a zone. A duration means so long ago.",
    "Sizes": "Bytes; K, M and G are powers of 1024.",
}
_VIEWS = {
    "raw": "The bytes of the log (--raw).",
    "text": "Without the marks that orchctl's shells write, and with newlines as the program wrote them; escape "
    "sequences stay. This is what comes into a pipe or a file.",
    "plain": "The text without escape sequences, with overwritten lines as they stand in the end (--plain).",
    "safe": "The text with everything but colour, tabs and newlines made visible. This is what comes on a terminal.",
}
_EXITS = {
    "0": "Done.",
    "1": "The answer is no, or some of several failed.",
    "2": "Usage: nothing was done.",
    "3": "No such session.",
    "4": "Not permitted.",
    "5": "Conflict: a name is taken, sessions live.",
    "6": "A limit is reached.",
    "8": "No supervisor answers, or it speaks another protocol.",
    "124": "Timed out.",
    "125": "Any trouble of orchctl's in a command that ends with a program's own code.",
    "126": "The command to start cannot be executed.",
    "127": "The command to start was not found.",
    "128+N": "The program was ended by signal N; 130 is Ctrl-C, 141 a closed pipe.",
}
_PASSING = (
    "'orchctl exec', 'orchctl spawn --wait', 'orchctl spawn --follow', 'orchctl wait' for one session's exit and "
    "'orchctl tail --exit-status' end with the program's own code. With --json an error is one JSON object on standard "
    "error, with a stable code and a message."
)
ENVIRONMENT = {
    "ORCHCTL_HOST": "What --host says: local or ephemeral.",
    "ORCHCTL_SCOPE": "With no, the supervisor gets no systemd scope of its own.",
    "CI": "Where it is true, a supervisor that was started by itself ends five seconds after its last session.",
    "NO_COLOR, FORCE_COLOR": "No colour, or colour into pipes too; --color wins over both.",
    "ORCHCTL_STATE_DIR": "The state directory, an absolute path. It must belong to the user alone.",
    "XDG_CONFIG_HOME": "Where the settings are, when the state directory is made; 'orchctl config path' tells.",
    "ORCHCTL_MANAGER": "The caller's own manager; user if it is not set. It is set in every session.",
    "ORCHCTL_SESSION": "Set in every session to its id.",
    "ORCHCTL_LEASE": "What --lease says: the token that 'lease take' printed.",
}
_FILES = {
    "~/.local/state/orchctl/MACHINE/": "The state directory, unless ORCHCTL_STATE_DIR says otherwise. MACHINE is the "
    "begin of the machine id, or the host's name.",
    "~/.config/orchctl/config.toml": "The settings, or in $XDG_CONFIG_HOME/orchctl; where ORCHCTL_STATE_DIR is set, "
    "config.toml in that directory.",
    "config-path": "In the state directory: where the settings are. It is written when the state directory is made.",
    "supervisor.sock, supervisor.log": "Where the supervisor listens, and what it has to say.",
    "sessions/ID/out/": "A session's output: raw bytes, in files named by the offset of their first.",
    "events/": "What happened, in order.",
}
_EXAMPLES = {
    "Start a build, follow it to its end, and come back with its exit code:": ("orchctl spawn --follow make -j4",),
    "Run commands in one live shell, each with its own output and exit code:": (
        "orchctl spawn --name work bash",
        "orchctl exec work 'cd /srv && . ./env'",
        "orchctl exec work make test",
    ),
    "Wait until a server is ready, and end everything that an agent has started:": (
        "orchctl spawn -m agent-1 --name db postgres -D data",
        "orchctl wait db --for output='ready to accept' --timeout 1m",
        "orchctl kill-by-manager agent-1",
    ),
}


def commands() -> list[str]:
    """The names of all pages but this one."""
    return list(COMMANDS)


def description() -> Iterator[str]:
    """What it is."""
    yield from roff.prose(_WHAT)
    yield from roff.paragraph(_PROMISE)


def sections() -> Iterator[str]:
    """From sessions to files."""
    yield roff.section("SESSIONS")
    yield from roff.prose("Where a command takes a SESSION it is tried in this order:", {"SESSION"})
    yield from _list(_SESSIONS)
    yield roff.section("DURATIONS, TIMES AND SIZES")
    yield from _list(_UNITS)
    yield roff.section("VIEWS")
    yield from roff.prose("What is shown of a session's output:")
    yield from _list(_VIEWS)
    yield roff.section("ENVIRONMENT")
    yield from _list(ENVIRONMENT)
    yield roff.section("FILES")
    yield from _list(_FILES)
    yield roff.section("EXIT STATUS")
    yield from _list(_EXITS)
    yield from roff.paragraph(_PASSING)


def examples() -> Iterator[str]:
    """Longer ones than the help has."""
    for text, lines in _EXAMPLES.items():
        yield from roff.paragraph(text)
        yield from roff.inset(roff.example(lines)[1:])


def _list(rows: dict[str, str]) -> Iterator[str]:
    for head, text in rows.items():
        yield from roff.term(roff.bold(head), text, {"SESSIONS"})
