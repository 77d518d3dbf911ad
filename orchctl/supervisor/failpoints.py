"""Faults on demand, for tests: `start=exit`, `succeed=hang`, `rehearse=forget`; several with commas between.

In $ORCHCTL_FAILPOINTS, or in the state directory's file `failpoints`, which can change under a running daemon.
"""

from __future__ import annotations

import contextlib
import os
import signal

NAME = "failpoints"
STATUS = 70  # EX_SOFTWARE


def chosen(root: str, point: str) -> str:
    """What is to go wrong here, if anything."""
    text = os.environ.get("ORCHCTL_FAILPOINTS", "")
    with contextlib.suppress(OSError), open(f"{root}/{NAME}", encoding="ascii", errors="replace") as file:
        text += "," + file.read()
    faults = [word.strip().partition("=") for word in text.split(",")]
    return next((action for name, _, action in faults if name == point), "")


def pass_by(root: str, point: str) -> None:
    """Die, hang or wait here, if that is wanted."""
    fault = chosen(root, point)
    if fault == "exit":
        os._exit(STATUS)
    if fault == "hang":
        signal.pause()
    if fault == "stop":  # until SIGCONT
        os.kill(os.getpid(), signal.SIGSTOP)
