"""What all sessions share: the store, the settings, the event journal and the clock.

Settings are looked at whenever they are asked for, and read again when the file has changed. A running supervisor
deletes by them, so a file that is half written or wrong changes nothing: the settings before it stay in force.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace

from orchctl import config
from orchctl.config import Config
from orchctl.lazy_dataclass import dataclass
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import SessionStore
from orchctl.paths import Root
from orchctl.supervisor.clock import Clock
from orchctl.supervisor.events import Teller

log = logging.getLogger(__name__)
SETTLE_S = 1.0  # a file that is written in place, or is gone, must stay so for as long
Stamp = tuple[int, int, int, int]


class Configuration:
    """Of one state directory. A look costs two `stat`s; a file that was replaced as a whole holds from then on.

    Another file that `config-path` names holds at once. While that names none, what was before holds, and a supervisor
    that starts then has the defaults.
    """

    _stamp: Stamp | None  # of the file that was read
    _pending: Stamp | None  # of one that is still being written

    def __init__(self, where: Root | str) -> None:
        self._root = where if isinstance(where, Root) else None
        self._named = _stamp(self._root.config_path) if self._root is not None else None
        self._config = config.of(where).config if isinstance(where, Root) else config.read(where)
        self._go_to(where.config_if_known if isinstance(where, Root) else where)
        for problem in self._config.problems:
            log.warning("%s", problem)

    @property
    def path(self) -> str | None:
        """The file; None while `config-path` names none."""
        self._follow()
        return self._path or None

    @property
    def now(self) -> Config:
        """What the file says."""
        self._follow()
        stamp = _stamp(self._path)
        if stamp != self._stamp and self._settled(stamp):
            self._stamp, self._gone = stamp, False
            self._take_up(config.read(self._path))
        return self._config

    def _follow(self) -> None:
        """To the file that is named by now; whoever removes `config-path` names none, and changes nothing."""
        if self._root is None or (named := _stamp(self._root.config_path)) in (self._named, None):
            return
        self._named = named
        found = config.of(self._root).config
        self._go_to(self._root.config_if_known)
        self._take_up(found)

    def _go_to(self, path: str | None) -> None:
        self._path = path or ""  # which is never there
        self._stamp = self._pending = _stamp(self._path)
        self._pending_since = 0.0
        self._gone = False  # it was there, and then was not

    def _take_up(self, found: Config) -> None:
        for problem in found.problems:
            log.warning("%s", problem)
        if found.problems:
            self._config = replace(self._config, problems=found.problems)
        elif found != self._config:
            self._config = found
            log.info("config.toml has changed")

    def _settled(self, stamp: Stamp | None) -> bool:
        """Replaced by rename it is whole at once; else it is looked at again when it has not changed for a while."""
        before = self._stamp
        self._gone = self._gone or (stamp is None and before is not None)
        if stamp is not None and stamp[1] > 0 and not self._gone and (before is None or stamp[0] != before[0]):
            return True
        if stamp != self._pending:
            self._pending, self._pending_since = stamp, time.monotonic()
        return time.monotonic() - self._pending_since >= SETTLE_S


def _stamp(path: str) -> Stamp | None:
    """Another one whenever the file is."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


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
