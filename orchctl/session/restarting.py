"""When a session starts again by itself. Pure: its policy and how its last run ended in, yes or no out."""

from __future__ import annotations

import re

from orchctl.errors import BadInput

_POLICY = re.compile(r"no|always|on-failure(?::([1-9]\d{0,5}))?")
FIRST_S, LONGEST_S = 0.2, 60.0
STEADY_S = 10.0  # a run that lasted so long begins the waiting anew


def check(policy: str) -> str:
    """`policy`, if it is one."""
    if not _POLICY.fullmatch(policy):
        raise BadInput(f"{policy!r} is not a restart policy: no, on-failure[:N] or always", code="bad-restart")
    return policy


def again(policy: str, status: int | None, kill_reason: str | None, runs: int) -> bool:
    """Whether another run follows; never after a kill, and `on-failure:N` allows N restarts in all."""
    if kill_reason is not None or policy == "no":
        return False
    if policy == "always":
        return True
    limit = (_POLICY.fullmatch(policy) or [None, None])[1]
    return status != 0 and (limit is None or runs <= int(limit))


def wait_s(quick_runs: int) -> float:
    """How long to wait after so many runs in a row that ended soon."""
    return float(min(LONGEST_S, FIRST_S * 2 ** min(20, max(0, quick_runs - 1))))
