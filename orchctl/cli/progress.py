"""A word on stderr while something takes longer than a second, on a terminal only; gone when it is done."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

AFTER_S = 1.0


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[None]:
    """`what` and the seconds so far, while the block runs."""
    if quiet or not os.isatty(2):
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, done: threading.Event) -> None:
    begun, shown = time.monotonic(), False
    while not done.wait(AFTER_S):
        sys.stderr.write(f"\r\x1b[K{what} … {time.monotonic() - begun:.0f} s")
        sys.stderr.flush()
        shown = True
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
