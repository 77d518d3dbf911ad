"""Who may type into a session, on disk: `lease.jnl`. A grant is safe from power loss before anybody hears of it."""

from __future__ import annotations

from orchctl.log import journal
from orchctl.log.disk import REAL, Disk
from orchctl.log.journal import Record, append, records
from orchctl.session import layout

LIMIT_BYTES = 1 << 18  # the last record says all that counts; the others are only worth looking back at


class LeaseStore:
    """Below one session's directory; never two calls at once."""

    def __init__(self, folder: str, disk: Disk = REAL) -> None:
        self._folder = folder
        self._path = f"{folder}/{layout.LEASE}"
        self._disk = disk
        self._named = False  # whether the directory is known to have the file, whatever happens

    def read(self) -> list[Record]:
        """All that was kept, oldest first."""
        return records(self._path, self._disk)

    def put(self, record: Record) -> None:
        """Returns once power may fail."""
        append(self._path, record, self._disk)
        fd = self._disk.open(self._path)
        try:
            self._disk.sync(fd)
            size = self._disk.size(fd)
        finally:
            self._disk.close(fd)
        if not self._named:
            self._disk.sync_folder(self._folder)
            self._named = True
        if size > LIMIT_BYTES:
            self._begin_again(record)

    def _begin_again(self, record: Record) -> None:
        """The last record alone, in the place of all."""
        fresh = f"{self._path}.new"
        self._disk.unlink(fresh)
        fd = self._disk.open(fresh, create=True, append=True)
        try:
            line = journal.encode(record)
            while line:
                line = line[self._disk.append(fd, line) :]
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)
        self._disk.rename(fresh, self._path)
        self._disk.sync_folder(self._folder)
