"""How a zygote begins: by a client's command, in place of one that died, or to take over from an older one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import os
import select
import signal
import socket
import sys

from orchctl.pair import process, reaper
from orchctl.pair.daemon_io import LOCK, Door, bind, own_stdio, roll_log, say
from orchctl.pair.tree import start_ticks
from orchctl.pair.zygote import Zygote
from orchctl.session import layout

# What pidfd_open says of a number that nobody has, or that is by now a thread's of another process: kernels differ
NO_PROCESS = (errno.ESRCH, errno.EINVAL, errno.ENOENT)


def clear_up(root: str) -> None:
    """Take the whole directory away, if it names an owner and that has ended."""
    try:
        with open(f"{root}/{layout.OWNER}", "rb") as file:
            found = layout.decode(file.read(64))
    except OSError:
        return
    if found is not None and not _lives(found):
        with contextlib.suppress(OSError):
            _remove(root)


def _lives(found: layout.Owner) -> bool:
    """Not if it is a zombie: nobody knows when that is reaped."""
    try:
        pidfd = os.pidfd_open(found.pid)
    except OSError as error:
        return error.errno not in NO_PROCESS
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return start_ticks(found.pid) == found.ticks and not poll.poll(0)
    finally:
        os.close(pidfd)


def _remove(folder: str) -> None:
    """Everything below it and itself; what cannot be removed stays. No link is followed."""
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(folder)


SOCKET, SOCKET_ASIDE = "supervisor.sock", "supervisor.sock.idle"
BACKLOG = 512  # fifty clients at once must not be told to come again
LOCK_WAIT_S = 5.0  # a supervisor that was told to stop may take a moment to be gone
_PAST_OUR_FDS = 1 << 16


def main() -> None:
    """ROOT [--foreground] [--ready FD] | ROOT --adopt LISTENER LOCK CHANNEL | ROOT --succeed LISTENER LOCK TRIAL."""
    process.shut_out_others()
    root, *words = sys.argv[1:]
    os.chdir("/")
    os.umask(0o077)
    ready, adopted, succeeding = (_fds(words, option) for option in ("--ready", "--adopt", "--succeed"))
    foreground = "--foreground" in words
    for fd in (kept := [*ready, *adopted, *succeeding]):
        os.set_inheritable(fd, False)
    for fd in ready:  # whoever was asked to run us has done so
        with contextlib.suppress(OSError):
            os.write(fd, b"begun\n")
    if not foreground:
        roll_log(root)
        _become_daemon(root, kept, forked=bool(succeeding))  # its parent is the one that judges it
    process.take_limits()
    process.set_name(reaper.ZYGOTE)
    process.become_subreaper()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    reaper.forget_old(root)
    held = adopted or succeeding
    door = Door(socket.socket(fileno=held[0]), held[1]) if held else _fresh(root, ready)
    zygote = Zygote(root, door, foreground=foreground)
    if adopted:
        zygote.adopt(socket.socket(fileno=adopted[2]))
    gc.collect()
    gc.freeze()
    ours = zygote.run(ready[0] if ready else None, socket.socket(fileno=succeeding[2]) if succeeding else None)
    if ours:
        _remove_sockets(root)
        clear_up(root)
    os._exit(0)


def _fds(words: list[str], option: str) -> list[int]:
    """The numbers that follow an option."""
    if option not in words:
        return []
    found = []
    for word in words[words.index(option) + 1 :]:
        if not word.isdigit():
            break
        found.append(int(word))
    return found


def _become_daemon(root: str, keep: list[int], *, forked: bool) -> None:
    """Let go of everything that belongs to whoever started us."""
    if not forked:
        if os.fork():
            os._exit(0)
        os.setsid()
    own_stdio(root)
    low = 3
    for fd in [*sorted(keep), _PAST_OUR_FDS]:
        os.closerange(low, fd)
        low = fd + 1


def _fresh(root: str, ready: list[int]) -> Door:
    try:
        lock = _lock(root)
    except OSError as error:  # a file system without locks: nothing would keep a second supervisor away
        _tell(ready, f"cannot lock {root}/supervisor.lock: {error.strerror}")
        say(f"cannot lock supervisor.lock: {error.strerror}")
        os._exit(1)
    if lock is None:
        _tell(ready, "another supervisor holds its lock but does not listen")
        say("another supervisor is running")
        os._exit(0)
    _remove_sockets(root)
    return Door(bind(root, SOCKET, BACKLOG), lock)


def _tell(ready: list[int], reason: str) -> None:
    """Say to the client that waits for us why nothing starts."""
    for fd in ready:
        os.write(fd, f"error {reason}\n".encode(errors="replace"))


def _remove_sockets(root: str) -> None:
    """While we hold the lock: nobody else listens there."""
    for name in (SOCKET, SOCKET_ASIDE):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{root}/{name}")


def _lock(root: str) -> int | None:
    """The lifetime lock, or None if a zygote or supervisor lives, and goes on living."""
    path = f"{root}/{LOCK}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, LOCK_WAIT_S)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.samestat(os.fstat(fd), os.stat(path)):
            return fd
    except (TimeoutError, FileNotFoundError):
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    os.close(fd)
    return None


def _give_up(*_: object) -> None:
    raise TimeoutError
