"""What a check of doctor says (a finding), what it may look at (a case), and running a helper program for it."""

from __future__ import annotations

import enum
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import field
from functools import partial

from orchctl.config import Config, Problem
from orchctl.lazy_dataclass import dataclass
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
    config: Config = field(default_factory=Config)
    config_problems: tuple[Problem, ...] = ()
    status: SupervisorStatus | None = None  # of the supervisor that answered

    @property
    def supervisor(self) -> int | None:
        """The pid of the supervisor that answered."""
        return self.status.pid if self.status is not None else None


def _found(level: Level, check: str, what: str, fix: str | None = None) -> Finding:
    return Finding(check=check, level=level, what=what, fix=fix)


ok, note = partial(_found, Level.OK), partial(_found, Level.NOTE)
warning, problem = partial(_found, Level.WARNING), partial(_found, Level.PROBLEM)


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
