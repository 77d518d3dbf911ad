"""Limits at the door: a session too many is refused before anything of it is made, and that is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from orchctl.errors import LimitReached
from orchctl.log.session_files import Spec
from orchctl.session import limits
from orchctl.session.limits import IDLE, TIME
from orchctl.supervisor.archive import Archive
from orchctl.supervisor.context import House
from orchctl.supervisor.session import SupervisedSession


class LimitGuard:
    """Asks the settings as they are now."""

    def __init__(self, house: House) -> None:
        self._house = house

    def apply(self, spec: Spec) -> Spec:
        """The intent with the times that its manager's sessions may have at most."""
        set_now = self._house.config.limits
        time_s, _ = limits.longest(set_now, spec.managed_by, TIME)
        idle_s, _ = limits.longest(set_now, spec.managed_by, IDLE)
        return replace(
            spec,
            timeout_s=limits.bounded(spec.timeout_s, time_s),
            idle_s=limits.bounded(spec.idle_s, idle_s),
        )

    def check(self, manager: str, sessions: Iterable[SupervisedSession], archive: Archive) -> None:
        """Refuse one more session of this manager where that is too many."""
        set_now = self._house.config.limits
        output = limits.counts_output(set_now, manager)
        uses = [limits.Use(one.spec.managed_by, not one.closed, _kept(one) if output else 0) for one in sessions]
        if output:
            uses += [limits.Use(view.managed_by, False, view.output.kept_bytes) for view in archive.views()]
        broken = limits.refusal(set_now, manager, uses)
        if broken is not None:
            self._house.teller.announce(
                "limit",
                managed_by=manager,
                who=manager,
                limit=broken.kind,
                owner=broken.owner,
                value=broken.value,
                used=broken.used,
            )
            raise LimitReached(broken.message)


def _kept(session: SupervisedSession) -> int:
    return session.open_log().extent().kept_bytes
