"""A command's time limit on record, for the supervisor that comes after this one: in seconds since boot.

`timeout_at`, Unix time, is what older versions read and wrote; a clock that is set makes it wrong.
"""

from __future__ import annotations

import time
from typing import Any

from orchctl.supervisor.clock import boot_id, boot_s


def deadline(at: float | None) -> dict[str, Any]:
    """The fields of a record for a moment of our own clock; None: there is no limit."""
    if at is None:
        return {"timeout_at": None, "boot": boot_id()}
    left_s = at - time.monotonic()
    return {"timeout_at": time.time() + left_s, "timeout_boot_s": boot_s() + left_s, "boot": boot_id()}


def begins_at(record: dict[str, Any]) -> float | None:
    """The same moment on our own clock."""
    if record.get("timeout_boot_s") is not None and record.get("boot") == boot_id():
        return float(time.monotonic() + record["timeout_boot_s"] - boot_s())
    at = record.get("timeout_at")
    return time.monotonic() + at - time.time() if at is not None else None
