"""The zygote: forks keepers and keeps a supervisor running. It holds no session's descriptors.

It also holds the listening socket and the lifetime lock, together with the supervisor, so that a
client that connects while the supervisor is being replaced waits a moment instead of being refused.
Keepers inherit neither. Words on its channel, one a line: `spawn ID` with one descriptor, `ready`,
`stop`, `retire` with one descriptor, `door` with two, `features` from the supervisor; `zygote PID`, `go`, `stop`,
`back` to it, and `features WORD…` when it asks.

Succession, when a new version takes over. The old supervisor starts a zygote with `--succeed`, which is on trial: its
own supervisor may read the disk and nothing else. One line joins the two zygotes; both ends of the new pair hold it.

    state        input                                next         effect
    SERVING      the supervisor dies                  SERVING      start another one after the backoff
    SERVING      `retire` and the line                LEAVING      keep the line
    LEAVING      the supervisor dies                  HANDED OVER  `go` on the line; the successor has SERVE_S to serve
    HANDED OVER  `serving`, or `up` and the end       RETIRED      close the door
    HANDED OVER  `gone`, or the end without a word    SERVING      start our own version again, and tell it `back`
    HANDED OVER  SERVE_S pass                         HANDED OVER  `back` on the line; the end of it is heard
    TRIAL        `go`                                 GOING        `go` to our supervisor, which adopts and serves
    TRIAL        anything else, SIGTERM included      (ends)       SIGKILL our supervisor, `gone` on the line, exit 1
    GOING        our supervisor says `ready`          SERVING      `serving` on the line, and close it
    GOING        the end: the old zygote was killed   SERVING      nobody is left who could take it back
    GOING        `back`, or our supervisor dies       (ends)       as on trial
    RETIRED      its last child is reaped             (ends)
    with a door  SIGTERM, or `stop`                   (ends)       `stop` to the supervisor; no other is started
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, field

from orchctl.log import journal
from orchctl.pair import degraded, lifecycle, reaper
from orchctl.pair.connections import received
from orchctl.pair.daemon_io import LOCK, Door, bind_fresh, own_stdio, say
from orchctl.pair.shared import BACKLOG
from orchctl.session import layout

WINDOW_S = 10.0
FREE_DEATHS = 3  # a crash now and then must not make anybody wait
FIRST_S = 0.05
CAP_S = 0.2  # clients are waiting for the next one
HOPELESS_DEATHS = 20  # in a row, none of them ready: some ten seconds, less than a client waits for a hello
HOPELESS_S = 5.0  # it cannot start at all: spare the machine


@dataclass(slots=True)
class Backoff:
    """Remembers the deaths of the last ten seconds, and how many in a row were never ready."""

    deaths: list[float] = field(default_factory=list)
    failures: int = 0

    @property
    def hopeless(self) -> bool:
        """Whether waiting for the next one is no use: somebody has to be told."""
        return self.failures >= HOPELESS_DEATHS

    def died(self, now: float, *, was_ready: bool) -> float:
        """One more death at `now`; the seconds to wait before the next start."""
        self.failures = 0 if was_ready else self.failures + 1
        self.deaths = [at for at in self.deaths if now - at < WINDOW_S] + [now]
        beyond = len(self.deaths) - FREE_DEATHS
        if self.hopeless:
            return HOPELESS_S
        if beyond <= 0:
            return 0.0
        delay: float = FIRST_S * 2 ** min(beyond - 1, 10)
        return min(delay, CAP_S)


# What we and our keepers can that the first ones could not: a stdin of another kind than `open`; another door
FEATURES = b"stdin door"
SERVE_S = 10.0  # how long a successor may take to adopt everything; clients wait longer for a hello


class Zygote:
    """Single-threaded; everything it needs is imported before its first fork."""

    def __init__(self, root: str, door: Door, *, foreground: bool = False) -> None:
        self._root = root
        self._door: Door | None = door
        self._foreground = foreground  # somebody waits for this very process to end
        self._channel: socket.socket | None = None
        self._trial: socket.socket | None = None
        self._going = False  # on trial, and everything is ours as soon as our supervisor serves
        self._successor: socket.socket | None = None
        self._serves_by: float | None = None  # a successor that does not is called back
        self._handed_over = self._took_back = False
        self._heard = b""  # from a successor
        self._own: set[int] = set()  # what we forked
        self._supervisor = 0
        self._how = ""  # the last supervisor ended
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
            due = self._start_at is not None and time.monotonic() >= self._start_at
            if due and self._start_supervisor(ready):
                ready = None
            self._wait()
        return self._door is not None

    def _over(self) -> bool:
        if self._door is not None:
            return self._stopping and self._channel is None and not self._handed_over
        names = reaper.children().values()
        return not (names if self._foreground else [name for name in names if name != reaper.ZYGOTE])

    def _wait(self) -> None:
        poll = select.poll()
        hopeless = self._backoff.hopeless and self._channel is None and self._door is not None
        listener = self._door.listener if self._door is not None and hopeless else None
        successor = self._successor if self._handed_over else None
        for one in (self._channel, self._trial, listener, successor):
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
        if listener is not None and listener.fileno() in fds and degraded.answer(listener, self._how):
            self._stop()
        if successor is not None and successor.fileno() in fds:
            self._hear_successor(successor)
        if self._serves_by is not None and time.monotonic() >= self._serves_by:
            self._call_back()

    def _wait_ms(self) -> float | None:
        due = [at for at in (self._start_at, self._serves_by) if at is not None]
        return max(0.0, min(due) - time.monotonic()) * 1000 + 1 if due else None

    def _start_supervisor(self, ready: int | None) -> bool:
        """Whether there is one; it is tried again later where the machine has no process or descriptor to give."""
        assert self._door is not None
        self._start_at = None
        if self._trial is None and not self._door.is_locked(f"{self._root}/{LOCK}"):
            say("another supervisor has the directory by now")
            self._door.close()
            self._door = None
            return False
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            return self._try_later(error)
        words = [*self._door.fds(), theirs.fileno()]
        if self._trial is not None:
            words += [self._trial.fileno()]
        elif ready is not None:
            words += [ready]
        try:
            self._supervisor = os.fork()
        except OSError as error:
            ours.close()
            theirs.close()
            return self._try_later(error)
        if self._supervisor == 0:
            _exec_supervisor(self._root, words, on_trial=self._trial is not None)
        self._own.add(self._supervisor)
        theirs.close()
        if ready is not None:
            os.close(ready)
        self._channel, self._words, self._ready = ours, b"", False
        ours.sendall(b"zygote %d\n" % os.getpid() + (b"back\n" if self._took_back else b""))
        self._took_back = False
        return True

    def _try_later(self, error: OSError) -> bool:
        delay = max(FIRST_S, self._backoff.died(time.monotonic(), was_ready=False))
        say(f"no supervisor can be started: {error.strerror}; trying again in {delay:.2f} s")
        self._how = f"before it began: {error.strerror}"
        self._start_at = time.monotonic() + delay
        return False

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
                self._serving()
            elif word == b"door" and len(self._fds) > 1:
                self._take_door()
            elif word == b"stop":
                self._stopping = True
            elif word == b"features":
                with contextlib.suppress(OSError):  # that it is gone is heard
                    self._channel.sendall(b"features %s\n" % FEATURES)
            elif word == b"retire" and self._fds:
                self._successor = socket.socket(fileno=self._fds.pop(0))
        if not data:
            self._supervisor_gone()

    def _take_door(self) -> None:
        """The supervisor had to bind its socket again, or to lock a directory that was made anew."""
        listener, lock = self._fds.pop(0), self._fds.pop(0)
        if self._door is not None:
            self._door.close()
        self._door = Door(socket.socket(fileno=listener), lock)

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
            self._hand_over(self._successor)
        elif not self._stopping:
            delay = self._backoff.died(time.monotonic(), was_ready=self._ready)
            say(f"the supervisor has died; starting another in {delay:.2f} s")
            self._start_at = time.monotonic() + delay

    def _serving(self) -> None:
        """Our supervisor answers clients; from now on nobody takes anything back."""
        self._ready = True
        if self._trial is not None:
            self._say_on_trial(b"serving\n")
            self._trial.close()
            self._trial = None

    def _say_on_trial(self, word: bytes) -> None:
        if self._trial is not None:
            with contextlib.suppress(OSError):
                self._trial.sendall(word)

    def _hand_over(self, successor: socket.socket) -> None:
        """The successor holds the door too; from its `go` on everything is its, unless it does not come up."""
        self._handed_over = True
        self._serves_by = time.monotonic() + SERVE_S
        with contextlib.suppress(OSError):
            successor.sendall(b"go\n")

    def _hear_successor(self, successor: socket.socket) -> None:
        """`serving` or `gone`, both by the zygote; its supervisor says `up`, for the case that its zygote was killed.

        Nothing, and the end: both are gone, because both hold this line until they serve.
        """
        said = received(successor)
        if said is None:
            return
        self._heard += said
        if said and not {b"serving", b"gone"} & set(self._heard.split(b"\n")):
            return
        successor.close()
        self._successor, self._serves_by, self._handed_over = None, None, False
        taken, self._heard = bool(self._heard) and b"gone" not in self._heard, b""
        if taken:
            self._retire()
        else:
            say("the new supervisor did not come up; the old version goes on")
            self._took_back = True
            self._start_at = None if self._stopping else 0.0

    def _call_back(self) -> None:
        """It hangs; that it is gone is heard."""
        self._serves_by = None
        if self._successor is not None:
            with contextlib.suppress(OSError):
                self._successor.sendall(b"back\n")

    def _retire(self) -> None:
        assert self._door is not None
        self._door.close()
        self._door = None
        say("another zygote has taken over")
        if self._stopping:
            self._pass_on()

    def _hear_verdict(self) -> None:
        """Whether we are to take over: `go` comes once the old supervisor is gone, `back` when ours takes too long."""
        assert self._trial is not None
        said = b""
        with contextlib.suppress(OSError):
            said = self._trial.recv(16)
        if said == b"go\n" and self._channel is not None:
            self._going = True
            with contextlib.suppress(OSError):  # that it is gone is heard
                self._channel.sendall(b"go\n")
        elif not said and self._going:  # the old zygote was killed: there is nobody who could take it back
            self._trial.close()
            self._trial = None
        else:
            self._give_up()

    def _give_up(self) -> None:
        """On trial: leave no trace, and the door to those who have it."""
        if self._supervisor in self._own:
            os.kill(self._supervisor, signal.SIGKILL)
            os.waitpid(self._supervisor, 0)
        self._say_on_trial(b"gone\n")
        say("did not take over")
        os._exit(1)

    def _spawn(self, session: str, first: socket.socket) -> None:
        """The session's socket is bound before the fork, so that no supervisor ever sees it half-made."""
        folder = f"{self._root}/sessions/{session}"
        try:
            listener = bind_fresh(folder, layout.SOCKET, BACKLOG)
            pid = self._fork(listener)
        except OSError as error:
            self._refuse(folder, error)
            first.close()
            return
        if pid == 0:
            self._leave()
            lifecycle.begin(folder, listener, first)
        self._own.add(pid)
        listener.close()
        first.close()

    def _fork(self, listener: socket.socket) -> int:
        try:
            return os.fork()
        except OSError:
            listener.close()
            raise

    def _refuse(self, folder: str, error: OSError) -> None:
        """Say on disk why there is no keeper, as a keeper says why there is no program: the supervisor looks there."""
        say(f"session {os.path.basename(folder)} cannot be started: {error}")
        with contextlib.suppress(OSError):
            failed = {"type": "failed", "time": time.time(), "step": "keeper", "errno": error.errno or errno.EAGAIN}
            journal.append(f"{folder}/{layout.JOURNAL}", failed)

    def _leave(self) -> None:
        """In a new keeper: let go of what is the zygote's."""
        signal.set_wakeup_fd(-1)
        for fd in (self._woken, self._wake, *self._fds):
            os.close(fd)
        if self._door is not None:
            self._door.close()
        for held in (self._channel, self._successor, self._trial):
            if held is not None:
                held.close()
        own_stdio(self._root)  # in the foreground ours are the user's

    def _signals(self) -> None:
        numbers = b""
        with contextlib.suppress(BlockingIOError):
            numbers = os.read(self._woken, 4096)
        ended = reaper.reap(self._root, self._own)
        self._how = ended.get(self._supervisor, self._how)
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._stop()

    def _stop(self) -> None:
        if self._trial is not None and not self._going:
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
        for pid, name in reaper.children().items():
            if name == reaper.ZYGOTE and self._foreground:
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
        lifecycle.complain()
        os._exit(1)
