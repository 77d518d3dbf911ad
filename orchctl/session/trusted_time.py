"""The time by which ages are measured: the wall clock, but not where it has just jumped ahead. Pure.

The seconds since boot cannot be set. So a wall clock that runs ahead of them was set, perhaps by mistake: what is
kept for a week must not go because of that. For a day the time is counted on from before the jump; a clock that is
still ahead by then is believed. A clock that goes back is believed at once, because nothing goes too early by it.

    wall clock against what the seconds since boot make expect      time           anchor
    another boot, or nothing known                                  wall clock     new
    about the same                                                  wall clock     kept
    behind                                                          wall clock     new
    ahead, for less than HOLD_S                                     expected       with the moment of the jump
    ahead, for HOLD_S                                               wall clock     new
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
