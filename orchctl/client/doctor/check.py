"""What a check of doctor says (a finding), what it may look at (a case), and running a helper program for it."""

from __future__ import annotations

import enum
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from orchctl.config import Config, Problem
from orchctl.lazy_dataclass import dataclass
from orchctl.paths import Root
from orchctl.session.model import SupervisorStatus


class Level(enum.StrEnum):
    """How bad it is: a problem stops orchctl, a warning may one day, a note is worth knowing."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`check` is a stable name for programs; `fix` is the command that helps, if one does."""

    check: str
    level: Level
    what: str
    fix: str | None = None


@dataclass(slots=True)
class Case:
    """One look at one machine. Checks run in order, and later ones use what earlier ones found."""

    environ: Mapping[str, str]
    root: Root | None = None
    config: Config = field(default_factory=Config)
    config_problems: tuple[Problem, ...] = ()
    status: SupervisorStatus | None = None  # of the supervisor that answered

    @property
    def supervisor(self) -> int | None:
        """The pid of the supervisor that answered."""
        return self.status.pid if self.status is not None else None


Check = Callable[[Case], Iterator[Finding]]


def ok(check: str, what: str) -> Finding:
    """All is well."""
    return Finding(check=check, level=Level.OK, what=what)


def note(check: str, what: str, fix: str | None = None) -> Finding:
    """Worth knowing."""
    return Finding(check=check, level=Level.NOTE, what=what, fix=fix)


def warning(check: str, what: str, fix: str | None = None) -> Finding:
    """It may go wrong one day."""
    return Finding(check=check, level=Level.WARNING, what=what, fix=fix)


def problem(check: str, what: str, fix: str | None = None) -> Finding:
    """It does not work."""
    return Finding(check=check, level=Level.PROBLEM, what=what, fix=fix)


def command(*words: str) -> str:
    """Words as a shell takes them."""
    return shlex.join(words)


PATIENCE_S = 5.0


def run(argv: list[str], patience_s: float = PATIENCE_S) -> str | None:
    """What it printed; None if it cannot be run, fails, or takes too long."""
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        output, _ = child.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None
    return output.decode(errors="replace").strip() if child.returncode == 0 else None
