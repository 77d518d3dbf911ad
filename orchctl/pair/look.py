"""What the kernel knows of a session's terminal: who is in front, in which modes, and who is young."""

from __future__ import annotations

import os
import termios
from typing import Any

from orchctl import procfs
from orchctl.pair import input_wait

# Of /proc/PID/stat, counted from the state on. The stack lies elsewhere in every program that is started.
_STACK_FIELD = 25


def seen(master: int, child: int) -> dict[str, Any]:
    """One look; what cannot be seen is left out or false."""
    try:
        front = os.tcgetpgrp(master)
        modes = termios.tcgetattr(master)
    except (OSError, termios.error):
        return {
            "front": 0,
            "name": "",
            "image": 0,
            "child": child,
            "output": 0,
            "local": 0,
            "reading": False,
            "cwd": None,
        }
    return {
        "front": front,
        "name": procfs.name(front).strip(),
        "image": _stat(front, _STACK_FIELD),
        "child": child,
        "output": modes[1],
        "local": modes[3],
        "reading": front == child and _reads_terminal(child),
        "cwd": procfs.link(f"/proc/{child}/cwd") or None,
    }


def _stat(pid: int, field: int) -> int:
    fields = procfs.stat(pid)
    return int(fields[field]) if len(fields) > field else -1


def _reads_terminal(pid: int) -> bool:
    """Whether it sleeps in a read of, or a wait for, its terminal."""
    call = input_wait.sleeps_in(pid, pid)
    if call is None:
        return False
    name, arguments = call
    if name in input_wait.READS:
        return procfs.link(f"/proc/{pid}/fd/{arguments[0]}").startswith(("/dev/pts/", "/dev/tty"))
    return name in input_wait.POLLS
