"""What runs in the sessions. It knows nothing of orchctl and imports nothing of it: `python -I -S program.py WORD …`.

Each program writes into a file of its own what it has written, read or decided, so that an oracle needs nobody else.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator

TOP = 8192  # bytes in one write


def pieces(total: int, seed: int) -> Iterator[bytes]:
    """What `pour` writes, write by write."""
    dice, left = random.Random(seed), total
    while left:
        data = dice.randbytes(min(dice.randint(1, TOP), left))
        left -= len(data)
        yield data


def pour(file: str, total: str, seed: str, rate: str, code: str) -> None:
    """Write pseudo-random bytes; the file says how many are written for sure, and at last the code that is meant."""
    if os.isatty(1):
        raw(1)
    note, sent, began = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), 0, time.monotonic()
    for piece in pieces(int(total), int(seed)):
        sent += len(piece)
        rest = piece
        while rest:
            rest = rest[os.write(1, rest) :]
        os.pwrite(note, b"%020d" % sent, 0)
        time.sleep(max(0.0, min(1.0, sent / float(rate) - (time.monotonic() - began))))
    os.pwrite(note, b"%020d %s" % (sent, code.encode()), 0)
    os._exit(int(code))


def read(file: str, step: str, pause: str, code: str) -> None:
    """Read slowly, and keep what was read in the file; until another says that nothing more is sent."""
    import select

    raw(0)
    note, got = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 0
    os.write(1, b"ready\n")
    while select.select([0], [], [], 0.3)[0] or not os.path.exists(f"{file}.end"):
        if select.select([0], [], [], 0)[0]:
            got += os.write(note, os.read(0, int(step)))
            time.sleep(float(pause))
    os.write(1, b"got %d\n" % got)
    os._exit(int(code))


def tree(file: str) -> None:
    """A child, and a grandchild that leaves session and group; the file has the numbers of all three."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGHUP else signal.SIG_DFL)
    note = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(note, b"%d\n" % os.getpid())
    if os.fork() == 0:
        os.write(note, b"%d\n" % os.getpid())
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.write(note, b"%d\n" % os.getpid())
    while True:
        time.sleep(1000)


def mutter(file: str, words: str) -> None:
    """Some words, far less than a silence apart; the file has the moment of each, on a clock that all share."""
    raw(1)
    with open(file, "ab", buffering=0) as note:
        for _ in range(int(words)):
            note.write(b"%.3f\n" % time.monotonic())
            os.write(1, b".\n")
            time.sleep(0.25)
    while True:
        time.sleep(1000)


def again(file: str, good: str) -> None:
    """Fail, and say so in the file, until the run of that number."""
    with open(file, "ab", buffering=0) as note:
        note.write(b"%d\n" % os.getpid())
    with open(file, "rb") as note:
        os._exit(0 if len(note.read().split()) >= int(good) else 3)


def raw(fd: int) -> None:
    """The terminal changes no byte."""
    import tty

    tty.setraw(fd)


if __name__ == "__main__":
    PROGRAMS: tuple[Callable[..., None], ...] = (pour, read, tree, mutter, again)
    next(one for one in PROGRAMS if one.__name__ == sys.argv[1])(*sys.argv[2:])
