"""Limits: as they are set for any manager, for some by name and for all together, and whether one is reached. Pure.

None is no limit. What is used is counted elsewhere; a rule here says which limit a spawn would pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from orchctl import units
from orchctl.lazy_dataclass import dataclass
from orchctl.session import manager as managers

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


AGENTS = "orchestrator"  # the name before an agent's own; nobody by itself


@dataclass(frozen=True, slots=True)
class Use:
    """One session that counts: for its manager, and for those above it."""

    managed_by: str
    live: bool
    log_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit on somebody, `owner`, or on all if that is None; `value` None is none."""

    kind: str
    owner: str | None
    value: float | None
    used: int = 0
    by_default: bool = False

    @property
    def message(self) -> str:
        """What stands in the way, of whom, and what to do."""
        whose = f"{self.owner} and below" if self.owner is not None else "all managers"
        value = units.about_size(self.value or 0) if self.kind == LOG else f"{self.value or 0:.0f}"
        what = "of output kept" if self.kind == LOG else "live sessions"
        used = units.about_size(self.used) if self.kind == LOG else str(self.used)
        shown = f"limits.{self.owner}.{self.kind}" if self.owner is not None else f"limits.{self.kind}"
        return (
            f"the limit '{self.kind}' of {value} {what} for {whose} is reached: {used} are there; "
            f"end or prune some, or 'orchctl config set {shown} N'"
        )


def chain(manager: str) -> list[str]:
    """A manager and all above it, topmost first."""
    parts = manager.split(":")
    return [":".join(parts[:size]) for size in range(1, len(parts) + 1)]


def topmost(manager: str) -> str:
    """The user or the agent that a manager belongs to."""
    names = chain(manager)
    return names[1] if names[0] == AGENTS and len(names) > 1 else names[0]


def bounds(limits: Limits, manager: str) -> list[Bound]:
    """Every limit on sessions and output that a session of this manager counts for, the widest first."""
    found = [Bound(TOTAL, None, limits.total, by_default=limits.total is None)]
    for name in chain(manager):
        rule = limits.managers.get(name, {})
        for kind in (SESSIONS, LOG):
            if kind in rule:
                found.append(Bound(kind, name, rule[kind]))
            elif name == topmost(manager):
                found.append(Bound(kind, name, limits.default.get(kind), by_default=True))
    return found


def measure(bound: Bound, uses: Iterable[Use]) -> Bound:
    """The same with what is used of it."""
    own = [use for use in uses if bound.owner is None or managers.selects(bound.owner, use.managed_by)]
    used = sum(use.log_bytes for use in own) if bound.kind == LOG else sum(use.live for use in own)
    return Bound(bound.kind, bound.owner, bound.value, used, bound.by_default)


def counts_output(limits: Limits, manager: str) -> bool:
    """Whether it matters how much output there is; that takes a look at every session."""
    return any(bound.kind == LOG and bound.value is not None for bound in bounds(limits, manager))


def refusal(limits: Limits, manager: str, uses: Iterable[Use]) -> Bound | None:
    """The first limit that one session more of this manager would break; None if it may start."""
    uses = list(uses)
    for bound in bounds(limits, manager):
        if bound.value is not None and (measured := measure(bound, uses)).used >= bound.value:
            return measured
    return None


def longest(limits: Limits, manager: str, kind: str) -> tuple[float | None, str | None]:
    """The time or idle time that a session of this manager may have, and who sets that; the default if nobody does."""
    assert kind in (TIME, IDLE)
    rules = [(rule[kind], name) for name in chain(manager) if kind in (rule := limits.managers.get(name, {}))]
    if not rules:
        return limits.default.get(kind), None
    return min(((value, name) for value, name in rules if value is not None), default=(None, None))


def bounded(asked_s: float | None, limit_s: float | None) -> float | None:
    """What is asked for, but no more than the limit; the limit where nothing is asked for."""
    given = [seconds for seconds in (asked_s, limit_s) if seconds is not None]
    return min(given) if given else None
