"""Appending to a journal, also after a torn end."""

from __future__ import annotations

import os
from typing import Any

from orchctl.core import journal


def append(path: str, record: dict[str, Any]) -> None:
    """One record; on a line of its own, should a full disk or a power cut have torn the last one."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        torn = size and os.pread(fd, 1, size - 1) != b"\n"
        os.write(fd, (b"\n" if torn else b"") + journal.encode(record))
    finally:
        os.close(fd)
