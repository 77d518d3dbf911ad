"""Faults in the calls of a running process, by `strace`; a test that uses this needs `strace` and root."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator


@contextlib.contextmanager
def injected(pid: int, calls: str, fault: str) -> Iterator[None]:
    """Until the end, these calls of the process are not made, or fail; its children are left alone."""
    words = ["strace", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={calls}", "-e", f"inject={calls}:{fault}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        try:
            assert b"attached" in said, said + strace.stderr.read()
            yield
        finally:
            strace.send_signal(signal.SIGTERM)
