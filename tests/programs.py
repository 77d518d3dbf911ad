"""Programs that tests run in sessions, as argument vectors. They know nothing of orchctl."""

from __future__ import annotations

import hashlib
import random
import sys

_POUR = """
import os, random, sys, time, tty
tty.setraw(1)
total, seed, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
rnd, sent, start = random.Random(seed), 0, time.monotonic()
while sent < total:
    data = rnd.randbytes(min(rnd.randint(1, 8192), total - sent))
    sent += len(data)
    while data:
        data = data[os.write(1, data):]
    if rate:
        time.sleep(max(0.0, sent / rate - (time.monotonic() - start)))
sys.exit(int(sys.argv[4]))
"""


def pour(total: int, *, seed: int, bytes_per_s: float = 0, exit_code: int = 0) -> list[str]:
    """Writes `total` pseudo-random bytes to its terminal, unchanged by it, then exits."""
    return [sys.executable, "-c", _POUR, str(total), str(seed), str(bytes_per_s), str(exit_code)]


def pour_digest(total: int, *, seed: int) -> str:
    """The SHA-256 of what `pour` writes, made without a terminal."""
    rnd, sent, digest = random.Random(seed), 0, hashlib.sha256()
    while sent < total:
        data = rnd.randbytes(min(rnd.randint(1, 8192), total - sent))
        sent += len(data)
        digest.update(data)
    return digest.hexdigest()


def write_raw(data_file: str, *, step: int = 0, exit_code: int = 0) -> list[str]:
    """Writes a file's bytes to its terminal, `step` at a time, unchanged by it."""
    code = (
        "import os, sys, tty; tty.setraw(1); data = open(sys.argv[1], 'rb').read(); n = int(sys.argv[2]) or len(data)\n"
        "while data:\n    data = data[os.write(1, data[:n]):]\n"
        "sys.exit(int(sys.argv[3]))"
    )
    return [sys.executable, "-c", code, data_file, str(step), str(exit_code)]
