"""Limits beside what is used of them, from the settings and the files: no supervisor is asked, and none is started."""

from __future__ import annotations

from orchctl import config
from orchctl.client.workers import ask_store
from orchctl.lazy_dataclass import dataclass
from orchctl.paths import Root
from orchctl.session import limits, manager
from orchctl.session.limits import IDLE, TIME, TOTAL, Limits, Use


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """One limit. `manager` None: all together. `value` None: none. `used` None: it is for each session alone."""

    manager: str | None
    limit: str
    value: float | None
    used: int | None
    origin: str
    line: int | None


def look(root: Root, name: str | None) -> list[LimitRow]:
    """What holds for one manager, above it too; or for all that have sessions or a rule."""
    found = config.of(root)
    uses = [Use(one["managed_by"], one["live"], one["log_bytes"]) for one in ask_store("usage", root.path)]
    rows = _Rows(found, uses)
    set_now = found.config.limits
    busy = {limits.topmost(use.managed_by) for use in uses}
    names = [manager.parse(name)] if name is not None else sorted(busy | set(set_now.managers))
    for one in names:
        rows.add(set_now, one)
    if not names:
        rows.put(limits.Bound(TOTAL, None, set_now.total))
    return rows.found


class _Rows:
    def __init__(self, found: config.Found, uses: list[Use]) -> None:
        self._lines = found.lines
        self._uses = uses
        self.found: list[LimitRow] = []

    def add(self, set_now: Limits, name: str) -> None:
        for bound in limits.bounds(set_now, name):
            self.put(bound)
        for kind in (TIME, IDLE):
            value, owner = limits.longest(set_now, name, kind)
            path = ("limits", owner, kind) if owner is not None else ("limits", kind)
            self._row(owner or limits.topmost(name), kind, value, None, path)

    def put(self, bound: limits.Bound) -> None:
        path = (
            ("limits", bound.kind) if bound.owner is None or bound.by_default else ("limits", bound.owner, bound.kind)
        )
        self._row(bound.owner, bound.kind, bound.value, limits.measure(bound, self._uses).used, path)

    def _row(self, owner: str | None, kind: str, value: float | None, used: int | None, path: tuple[str, ...]) -> None:
        line = self._lines.get(path)
        origin = "file" if line is not None else "default"
        row = LimitRow(manager=owner, limit=kind, value=value, used=used, origin=origin, line=line)
        if row not in self.found:
            self.found.append(row)
