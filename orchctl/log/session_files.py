"""The files of a session: the intent before the fork, the pair's journal after it, lease and conversation.

One writer each: the supervisor writes `spec.json`, `lease.jnl` and `harness.jnl`, the pair writes `run.jnl`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from orchctl.errors import PeerBroke
from orchctl.lazy_dataclass import dataclass
from orchctl.log import journal
from orchctl.log.commands import CommandStore
from orchctl.log.disk import REAL, Disk
from orchctl.log.journal import Record, append, records
from orchctl.plain import from_plain, to_plain
from orchctl.session import layout
from orchctl.session.agent import Agent

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What was asked for; `spec.json`. It never changes once written."""

    id: str
    command: tuple[str, ...]
    cwd: str
    cols: int
    rows: int
    created_at: float
    format: int = FORMAT
    name: str | None = None
    backend: str = "pty"
    managed_by: str = "user"
    umask: int = 0o022
    limits: dict[str, int] = field(default_factory=dict)
    ring_bytes: int = 64 << 20
    restart: str = "no"  # or `on-failure`, `on-failure:N`, `always`
    timeout_s: float | None = None
    idle_s: float | None = None
    bind_pid: int | None = None
    bind_ticks: int = 0
    repo: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    remove: bool = False
    echo: bool = True
    argv: tuple[str, ...] = ()
    executable: str | None = None
    shell: str | None = None
    nonce: str = ""
    agent: Agent | None = None  # of a harness session
    stdin: str = "open"  # or `null`, `handed`


class SessionStore:
    """All session directories of one state directory."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._going = f"{os.path.dirname(path)}/going"

    @property
    def state_dir(self) -> str:
        """That they are in."""
        return os.path.dirname(self._path)

    def folder(self, session: str) -> str:
        """Where a session's files are."""
        return f"{self._path}/{session}"

    def create(
        self,
        spec: Spec,
        env: dict[str, str],
        shell_files: dict[str, str],
        prepare: Callable[[str], None] = lambda folder: None,
    ) -> None:
        """Write the intent down. The spec comes last, by rename: a directory without one was never asked for."""
        folder = self.folder(spec.id)
        os.mkdir(folder, 0o700)
        os.mkdir(f"{folder}/{layout.OUTPUT}", 0o700)
        os.mkdir(f"{folder}/{layout.SHELL}", 0o700)
        for name, text in shell_files.items():
            CommandStore(folder).put(name, text)
        prepare(folder)
        _write(f"{folder}/{layout.ENVIRONMENT}", json.dumps(env))
        _write(f"{folder}/{layout.SPEC}", journal.dump(to_plain(spec)))

    def commands(self, session: str) -> CommandStore:
        """What was run in a session's shell."""
        return CommandStore(self.folder(session))

    def remove(self, session: str) -> None:
        """Take a session's files away, all of them at once; what a crash leaves of them goes at the next start."""
        folder = going = self.folder(session)
        with contextlib.suppress(OSError):  # on a full disk, one by one
            os.makedirs(self._going, mode=0o700, exist_ok=True)
            os.rename(folder, f"{self._going}/{session}")
            going = f"{self._going}/{session}"
        shutil.rmtree(going, ignore_errors=True)

    def clear(self) -> None:
        """Finish what was being removed; others may go at the same time."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._going):
                shutil.rmtree(f"{self._going}/{name}", ignore_errors=True)

    def ids(self) -> Iterator[str]:
        """Every session that has a directory."""
        with os.scandir(self._path) as entries:
            yield from sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def read_spec(self, session: str) -> Spec | None:
        """The intent, or None where none was written whole."""
        try:
            with open(f"{self.folder(session)}/{layout.SPEC}", "rb") as file:
                return from_plain(Spec, journal.load(file.read()))
        except (OSError, ValueError, PeerBroke):
            return None

    def read_environment(self, session: str) -> dict[str, str] | None:
        """What is kept for the next run."""
        try:
            with open(f"{self.folder(session)}/{layout.ENVIRONMENT}", encoding="ascii") as file:
                env: dict[str, str] = json.load(file)
        except (OSError, ValueError):
            return None
        return env

    def has_environment(self, session: str) -> bool:
        """Whether it is kept for the next run."""
        return os.path.exists(f"{self.folder(session)}/{layout.ENVIRONMENT}")

    def put_environment(self, session: str, env: dict[str, str]) -> None:
        """For the next run, where none was kept."""
        _write(f"{self.folder(session)}/{layout.ENVIRONMENT}", json.dumps(env))

    def forget_environment(self, session: str) -> None:
        """No run will follow."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.folder(session)}/{layout.ENVIRONMENT}")

    def was_forked(self, session: str) -> bool:
        """Whether a zygote ever began with it: the socket is bound before the fork, the journal comes after."""
        return any(_may_exist(f"{self.folder(session)}/{name}") for name in (layout.SOCKET, layout.JOURNAL))

    def remove_socket(self, session: str) -> None:
        """Nobody listens there any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.folder(session)}/{layout.SOCKET}")

    def read_journal(self, session: str, offset: int = 0) -> journal.Decoded:
        """The pair's records from `offset` on."""
        try:
            with open(f"{self.folder(session)}/{layout.JOURNAL}", "rb") as file:
                file.seek(offset)
                return journal.decode(file.read(), offset=offset)
        except FileNotFoundError:
            return journal.Decoded(next_offset=offset)

    def journal_sizes(self, session: str, second: str = layout.COMMANDS) -> tuple[int, int]:
        """Of `run.jnl`, and of `commands.jnl` or `harness.jnl`."""
        run, other = (_size(f"{self.folder(session)}/{name}") for name in (layout.JOURNAL, second))
        return run, other

    def append_journal(self, session: str, record: dict[str, Any]) -> None:
        """One record in the name of a pair that is gone and can no longer write."""
        append(f"{self.folder(session)}/{layout.JOURNAL}", record)


def _may_exist(path: str) -> bool:
    """False only where the kernel says that there is no such file; a folder that cannot be read proves nothing."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _write(path: str, text: str) -> None:
    temporary = f"{path}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(text)
    os.rename(temporary, path)


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
        append(self._path, record, self._disk, alone=True)
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


class ConversationStore:
    """Of one session's directory. The supervisor is the one writer."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/{layout.HARNESS}"

    def append(self, record: dict[str, Any]) -> None:
        """One more."""
        append(self._path, record, alone=True)

    def read(self, offset: int = 0) -> journal.Decoded:
        """From an offset on."""
        try:
            with open(self._path, "rb") as file:
                file.seek(offset)
                return journal.decode(file.read(), offset=offset)
        except FileNotFoundError:
            return journal.Decoded(next_offset=offset)


def put_server(folder: str, known: dict[str, Any]) -> None:
    """What a supervisor has to know about an agent server; it may hold a password."""
    fd = os.open(f"{folder}/{layout.SERVER}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        json.dump(known, file)


def read_server(folder: str) -> dict[str, Any] | None:
    """The same, for the next one."""
    try:
        with open(f"{folder}/{layout.SERVER}", encoding="ascii") as file:
            known = json.load(file)
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) else None
