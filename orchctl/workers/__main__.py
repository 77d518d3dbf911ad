"""`python -m orchctl.workers search|screen|sizes`: the work of one command, in a process of its own.

What is wanted comes as one line of JSON on stdin, which the asker then keeps open: when it is closed, the asker is
gone or wants no more, and the kernel ends this process whatever it is doing. So it is no matter how long it takes, and
it may run wherever its stdin and stdout reach, also on another machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
from importlib import import_module
from typing import Any

ACTIONS = ("search", "screen", "sizes")


def main() -> None:
    """Do it and write the answer to stdout."""
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    action = sys.argv[1] if len(sys.argv) == 2 else ""
    if action not in ACTIONS:
        sys.exit(f"usage: python -m orchctl.workers {'|'.join(ACTIONS)}")
    asked: dict[str, Any] = json.loads(_line())
    _end_with_the_asker()
    import_module(f"orchctl.workers.{action}").main(asked)


def _line() -> bytes:
    """Up to the newline and no further."""
    said = b""
    while not said.endswith(b"\n"):
        part = os.read(0, 1 << 16)
        if not part:
            sys.exit("nothing was asked for")
        said += part
    return said


def _end_with_the_asker() -> None:
    """Have SIGIO, which ends a process, sent when the other end of stdin closes."""
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:  # it closed before that
        sys.exit("the asker is gone")


if __name__ == "__main__":
    main()
