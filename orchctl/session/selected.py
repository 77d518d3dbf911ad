"""Which sessions are meant: by name, and by what they have in common."""

from __future__ import annotations

from dataclasses import field

from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Sessions by id, name, prefix or `@last`; or those, of all or of managers, for which conditions hold.

    `everything` chooses all there are. A selection that says nothing chooses none.
    """

    sessions: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()  # each with all below it
    labels: dict[str, str] = field(default_factory=dict)
    repo: str | None = None
    everything: bool = False

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.sessions or self.open)

    @property
    def single(self) -> bool:
        """Whether it names one session and says nothing else."""
        return len(self.sessions) == 1 and not self.open

    @property
    def open(self) -> bool:
        """Whether sessions that do not exist yet may belong to it."""
        return bool(self.managers or self.labels or self.repo is not None or self.everything)
