"""The clocks of the supervisor. What crosses processes is counted in seconds since boot, which nobody can set."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import time
from dataclasses import dataclass, replace
from functools import cache

from orchctl import procfs
from orchctl.log import journal
from orchctl.session import layout

TOLERANCE_S = 60.0  # leap seconds and small corrections are no jump
HOLD_S = 86400.0  # by then somebody has seen a wrong clock


@dataclass(frozen=True, slots=True)
class Anchor:
    """A moment on both clocks, and when the wall clock was first seen ahead since then."""

    boot: str  # the boot id, without which seconds since boot mean nothing
    boot_s: float
    real_s: float
    jumped_s: float | None = None  # seconds since boot


def trusted(anchor: Anchor | None, boot: str, boot_s: float, real_s: float) -> tuple[float, Anchor]:
    """The time in seconds since 1970, and the anchor to go on with."""
    fresh = Anchor(boot, boot_s, real_s)
    if anchor is None or anchor.boot != boot:
        return real_s, fresh
    expected = anchor.real_s + boot_s - anchor.boot_s
    if real_s < expected - TOLERANCE_S:
        return real_s, fresh
    if real_s <= expected + TOLERANCE_S:
        return real_s, anchor if anchor.jumped_s is None else replace(anchor, jumped_s=None)
    jumped_s = boot_s if anchor.jumped_s is None else anchor.jumped_s
    if boot_s >= jumped_s + HOLD_S:
        return real_s, fresh
    return expected, replace(anchor, jumped_s=jumped_s)


log = logging.getLogger(__name__)


def boot_s() -> float:
    """Seconds since boot, also while the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


boot_id = cache(procfs.boot_id)


class Clock:
    """The time by which ages are measured; see `supervisor/clock.py`. Its anchor outlives the supervisor."""

    def __init__(self, state_dir: str) -> None:
        self._path = f"{state_dir}/{layout.CLOCK}"
        self._anchor = self._read()

    def now(self) -> float:
        """Unix time, and not ahead of it after a jump of the wall clock."""
        found, anchor = trusted(self._anchor, boot_id(), boot_s(), time.time())
        if anchor != self._anchor:
            if anchor.jumped_s is not None:
                log.warning("the clock has jumped ahead by %.0f s; nothing goes for its age now", time.time() - found)
            self._anchor = anchor
            with contextlib.suppress(OSError):  # a full disk: the next jump is tried again
                self._write(anchor)
        return found

    def _read(self) -> Anchor | None:
        try:
            with open(self._path, "rb") as file:
                found = journal.load(file.read())
            jumped_s = found["jumped_s"]
            return Anchor(
                str(found["boot"]),
                float(found["boot_s"]),
                float(found["real_s"]),
                None if jumped_s is None else float(jumped_s),
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write(self, anchor: Anchor) -> None:
        temporary = f"{self._path}.new"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            file.write(journal.dump(dataclasses.asdict(anchor)))
        os.rename(temporary, self._path)
