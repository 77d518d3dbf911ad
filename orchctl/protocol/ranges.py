"""What the numbers in a request may be: one row for every field that holds one. Pure.

The decoder has checked that a number is one; here it is refused before a handler, a file or the kernel sees it, with
the stable code of its row. A handler may be stricter: what depends on a session is its to say. A test compares this
table with the messages, so that no field comes without a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from orchctl.errors import BadInput
from orchctl.units import LONGEST_S

LARGEST = (1 << 63) - 1  # an offset, a count or a limit, as the kernel has them
PID_LIMIT = 1 << 22  # PID_MAX_LIMIT of Linux
SIDE_LIMIT = (1 << 16) - 1  # struct winsize
SIGNAL_LIMIT = 64
LONGEST_GRACE_S = 86400.0
_FARTHEST_S = float(1 << 40)  # 34,000 years, before 1970 and after


class Range(NamedTuple):
    """Both ends are allowed."""

    low: float
    high: float
    code: str


_DURATION = Range(0.0, LONGEST_S, "bad-duration")
_GRACE = Range(0.0, LONGEST_GRACE_S, "bad-duration")
_TIME = Range(-_FARTHEST_S, _FARTHEST_S, "bad-time")
_OFFSET = Range(0, LARGEST, "bad-offset")
_PID = Range(1, PID_LIMIT, "bad-pid")
_NO_PID = Range(0, PID_LIMIT, "bad-pid")  # 0: none
_SIDE = Range(1, SIDE_LIMIT, "bad-size")
_NO_SIDE = Range(0, SIDE_LIMIT, "bad-size")  # 0: of another action than `resize`
_SIGNAL = Range(0, SIGNAL_LIMIT, "bad-signal")
_COUNT = Range(0, LARGEST, "bad-count")

RANGES: dict[str, dict[str, Range]] = {
    "session.spawn": {
        "cols": _SIDE,
        "rows": _SIDE,
        "timeout_s": _DURATION,
        "idle_s": _DURATION,
        "bind_pid": _PID,
        "bind_ticks": Range(0, LARGEST, "bad-pid"),
        "umask": Range(0, 0o777, "bad-umask"),
        "limits": Range(-1, LARGEST, "bad-limit"),  # -1: unlimited
    },
    "session.restart": {"run": _COUNT, "grace_s": _GRACE},
    "session.kill": {"grace_s": _GRACE, "signal": _SIGNAL},
    "manager.kill": {"grace_s": _GRACE},
    "session.control": {"signal": _SIGNAL, "cols": _NO_SIDE, "rows": _NO_SIDE},
    "session.wait-for": {"quiet_s": _DURATION},
    "input.send": {"lease_wait_s": _DURATION},
    "command.exec": {
        "offset": _OFFSET,
        "timeout_s": _DURATION,
        "kill_after_s": _DURATION,
        "wait_prompt_s": _DURATION,
        "lease_wait_s": _DURATION,
    },
    "command.spool": {"offset": _OFFSET},
    "output.read": {
        "offset": _OFFSET,
        "lines": _COUNT,
        "since_unix_s": _TIME,
        "until_unix_s": _TIME,
        "until_offset": _OFFSET,
        "credit_bytes": Range(1, LARGEST, "bad-credit"),
    },
    "output.ack": {"stream": _COUNT, "count_bytes": Range(1, LARGEST, "bad-ack")},
    "events.read": {
        "since_seq": Range(0, LARGEST, "bad-seq"),
        "since_unix_s": _TIME,
        "places": _OFFSET,
        "lines": _COUNT,
    },
    "store.prune": {
        "older_than_s": Range(0.0, _FARTHEST_S, "bad-duration"),
        "keep_bytes": Range(0, LARGEST, "bad-size"),
    },
    "view.open": {"answers_from": _OFFSET},
    "lease.take": {"ttl_s": Range(0.0, LONGEST_S, "bad-ttl"), "wait_s": _DURATION},
    "supervisor.stop": {"grace_s": _GRACE},
    "supervisor.restart": {"pid": _NO_PID, "zygote": _NO_PID},
}


def check(message: Any) -> None:
    """Refuse a message with a number that means nothing; fields that are not given are not looked at."""
    for name, allowed in RANGES.get(message.kind, {}).items():
        value = getattr(message, name)
        for number in value.values() if isinstance(value, dict) else [value]:
            if number is not None and not allowed.low <= number <= allowed.high:
                raise BadInput(
                    f"{name} is {number}; {allowed.low:.0f} to {allowed.high:.0f} is allowed", code=allowed.code
                )
