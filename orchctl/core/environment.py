"""The environment a session's program gets: the asking client's, fit for a terminal of its own."""

from __future__ import annotations

from collections.abc import Mapping

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
    return {**env, **given, "ORCHCTL_SESSION": session, "ORCHCTL_MANAGER": managed_by}
