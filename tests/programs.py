"""Programs that tests run in sessions, as argument vectors. They know nothing of orchctl."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator

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

_STEP_BY_STEP = """
import os, random, sys, tty
tty.setraw(1)
total, seed, steps = (int(word) for word in sys.argv[1:4])
rnd, sent, gate = random.Random(seed), 0, os.open(sys.argv[4], os.O_RDONLY)
for step in range(1, steps + 1):
    os.read(gate, 1)
    while sent < total * step // steps:
        data = rnd.randbytes(min(rnd.randint(1, 8192), total - sent))
        sent += len(data)
        while data:
            data = data[os.write(1, data):]
sys.exit(int(sys.argv[5]))
"""


def pour(total: int, *, seed: int, bytes_per_s: float = 0, exit_code: int = 0) -> list[str]:
    """Writes `total` pseudo-random bytes to its terminal, unchanged by it, then exits."""
    return [sys.executable, "-c", _POUR, str(total), str(seed), str(bytes_per_s), str(exit_code)]


def pour_by_steps(total: int, *, seed: int, steps: int, gate: str, exit_code: int = 0) -> list[str]:
    """The same in so many steps, each of them when there is a byte to read in the file `gate`."""
    return [sys.executable, "-c", _STEP_BY_STEP, str(total), str(seed), str(steps), gate, str(exit_code)]


def pour_digest(total: int, *, seed: int) -> str:
    """The SHA-256 of what `pour` writes, made without a terminal."""
    digest = hashlib.sha256()
    for data in _poured(total, seed):
        digest.update(data)
    return digest.hexdigest()


def pour_bytes(total: int, *, seed: int) -> bytes:
    """What `pour` writes."""
    return b"".join(_poured(total, seed))


def _poured(total: int, seed: int) -> Iterator[bytes]:
    rnd, sent = random.Random(seed), 0
    while sent < total:
        data = rnd.randbytes(min(rnd.randint(1, 8192), total - sent))
        sent += len(data)
        yield data


def step_ends(total: int, *, seed: int, steps: int) -> list[int]:
    """How much `pour_by_steps` has written after each of its steps."""
    ends, sent = list[int](), 0
    for data in _poured(total, seed):
        while sent >= total * (len(ends) + 1) // steps:
            ends.append(sent)
        sent += len(data)
    return [*ends, sent]


def write_raw(data_file: str, *, step: int = 0, exit_code: int = 0) -> list[str]:
    """Writes a file's bytes to its terminal, `step` at a time, unchanged by it."""
    code = (
        "import os, sys, tty; tty.setraw(1); data = open(sys.argv[1], 'rb').read(); n = int(sys.argv[2]) or len(data)\n"
        "while data:\n    data = data[os.write(1, data[:n]):]\n"
        "sys.exit(int(sys.argv[3]))"
    )
    return [sys.executable, "-c", code, data_file, str(step), str(exit_code)]
