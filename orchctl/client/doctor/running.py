"""Other programs, asked for a line or two; one that hangs is ended, with all it started."""

from __future__ import annotations

import os
import signal
import subprocess

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
