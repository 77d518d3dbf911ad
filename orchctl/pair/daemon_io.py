"""What the zygote and its forks stand on: sockets, standard streams and the log."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from dataclasses import dataclass

LOG_LIMIT_BYTES = 5 << 20
LOCK = "supervisor.lock"


@dataclass(frozen=True, slots=True)
class Door:
    """The listening socket and the lifetime lock. Whoever holds them keeps clients from being refused."""

    listener: socket.socket
    lock: int

    def fds(self) -> list[int]:
        """As they are handed on."""
        return [self.listener.fileno(), self.lock]

    def is_locked(self, path: str) -> bool:
        """Whether nobody else holds the lock that the path names; it is taken, should its file have been replaced."""
        fd = -1
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if not os.path.samestat(os.fstat(fd), os.fstat(self.lock)):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.dup2(fd, self.lock, inheritable=False)
        except BlockingIOError:
            return False
        except OSError:  # the directory is gone, or no descriptor is left: the supervisor sees to it
            pass
        finally:
            if fd >= 0:
                os.close(fd)
        return True

    def close(self) -> None:
        """Others may still hold both."""
        self.listener.close()
        os.close(self.lock)


def bind(folder: str, name: str, backlog: int) -> socket.socket:
    """A listening socket; from inside its directory, because paths to sockets must be short."""
    os.chdir(folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(name)
        listener.listen(backlog)
        listener.setblocking(False)
        return listener
    except OSError:
        listener.close()
        raise
    finally:
        os.chdir("/")


def identity(path: str) -> tuple[int, int] | None:
    """Which file a path names now; None where there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def bind_again(folder: str, name: str, backlog: int) -> socket.socket:
    """A socket in the place of one whose file was removed; by rename, so that nobody finds it before it listens."""
    temporary = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{folder}/{temporary}")
    listener = bind(folder, temporary, backlog)
    os.rename(f"{folder}/{temporary}", f"{folder}/{name}")
    return listener


def bind_fresh(folder: str, name: str, backlog: int) -> socket.socket:
    """A new socket, in the place of one that somebody who was killed has left; refused where somebody listens."""
    try:
        return bind(folder, name, backlog)
    except OSError as error:
        if error.errno != errno.EADDRINUSE or _answers(folder, name):
            raise
    return bind_again(folder, name, backlog)


def _answers(folder: str, name: str) -> bool:
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.setblocking(False)
            return caller.connect_ex(name) != errno.ECONNREFUSED
    finally:
        os.chdir("/")


def say(text: str) -> None:
    """One line in the log."""
    follow_log()
    os.write(2, f"{time.strftime('%Y-%m-%dT%H:%M:%S')} zygote {os.getpid()}: {text}\n".encode(errors="replace"))


def own_stdio(root: str) -> None:
    """Nothing in, the log out."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    log = os.open(f"{root}/supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for source, fd in ((null, 0), (null, 1), (log, 2)):
        os.dup2(source, fd)
    for fd in {null, log} - {0, 1, 2}:
        os.close(fd)


def roll_log(root: str) -> None:
    """Keep it and two older ones. Who has it open writes on into the older one, until it follows."""
    path = f"{root}/supervisor.log"
    with contextlib.suppress(FileNotFoundError):
        if os.stat(path).st_size > LOG_LIMIT_BYTES:
            for older, newer in ((f"{path}.2", f"{path}.1"), (f"{path}.1", path)):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(newer, older)


def follow_log() -> None:
    """If what we write to was rolled away, or deleted, go on in the new one; every writer does so before it writes."""
    with contextlib.suppress(OSError):
        path = os.readlink("/proc/self/fd/2").removesuffix(" (deleted)")
        folder, name = os.path.split(path)
        if name.startswith("supervisor.log.") or (name == "supervisor.log" and not os.path.exists(path)):
            own_stdio(folder)


def follow_or_roll_log(root: str) -> None:
    """For the one that looks after it."""
    roll_log(root)
    follow_log()
