"""Our three streams: those that are missing, and the one whose reader has gone."""

from __future__ import annotations

import os
import stat
import sys

_NAMES = ("stdin", "stdout", "stderr")


def open_missing() -> None:
    """A stream that was closed is /dev/null; or else the next file, the supervisor's socket, would be in its place."""
    for fd, name in enumerate(_NAMES):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, and that is this one
            setattr(sys, name, open(fd, "r" if fd == 0 else "w", closefd=False))  # noqa: SIM115 - for all our life


def end_with_reader(fd: int = 1) -> None:
    """From now on, end by SIGPIPE as soon as nobody can read what we write, even if there is nothing to write."""
    import select
    import signal
    import threading

    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def watch() -> None:
        poll = select.poll()
        poll.register(fd, 0)  # errors and hang-ups are told in any case
        poll.poll()
        os.kill(os.getpid(), signal.SIGPIPE)

    threading.Thread(target=watch, daemon=True).start()


def give_up_stdin() -> None:
    """It is another's now: whoever writes to it hears when that one has gone, and not only when we have."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def give_up_stdout() -> None:
    """What is still held for it goes nowhere; or else Python would try once more at its end, and say so."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
