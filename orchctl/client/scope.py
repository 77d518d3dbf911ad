"""A scope of its own for the daemon, where systemd runs, so that it does not end with what it was started from.

A user's scopes are below the user's own manager, which ends at the last logout unless the user lingers. So a scope is
asked for only where it makes the daemon live longer: for a user who lingers, or from below that manager, say from a
service or a desktop's terminal. A login that the administrator lets survive is left as it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from orchctl.session import environment

SWITCH = "ORCHCTL_SCOPE"  # `no` turns it off
BEGIN_S = 3.0  # a manager that does not answer by then is not waited for
_BOOTED = "/run/systemd/system"
_RUNTIME, _ADDRESS = "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"
_ASK = ["systemd-run", "--user", "--scope", "--quiet", "--collect", "--description=orchctl supervisor", "--"]
_FORGET = ["env", "-u", _RUNTIME, "-u", _ADDRESS]  # these are for systemd-run, and the daemon has no use for them


def before(environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words to put before the daemon's own, and what they need of the environment; nothing where it is no use."""
    if environment.runs_in(environ):  # what ends a job must reach it
        return [], {}
    if environ.get(SWITCH, "").lower() in ("no", "off", "false", "0") or not os.path.isdir(_BOOTED):
        return [], {}
    runtime = next((one for one in (environ.get(_RUNTIME), f"/run/user/{os.geteuid()}") if one and _has_bus(one)), None)
    if runtime is None or not (_below_manager() or _lingers()):
        return [], {}
    return [*_ASK, *_FORGET], {_RUNTIME: runtime, _ADDRESS: f"unix:path={runtime}/bus"}


def _has_bus(runtime: str) -> bool:
    """Ours, that is: `su` may leave another user's in the environment."""
    try:
        found = os.stat(f"{runtime}/bus")
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()


def _below_manager() -> bool:
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as file:
            return f"/user@{os.geteuid()}.service/" in file.read()
    except OSError:
        return False


def _lingers() -> bool:
    import pwd

    try:
        return os.path.exists(f"/var/lib/systemd/linger/{pwd.getpwuid(os.geteuid()).pw_name}")
    except KeyError:
        return False
