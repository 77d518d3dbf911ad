"""The environment a session's program gets, and what the environment of a caller says about where it runs. Pure.

A session gets the asking client's variables, fit for a terminal of its own; a CI job is known by the variables it sets.
"""

from __future__ import annotations

from collections.abc import Mapping

SESSION, MANAGER, STATE_DIR = "ORCHCTL_SESSION", "ORCHCTL_MANAGER", "ORCHCTL_STATE_DIR"
TERMINAL = "xterm-256color"
_STALE = ("COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOW")  # they speak of the client's terminal
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


def compose(
    asker: Mapping[str, str],
    given: Mapping[str, str],
    session: str,
    managed_by: str,
    cwd: str,
    *,
    terminal: bool = True,
) -> dict[str, str]:
    """What the user gave wins; the session and its manager are ours to say."""
    env = {name: value for name, value in asker.items() if name not in _STALE}
    env |= {"TERM": TERMINAL, "PWD": cwd} if terminal else {"PWD": cwd}
    if not any(env.get(name) for name in _LOCALE):
        env["LANG"] = "C.UTF-8"
    return {**env, **given, SESSION: session, MANAGER: managed_by}


def of_tools(session: str, managed_by: str, state_dir: str) -> dict[str, str]:
    """What a command sees that an agent runs in its conversation: whose it is, and where we are to be reached."""
    return {SESSION: session, MANAGER: managed_by, STATE_DIR: state_dir}


IDLE_EXIT_S = 5.0  # a step that follows at once finds the supervisor; a job that is over does not keep it
_FALSE = ("", "0", "false", "no", "off")


def runs_in(environ: Mapping[str, str]) -> bool:
    """Whether `CI` is set and true."""
    return environ.get("CI", "").strip().lower() not in _FALSE


def idle_exit_s(configured_s: float, environ: Mapping[str, str]) -> float:
    """After how long without session and client a supervisor ends: in a job soon, unless it is never (0) to end."""
    return min(configured_s, IDLE_EXIT_S) if runs_in(environ) else configured_s
