"""What all sessions share: where they are kept, how, and who tells of them."""

from __future__ import annotations

from orchctl.config import Config
from orchctl.lazy_dataclass import dataclass
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import SessionStore
from orchctl.supervisor.clock import Clock
from orchctl.supervisor.configuration import Configuration
from orchctl.supervisor.events import Teller


@dataclass(frozen=True, slots=True)
class House:
    """The store, the settings, and the events."""

    store: SessionStore
    ended: EndedStore
    teller: Teller
    configuration: Configuration
    clock: Clock

    @property
    def config(self) -> Config:
        """The settings as they are now."""
        return self.configuration.now
