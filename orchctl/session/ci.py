"""What a continuous-integration job changes: nobody comes back to it, so nothing may wait for anybody. Pure."""

from __future__ import annotations

from collections.abc import Mapping

IDLE_EXIT_S = 5.0  # a step that follows at once finds the supervisor; a job that is over does not keep it
_FALSE = ("", "0", "false", "no", "off")


def runs_in(environ: Mapping[str, str]) -> bool:
    """Whether `CI` is set and true."""
    return environ.get("CI", "").strip().lower() not in _FALSE


def idle_exit_s(configured_s: float, environ: Mapping[str, str]) -> float:
    """After how long without session and client a supervisor ends: in a job soon, unless it is never (0) to end."""
    return min(configured_s, IDLE_EXIT_S) if runs_in(environ) else configured_s
