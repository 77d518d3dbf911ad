"""The zygote: forks keepers and keeps a supervisor running. It holds no session's descriptors.

It also holds the listening socket and the lifetime lock, together with the supervisor, so that a
client that connects while the supervisor is being replaced waits a moment instead of being refused.
Keepers inherit neither. Words on its channel, one a line: `spawn ID` with one descriptor, `ready`,
`stop` from the supervisor; `zygote PID`, `stop` to it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import socket
import sys
import time

from orchctl.core import layout
from orchctl.core.backoff import Backoff
from orchctl.keeper import keeper, pair

LOG_LIMIT_BYTES = 5 << 20
BACKLOG = 512  # fifty clients at once must not be told to come again
LOCK_WAIT_S = 5.0  # a supervisor that was told to stop may take a moment to be gone
_PAST_OUR_FDS = 1 << 16


class Zygote:
    """Single-threaded; everything it needs is imported before its first fork."""

    def __init__(self, root: str, listener: socket.socket, lock: int, channel: socket.socket | None) -> None:
        self._root = root
        self._listener = listener
        self._lock = lock
        self._channel = channel
        self._words = b""
        self._fds: list[int] = []
        self._backoff = Backoff()
        self._ready = False
        self._stopping = False
        self._start_at: float | None = None if channel else 0.0
        self._woken, wake = os.pipe()
        for fd in (self._woken, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._wake = wake
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if channel is not None:
            channel.sendall(b"zygote %d\n" % os.getpid())

    def run(self, ready: int | None) -> None:
        """Until the supervisor says that it stops for good."""
        while not (self._stopping and self._channel is None):
            if self._start_at is not None and time.monotonic() >= self._start_at:
                self._start_supervisor(ready)
                ready = None
            poll = select.poll()
            poll.register(self._woken, select.POLLIN)
            if self._channel is not None:
                poll.register(self._channel, select.POLLIN)
            fds = [fd for fd, _ in poll.poll(self._wait_ms())]
            if self._woken in fds:
                self._signals()
            if self._channel is not None and self._channel.fileno() in fds:
                self._hear()

    def _wait_ms(self) -> float | None:
        if self._start_at is None:
            return None
        return max(0.0, self._start_at - time.monotonic()) * 1000 + 1

    def _start_supervisor(self, ready: int | None) -> None:
        self._start_at = None
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            fds = [self._listener.fileno(), self._lock, theirs.fileno()] + ([ready] if ready is not None else [])
            _exec_supervisor(self._root, fds)
        theirs.close()
        if ready is not None:
            os.close(ready)
        self._channel, self._words, self._ready = ours, b"", False
        ours.sendall(b"zygote %d\n" % os.getpid())

    def _hear(self) -> None:
        assert self._channel is not None
        try:
            data, fds, _, _ = socket.recv_fds(self._channel, 65536, 64)
        except OSError:
            data, fds = b"", []
        for fd in fds:
            os.set_inheritable(fd, False)
        self._fds += fds
        *lines, self._words = (self._words + data).split(b"\n")
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"spawn" and self._fds:
                self._spawn(rest.decode("ascii"), socket.socket(fileno=self._fds.pop(0)))
            elif word == b"ready":
                self._ready = True
            elif word == b"stop":
                self._stopping = True
        if not data:
            self._supervisor_gone()

    def _supervisor_gone(self) -> None:
        """What it had asked for is done by now; only then may the next one look at the disk."""
        assert self._channel is not None
        self._channel.close()
        self._channel = None
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        if not self._stopping:
            delay = self._backoff.died(time.monotonic(), was_ready=self._ready)
            say(f"the supervisor has died; starting another in {delay:.2f} s")
            self._start_at = time.monotonic() + delay

    def _spawn(self, session: str, first: socket.socket) -> None:
        """The session's socket is bound before the fork, so that no supervisor ever sees it half-made."""
        folder = f"{self._root}/sessions/{session}"
        try:
            listener = bind(folder, layout.SOCKET, 16)
        except OSError as error:
            say(f"session {session} cannot be started: {error}")
            first.close()
            return
        if os.fork() == 0:
            self._leave()
            keeper.keep(folder, listener, first)
        listener.close()
        first.close()

    def _leave(self) -> None:
        """In a new keeper: let go of what is the zygote's."""
        signal.set_wakeup_fd(-1)
        for fd in (self._woken, self._wake, self._lock):
            os.close(fd)
        self._listener.close()
        if self._channel is not None:
            self._channel.close()
        _own_stdio(self._root)  # in the foreground ours are the user's

    def _signals(self) -> None:
        numbers = b""
        with contextlib.suppress(BlockingIOError):
            numbers = os.read(self._woken, 4096)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._stopping = True
            self._start_at = None
            if self._channel is not None:
                with contextlib.suppress(OSError):
                    self._channel.sendall(b"stop\n")


def _exec_supervisor(root: str, fds: list[int]) -> None:
    """In the supervisor's process: never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for fd in fds:
            os.set_inheritable(fd, True)
        argv = [sys.executable, "-P", "-m", "orchctl.supervisor", root, *map(str, fds)]
        os.execv(sys.executable, argv)
    finally:
        keeper.complain()
        os._exit(1)


def bind(folder: str, name: str, backlog: int) -> socket.socket:
    """A listening socket; from inside its directory, because paths to sockets must be short."""
    os.chdir(folder)
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(name)
        listener.listen(backlog)
        listener.setblocking(False)
        return listener
    finally:
        os.chdir("/")


def say(text: str) -> None:
    """One line in the log."""
    os.write(2, f"{time.strftime('%Y-%m-%dT%H:%M:%S')} zygote {os.getpid()}: {text}\n".encode(errors="replace"))


def _become_daemon(root: str, keep: list[int]) -> None:
    """Let go of everything that belongs to whoever started us."""
    if os.fork():
        os._exit(0)
    os.setsid()
    _own_stdio(root)
    low = 3
    for fd in [*sorted(keep), _PAST_OUR_FDS]:
        os.closerange(low, fd)
        low = fd + 1


def _own_stdio(root: str) -> None:
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    log = os.open(f"{root}/supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for source, fd in ((null, 0), (null, 1), (log, 2)):
        os.dup2(source, fd)
    for fd in {null, log} - {0, 1, 2}:
        os.close(fd)


def _roll_log(root: str) -> None:
    path = f"{root}/supervisor.log"
    with contextlib.suppress(FileNotFoundError):
        if os.stat(path).st_size > LOG_LIMIT_BYTES:
            for older, newer in ((f"{path}.2", f"{path}.1"), (f"{path}.1", path)):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(newer, older)


def _lock(root: str) -> int | None:
    """The lifetime lock, or None if a zygote or supervisor lives, and goes on living."""
    path = f"{root}/supervisor.lock"
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


def _fresh(root: str, ready: int | None) -> Zygote:
    lock = _lock(root)
    if lock is None:
        if ready is not None:
            os.write(ready, b"error another supervisor holds its lock but does not listen\n")
        say("another supervisor is running")
        os._exit(0)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{root}/supervisor.sock")  # nobody listens there: we hold the lock
    return Zygote(root, bind(root, "supervisor.sock", BACKLOG), lock, None)


def main() -> None:
    """ROOT [--foreground] [--ready FD] | ROOT --adopt LISTENER LOCK CHANNEL."""
    root, *words = sys.argv[1:]
    os.chdir("/")
    os.umask(0o077)
    ready = int(words[words.index("--ready") + 1]) if "--ready" in words else None
    adopted = [int(word) for word in words[words.index("--adopt") + 1 :]] if "--adopt" in words else []
    kept = adopted + ([ready] if ready is not None else [])
    for fd in kept:
        os.set_inheritable(fd, False)
    if "--foreground" not in words:
        _roll_log(root)
        _become_daemon(root, kept)
    pair.name_process("orchctl-zygote")
    pair.become_subreaper()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if adopted:
        listener, lock, channel = adopted
        zygote = Zygote(root, socket.socket(fileno=listener), lock, socket.socket(fileno=channel))
    else:
        zygote = _fresh(root, ready)
    gc.collect()
    gc.freeze()
    zygote.run(ready)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{root}/supervisor.sock")  # while we still hold the lock
    os._exit(0)
