"""The zygote: forks keepers and keeps a supervisor running. It holds no session's descriptors.

It also holds the listening socket and the lifetime lock, together with the supervisor, so that a
client that connects while the supervisor is being replaced waits a moment instead of being refused.
Keepers inherit neither. Words on its channel, one a line: `spawn ID` with one descriptor, `ready`,
`stop`, `retire` with one descriptor from the supervisor; `zygote PID`, `go`, `stop` to it.

A zygote that is to take over is on trial: until it hears `go` its supervisor may only look, and at the first
trouble both end. One that was taken over from is retired: it stays for the children it has, to reap them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time

from orchctl.core import layout
from orchctl.core.backoff import Backoff
from orchctl.keeper import apology, life, orphans
from orchctl.keeper.footing import Door, bind, own_stdio, say


class Zygote:
    """Single-threaded; everything it needs is imported before its first fork."""

    def __init__(self, root: str, door: Door, *, foreground: bool = False) -> None:
        self._root = root
        self._door: Door | None = door
        self._foreground = foreground  # somebody waits for this very process to end
        self._channel: socket.socket | None = None
        self._trial: socket.socket | None = None
        self._successor: socket.socket | None = None
        self._own: set[int] = set()  # what we forked
        self._supervisor = 0
        self._words = b""
        self._fds: list[int] = []
        self._backoff = Backoff()
        self._ready = False
        self._stopping = False
        self._start_at: float | None = 0.0
        self._woken, wake = os.pipe()
        for fd in (self._woken, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._wake = wake
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def adopt(self, channel: socket.socket) -> None:
        """Serve a supervisor that runs already."""
        self._channel, self._start_at = channel, None
        channel.sendall(b"zygote %d\n" % os.getpid())

    def run(self, ready: int | None, trial: socket.socket | None) -> bool:
        """Until the supervisor stops for good, or nobody is left that needs us; whether the door is still ours."""
        self._trial = trial
        while not self._over():
            if self._start_at is not None and time.monotonic() >= self._start_at:
                self._start_supervisor(ready)
                ready = None
            self._wait()
        return self._door is not None

    def _over(self) -> bool:
        if self._door is not None:
            return self._stopping and self._channel is None
        names = orphans.children().values()
        return not (names if self._foreground else [name for name in names if name != orphans.ZYGOTE])

    def _wait(self) -> None:
        poll = select.poll()
        hopeless = self._backoff.hopeless and self._channel is None and self._door is not None
        listener = self._door.listener if self._door is not None and hopeless else None
        for one in (self._channel, self._trial, listener):
            if one is not None:
                poll.register(one, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        fds = [fd for fd, _ in poll.poll(self._wait_ms())]
        if self._woken in fds:
            self._signals()
        if self._channel is not None and self._channel.fileno() in fds:
            self._hear()
        if self._trial is not None and self._trial.fileno() in fds:
            self._hear_verdict()
        if listener is not None and listener.fileno() in fds:
            apology.answer(listener)

    def _wait_ms(self) -> float | None:
        if self._start_at is None:
            return None
        return max(0.0, self._start_at - time.monotonic()) * 1000 + 1

    def _start_supervisor(self, ready: int | None) -> None:
        assert self._door is not None
        self._start_at = None
        ours, theirs = socket.socketpair()
        words = [*self._door.fds(), theirs.fileno()]
        if self._trial is not None:
            words += [self._trial.fileno()]
        elif ready is not None:
            words += [ready]
        self._supervisor = os.fork()
        if self._supervisor == 0:
            _exec_supervisor(self._root, words, on_trial=self._trial is not None)
        self._own.add(self._supervisor)
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
            elif word == b"retire" and self._fds:
                self._successor = socket.socket(fileno=self._fds.pop(0))
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
        if self._trial is not None:
            self._give_up()
        if self._successor is not None and not self._stopping:
            self._retire(self._successor)
        elif not self._stopping:
            delay = self._backoff.died(time.monotonic(), was_ready=self._ready)
            say(f"the supervisor has died; starting another in {delay:.2f} s")
            self._start_at = time.monotonic() + delay

    def _retire(self, successor: socket.socket) -> None:
        """The successor holds the door; from its `go` on, everything is its."""
        assert self._door is not None
        self._door.close()
        self._door = None
        with contextlib.suppress(OSError):
            successor.sendall(b"go\n")
        successor.close()
        say("another zygote has taken over")

    def _hear_verdict(self) -> None:
        """Whether we are to take over: the word comes once the old supervisor is gone."""
        assert self._trial is not None
        with contextlib.suppress(OSError):
            if self._trial.recv(16) == b"go\n" and self._channel is not None:
                self._trial.close()
                self._trial = None
                self._channel.sendall(b"go\n")
        if self._trial is not None:
            self._give_up()

    def _give_up(self) -> None:
        """On trial: leave no trace, and the door to those who have it."""
        if self._supervisor in self._own:
            os.kill(self._supervisor, signal.SIGKILL)
            os.waitpid(self._supervisor, 0)
        say("did not take over")
        os._exit(1)

    def _spawn(self, session: str, first: socket.socket) -> None:
        """The session's socket is bound before the fork, so that no supervisor ever sees it half-made."""
        folder = f"{self._root}/sessions/{session}"
        try:
            listener = bind(folder, layout.SOCKET, 16)
        except OSError as error:
            say(f"session {session} cannot be started: {error}")
            first.close()
            return
        pid = os.fork()
        if pid == 0:
            self._leave()
            life.begin(folder, listener, first)
        self._own.add(pid)
        listener.close()
        first.close()

    def _leave(self) -> None:
        """In a new keeper: let go of what is the zygote's."""
        signal.set_wakeup_fd(-1)
        for fd in (self._woken, self._wake, *self._fds):
            os.close(fd)
        if self._door is not None:
            self._door.close()
        for held in (self._channel, self._successor):
            if held is not None:
                held.close()
        own_stdio(self._root)  # in the foreground ours are the user's

    def _signals(self) -> None:
        numbers = b""
        with contextlib.suppress(BlockingIOError):
            numbers = os.read(self._woken, 4096)
        orphans.reap(self._root, self._own)
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._stop()

    def _stop(self) -> None:
        if self._trial is not None:
            self._give_up()
        if self._door is None:
            self._pass_on()
        self._stopping = True
        self._start_at = None
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.sendall(b"stop\n")

    def _pass_on(self) -> None:
        """Retired: who waits for our end means the one that took over."""
        for pid, name in orphans.children().items():
            if name == orphans.ZYGOTE and self._foreground:
                os.kill(pid, signal.SIGTERM)


def _exec_supervisor(root: str, fds: list[int], *, on_trial: bool) -> None:
    """In the supervisor's process: never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for fd in fds:
            os.set_inheritable(fd, True)
        argv = [sys.executable, "-P", "-m", "orchctl.supervisor", root, *map(str, fds)]
        os.execv(sys.executable, argv + (["trial"] if on_trial else []))
    finally:
        life.complain()
        os._exit(1)
