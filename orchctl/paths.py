"""Where things are: the state directory, whose it must be, the paths in it, and the file with the settings.

One user on one machine has one state directory, whatever started the program: no XDG variable
moves it. Directories that are not ours alone are refused, never repaired.

The settings are in `config.toml`: in the state directory if that was named, else in the user's configuration directory.
That one depends on the environment, so it is written down in the state directory when that is made, and read from
there ever after: cron, a login shell and the supervisor have the same settings. In this order:

    config-path is in the state directory          what it says
    the state directory was named                  config.toml in it
    config.toml is in the state directory          that one, as in versions before; `config path` and doctor say so
    else                                           config.toml in the user's configuration directory
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from orchctl.errors import BadInput, NotPermitted
from orchctl.lazy_dataclass import dataclass

LONGEST_PATH_BYTES = 4096  # as the kernel takes it
SUN_PATH_BYTES = 107  # what the kernel takes as a socket's path, without its final NUL


@dataclass(frozen=True, slots=True)
class Root:
    """The state directory and the files at its top."""

    path: str
    home: str | None = None  # whose default state directory it is; None: it was named

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
    def config_path(self) -> str:
        """Says where the settings are."""
        return f"{self.path}/config-path"

    @property
    def own_config(self) -> str:
        """Where the settings are if nothing says otherwise."""
        return f"{self.path}/config.toml"

    @property
    def config(self) -> str:
        """The file with the settings; `NotPermitted` where `config-path` does not say which."""
        return find_config(self)

    @property
    def config_if_known(self) -> str | None:
        """The same, or None."""
        try:
            return find_config(self)
        except NotPermitted:
            return None

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
    home = _home(environ)
    return Root(f"{home}/.local/state/orchctl/{_machine()}", home)


def prepare(root: Root) -> None:
    """Make the state directory if it is not there, and refuse one that others could reach."""
    check(root)
    try:
        make_folder(root.sessions)
    except NotADirectoryError:
        raise NotPermitted(f"{root.path} is not a directory", code="bad-state-dir") from None
    except OSError as error:
        raise NotPermitted(
            f"cannot make the state directory {root.path}: {error.strerror}; set ORCHCTL_STATE_DIR to one of your own",
            code="bad-state-dir",
        ) from None
    check(root)
    if root.home is not None and not os.path.lexists(root.config_path) and not os.path.lexists(root.own_config):
        with suppress(OSError):  # of a full disk, say; the next one tries again
            write_config_path(root, user_config(root.home), replace=False)


def find_config(root: Root) -> str:
    """The file with the settings, which need not exist; the order is at the top of this module."""
    try:
        with open(root.config_path, "rb") as file:
            written = file.read(LONGEST_PATH_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if root.home is None or os.path.lexists(root.own_config):
            return root.own_config
        return user_config(root.home)
    except OSError as error:
        raise _bad_config_path(f"cannot read {root.config_path}: {error.strerror}") from None
    path = os.fsdecode(written.removesuffix(b"\n"))
    if not path.strip():
        raise _bad_config_path(f"{root.config_path} is empty")
    if len(written) > LONGEST_PATH_BYTES or "\0" in path:
        raise _bad_config_path(f"{root.config_path} is not a path")
    if not os.path.isabs(path):
        raise _bad_config_path(f"{root.config_path} is not an absolute path: {path!r}")
    return path


def set_config(root: Root, path: str) -> None:
    """Have the settings in this file from now on. It need not exist; one that does must be a file that we can read."""
    if len(os.fsencode(path)) >= LONGEST_PATH_BYTES or path.endswith("\n"):
        raise BadInput(f"the path is too long, or ends with a newline: {path[:80]!r}", code="bad-config-path")
    try:
        if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise NotPermitted(f"{path} is not a file", code="bad-config-path")
        with suppress(FileNotFoundError), open(path, "rb"):
            pass
    except OSError as error:
        raise NotPermitted(f"cannot read {path}: {error.strerror}", code="bad-config-path") from None
    prepare(root)
    try:
        write_config_path(root, path, replace=True)
    except OSError as error:
        raise NotPermitted(f"cannot write {root.config_path}: {error.strerror}", code="bad-state-dir") from None


def misplaced(root: Root) -> tuple[str, str | None] | None:
    """What is odd about a config.toml in a state directory that was not named, and the command that moves it."""
    if root.home is None or not os.path.lexists(root.own_config) or (used := root.config_if_known) is None:
        return None
    if used != root.own_config:
        return f"{root.own_config} is not read: the settings are in {used}", None
    if os.path.lexists(root.config_path):  # somebody wants it there
        return None
    place = user_config(root.home)
    if os.path.lexists(place):
        return f"{root.own_config} is read, as before, and {place} is not; put the settings of both there", None
    import shlex

    folder, old, new = map(shlex.quote, (os.path.dirname(place), root.own_config, place))
    command = f"mkdir -p {folder} && mv {old} {new} && orchctl config path --set {new}"
    return f"{root.own_config} is read, as before; the place for it is {place}", command


def user_config(home: str) -> str:
    """The file in the configuration directory of the user with this home.

    platformdirs takes HOME and XDG_CONFIG_HOME as they are. Here HOME counts by the rule for the state directory, and
    XDG_CONFIG_HOME if it is not another user's, as `sudo` may leave it.
    """
    import platformdirs

    given = os.environ.get("XDG_CONFIG_HOME", "")
    environ = {"HOME": home, "XDG_CONFIG_HOME": given if os.path.isabs(given) and _may_be_ours(given) else ""}
    changed = {name: os.environ.get(name) for name, value in environ.items() if os.environ.get(name, "") != value}
    try:
        os.environ.update({name: environ[name] for name in changed})
        return os.path.join(os.path.normpath(platformdirs.user_config_dir("orchctl")), "config.toml")
    finally:
        for name, value in changed.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _may_be_ours(path: str) -> bool:
    try:
        return os.stat(path).st_uid == os.geteuid()
    except FileNotFoundError:
        return True  # it is made when something is set
    except OSError:
        return False


def _bad_config_path(what: str) -> NotPermitted:
    return NotPermitted(f"{what}; 'orchctl config path --set PATH' writes it anew", code="bad-config-path")


def write_config_path(root: Root, path: str, *, replace: bool) -> None:
    """Write down where the settings are; unless it is to be replaced, what another has written stays."""
    with locked(root.path):
        if replace or not os.path.lexists(root.config_path):
            write_whole(root.config_path, os.fsencode(path) + b"\n")


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """One at a time replaces a file there; the folder is locked, because the file is another one afterwards."""
    import fcntl

    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def write_whole(path: str, data: bytes) -> None:
    """By rename, so that nobody ever reads half of it; the caller has the folder locked."""
    temporary = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(temporary)  # of a writer that was killed
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def make_folder(path: str) -> None:
    """The directory and what is missing above it, each closed to others from its first moment."""
    if not os.path.isdir(path):
        if not os.path.lexists(parent := os.path.dirname(path)):
            make_folder(parent)
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
