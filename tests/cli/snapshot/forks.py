"""Command lines of the snapshot, run by `tests.forked`: a tenth of the processor time of a real start."""

from __future__ import annotations

from dataclasses import dataclass

from tests import forked
from tests.world import DEADLINE_S


@dataclass(frozen=True)
class Done:
    """How a command line ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


class Forks:
    """What it prints comes as text, with bytes that are no text spelled out."""

    def run(self, words: list[str], *, env: dict[str, str], cwd: str, stdin: str | None = None) -> Done:
        """One command line to its end."""
        given = (stdin or "").encode()
        done = forked.forks().run(words, env=env, cwd=cwd, stdin=given, deadline_s=DEADLINE_S)
        stdout, stderr = (data.decode(errors="backslashreplace") for data in (done.stdout, done.stderr))
        return Done(done.returncode, stdout, stderr)
