"""Limits as they are set: for any manager, for some by name, and for all together. None is no limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from orchctl.lazy_dataclass import dataclass

SESSIONS, LOG, TIME, IDLE, TOTAL = "sessions", "log", "time", "idle", "total"
SESSIONS_BY_DEFAULT = 200
Rule = Mapping[str, float | None]  # kind → value; a kind that is not there is not spoken of


def _default() -> Rule:
    return {SESSIONS: SESSIONS_BY_DEFAULT, LOG: None, TIME: None, IDLE: None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a manager may have together with all below it: live sessions and bytes of output kept; and each of its
    sessions: seconds of time and of idle time. `default` holds where no rule speaks; `total` is live sessions in all.
    """

    total: int | None = None
    default: Rule = field(default_factory=_default)
    managers: Mapping[str, Rule] = field(default_factory=dict)
