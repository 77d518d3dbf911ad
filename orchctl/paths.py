"""Where things are: the state directory, whose it must be, and the paths in it.

One user on one machine has one state directory, whatever started the program: no XDG variable
moves it. Directories that are not ours alone are refused, never repaired.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from orchctl.errors import BadInput, NotPermitted
from orchctl.lazy_dataclass import dataclass

SUN_PATH_BYTES = 107  # what the kernel takes as a socket's path, without its final NUL


@dataclass(frozen=True, slots=True)
class Root:
    """The state directory and the files at its top."""

    path: str

    @property
    def socket(self) -> str:
        """Where the supervisor listens."""
        return f"{self.path}/supervisor.sock"

    @property
    def socket_aside(self) -> str:
        """Where the socket is while a supervisor that is about to end looks whether somebody came."""
        return f"{self.path}/supervisor.sock.idle"

    @property
    def start_lock(self) -> str:
        """Held by the one client that starts a supervisor."""
        return f"{self.path}/start.lock"

    @property
    def lifetime_lock(self) -> str:
        """Held by zygote and supervisor for as long as one of them lives."""
        return f"{self.path}/supervisor.lock"

    @property
    def log(self) -> str:
        """What the supervisor, the zygote and the pairs have to say."""
        return f"{self.path}/supervisor.log"

    @property
    def config(self) -> str:
        """Its settings."""
        return f"{self.path}/config.toml"

    @property
    def events(self) -> str:
        """The event journal."""
        return f"{self.path}/events"

    @property
    def sessions(self) -> str:
        """One directory a session."""
        return f"{self.path}/sessions"


def find_root(environ: Mapping[str, str]) -> Root:
    """The state directory that this environment means; it need not exist yet."""
    given = environ.get("ORCHCTL_STATE_DIR")
    if given:
        if not os.path.isabs(given):
            raise BadInput(f"ORCHCTL_STATE_DIR is not an absolute path: {given!r}", code="bad-state-dir")
        return Root(os.path.normpath(given))
    return Root(f"{_home(environ)}/.local/state/orchctl/{_machine()}")


def prepare(root: Root) -> None:
    """Make the state directory if it is not there, and refuse one that others could reach."""
    check(root)
    try:
        _make(root.sessions)
    except NotADirectoryError:
        raise NotPermitted(f"{root.path} is not a directory", code="bad-state-dir") from None
    except OSError as error:
        raise NotPermitted(
            f"cannot make the state directory {root.path}: {error.strerror}; set ORCHCTL_STATE_DIR to one of your own",
            code="bad-state-dir",
        ) from None
    check(root)


def _make(path: str) -> None:
    """The directory and what is missing above it, each closed to others from its first moment."""
    if not os.path.isdir(path):
        if not os.path.lexists(parent := os.path.dirname(path)):
            _make(parent)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            os.chmod(path, 0o700)  # whatever the mask took away


def check(root: Root) -> None:
    """Refuse a state directory that is a link, somebody else's, or open to others."""
    for path in (root.path, root.sessions):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise NotPermitted(f"cannot look at {path}: {error.strerror}", code="bad-state-dir") from None
        if not stat.S_ISDIR(found.st_mode):
            what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a directory"
            raise NotPermitted(f"the state directory {path} is {what}", code="bad-state-dir")
        if found.st_uid != os.geteuid():
            raise NotPermitted(f"the state directory {path} belongs to uid {found.st_uid}", code="bad-state-dir")
        if found.st_mode & 0o077:
            raise NotPermitted(
                f"the state directory {path} is open to others (mode {stat.S_IMODE(found.st_mode):o}); "
                f"'chmod 700 {path}' closes it",
                code="bad-state-dir",
            )


@contextmanager
def socket_address(path: str) -> Iterator[str]:
    """An address for `path` that the kernel takes, however long the path is."""
    if len(os.fsencode(path)) <= SUN_PATH_BYTES:
        yield path
        return
    folder, name = os.path.split(path)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{name}"
    finally:
        os.close(fd)


def repo_of(folder: str) -> str | None:
    """The top of the git work tree that `folder` lies in."""
    while not os.path.lexists(f"{folder}/.git"):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    try:
        if os.path.isabs(home) and os.stat(home).st_uid == os.geteuid():
            return os.path.normpath(home)
    except OSError:
        pass
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        raise NotPermitted(
            f"uid {os.geteuid()} has no home directory; set ORCHCTL_STATE_DIR", code="bad-state-dir"
        ) from None


def _machine() -> str:
    """Homes may be shared between machines, supervisors are not."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="ascii") as file:
                found = file.read().strip()
        except (OSError, ValueError):
            continue
        if found.isalnum():
            return found[:12]
    return os.uname().nodename.replace("/", "_") or "local"
