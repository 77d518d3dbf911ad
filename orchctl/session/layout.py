"""What the state directory holds by name, and the file that names the owner of a private one. Pure.

The pair imports this and nothing else of `session`: names that running sessions rely on never change.
"""

from __future__ import annotations

from dataclasses import dataclass

SPEC = "spec.json"  # the intent, written before the fork
ENVIRONMENT = "env.json"  # apart, because it holds secrets; gone as soon as it is no longer needed
JOURNAL = "run.jnl"  # the pair's journal
SOCKET = "pair.sock"  # where the pair answers; nobody listens once the pair is gone
OUTPUT = "out"
ORPHANS = "orphans.jnl"  # beside the sessions: how programs ended that had lost their keeper
CLOCK = "clock.json"  # beside the sessions: the wall clock against the seconds since boot
OWNER = "owner"  # beside the sessions: the process that everything here ends with, if there is one
SEALS = "seals.jnl"  # what of the output is safe from power loss
ENDED = "ended.json"  # the last word on a session that is over
COMMANDS = "commands.jnl"  # what was run in its shell
LEASE = "lease.jnl"  # who may type
HARNESS = "harness.jnl"  # a conversation with an agent: what was said and heard
SERVER = "server.json"  # of an agent server: what its backend has to know again; for the user alone
HEARD = "heard"  # of an agent server that is not heard on its stdout: what its backend fetched, in segments
STDERR = "stderr.log"  # of an agent server
SHELL = "shell"  # what its shell sources
STDOUT_FIFO, STDERR_FIFO = "p", "q"  # below that, with a command's id: where a command with pipes writes
STDOUT_FILE, STDERR_FILE = "o", "e"  # the same: what it wrote


def segment(offset: int) -> str:
    """The file that begins with byte `offset`."""
    return f"{OUTPUT}/{offset:020d}.seg"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process by its number and the clock tick at which it started, which together name it for ever."""

    pid: int
    ticks: int


def encode(owner: Owner) -> bytes:
    """One line."""
    return b"%d %d\n" % (owner.pid, owner.ticks)


def decode(line: bytes) -> Owner | None:
    """None for anything but a whole line."""
    words = line.split()
    if len(words) != 2 or not line.endswith(b"\n") or not all(word.isdigit() and len(word) < 20 for word in words):
        return None
    return Owner(int(words[0]), int(words[1]))
