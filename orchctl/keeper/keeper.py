"""The keeper: parent and subreaper of one session's program. It waits, reaps, records the exit,
starts a new mover when one dies, and kills the whole tree when asked.

It ends when nothing of the session is left, and that is proven: no child, by the kernel's own word.
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
from orchctl.keeper import child, pair, plan, tree, wire
from orchctl.keeper.mover import Mover, hello
from orchctl.keeper.pair import Pair

RECORD_AGAIN_S = 0.25  # a disk that takes no record is asked again this often
KILL_AGAIN_S = 0.1  # new children may be born while the old ones are killed
KILL_ROUNDS = 20  # what two seconds of SIGKILL did not end is a survivor, and is named
_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGTSTP)


class Keeper:
    """Runs in its own process; `run` returns when the session is over and nothing is left of it."""

    def __init__(self, shared: Pair, first: socket.socket) -> None:
        self._pair = shared
        self._first: socket.socket | None = first
        self._status: int | None = None
        self._recorded = False
        self._finishing = False
        self._kill_at: float | None = None
        self._kill_rounds = 0
        self._woken, wake = os.pipe()
        for fd in (self._woken, wake):
            os.set_blocking(fd, False)
        self._wake = wake
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._start_mover()

    def run(self) -> None:
        """Until the kernel says that there is no child left."""
        self._reap()  # the program may have ended before SIGCHLD had a handler
        while not self._gone():
            poll = select.poll()
            poll.register(self._woken, select.POLLIN)
            poll.register(self._link, select.POLLIN)
            ready = [fd for fd, _ in poll.poll(self._wait_ms())]
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
            if self._link.fileno() in ready:
                self._hear_mover()
            self._reap()
            if self._pair.unrecorded and self._pair.record_rest():
                self._tell(pair.RECORDED)
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill_by_force()
            self._finish_if_alone()

    def _wait_ms(self) -> float | None:
        until = [] if self._kill_at is None else [self._kill_at]
        if self._pair.unrecorded:
            until.append(time.monotonic() + RECORD_AGAIN_S)
        return max(0.0, min(until) - time.monotonic()) * 1000 + 1 if until else None

    def _start_mover(self) -> None:
        self._link, theirs = socket.socketpair()
        self._words = wire.Decoder()
        self._finishing = False
        self._mover = os.fork()
        if self._mover == 0:
            _run_mover(self, theirs)
        theirs.close()
        if self._first is not None:
            self._first.close()
            self._first = None
        if self._status is not None:
            self._tell(pair.ENDED)

    def _tell(self, kind: int) -> None:
        with contextlib.suppress(OSError):  # a dead mover is noticed by reaping it
            self._link.sendall(wire.frame(kind))

    def _record(self, kind: str, **fields: object) -> None:
        if self._pair.record(kind, **fields):
            self._tell(pair.RECORDED)

    def _hear_mover(self) -> None:
        try:
            data = self._link.recv(4096)
        except OSError:
            return
        for kind, payload in self._words.feed(data):
            if kind in (pair.DRAINED, pair.QUIET):
                self._record_exit(*wire.OFFSET.unpack(payload), still_open=kind == pair.QUIET)
            elif kind == pair.ASKED_TO_KILL:
                self._begin_kill(*wire.SECONDS.unpack(payload))

    def _record_exit(self, offset: int, *, still_open: bool) -> None:
        if self._status is not None and not self._recorded:
            self._recorded = True
            self._record("exit", status=self._status, offset=offset, open=still_open)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pair.child:
                    self._status = os.waitstatus_to_exitcode(status)
                    self._tell(pair.ENDED)
                elif pid == self._mover:
                    self._mover_ended()

    def _mover_ended(self) -> None:
        self._link.close()
        self._mover = 0
        if not self._finishing or not self._gone():
            self._start_mover()

    def _gone(self) -> bool:
        """No child at all, mover included: only the kernel can say so."""
        if self._mover:
            return False
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False

    def _finish_if_alone(self) -> None:
        if self._finishing or not self._recorded or self._pair.unrecorded:
            return
        if tree.children(os.getpid()) == [self._mover]:
            self._finishing = True
            self._record("empty")  # proven: the mover, which may have to wait for the disk, is all that is left
            self._tell(pair.FINISH)

    # kill

    def _begin_kill(self, grace_s: float) -> None:
        force_at = time.monotonic() + max(0.0, grace_s)
        if self._kill_at is not None:
            self._kill_at = min(self._kill_at, force_at)
            return
        self._record("kill", grace_s=grace_s)
        self._kill_at = force_at
        tree.send(self._below(), signal.SIGHUP, signal.SIGCONT, signal.SIGTERM)

    def _kill_by_force(self) -> None:
        alive = self._below()
        tree.send(alive, signal.SIGKILL)
        self._kill_rounds += 1
        self._kill_at = time.monotonic() + KILL_AGAIN_S
        if alive and self._kill_rounds == KILL_ROUNDS:
            self._record("survivors", pids=alive)
        if self._kill_rounds >= KILL_ROUNDS:
            self._kill_at, self._kill_rounds = None, 0

    def _below(self) -> list[int]:
        return tree.descendants(os.getpid(), leave_out=self._mover)


def _run_mover(keeper: Keeper, link: socket.socket) -> None:
    """In the mover's process: never returns."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(keeper._woken)
        os.close(keeper._wake)
        keeper._link.close()
        pair.name_process("orchctl-mover")
        while True:
            with contextlib.suppress(OSError):  # the log cannot be opened: the program waits, and it is tried again
                mover = Mover(keeper._pair, link, keeper._first)
                break
            time.sleep(RECORD_AGAIN_S)
        mover.run()
    finally:
        complain()
        os._exit(1)


def keep(folder: str, listener: socket.socket, first: socket.socket) -> None:
    """In the keeper's process, just forked by the zygote: never returns."""
    try:
        os.setsid()
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pair.name_process("orchctl-keeper")
        pair.become_subreaper()
        _keep(folder, listener, first)
        os._exit(0)
    finally:
        complain()
        os._exit(1)


def _keep(folder: str, listener: socket.socket, first: socket.socket) -> None:
    what = plan.read(folder)
    made = os.O_CREAT | os.O_CLOEXEC
    journal = os.open(f"{folder}/{layout.JOURNAL}", os.O_WRONLY | os.O_APPEND | made, 0o600)
    pair.reserve(journal)
    os.close(os.open(f"{folder}/{layout.segment(0)}", os.O_WRONLY | made, 0o600))
    master, slave = child.open_terminal(what.cols, what.rows)
    pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)  # for ever, and of the default size
    shared = Pair(folder, listener, master, pipe, journal, what.ring_bytes, 0, os.getpid())
    try:
        shared.child = child.start(what, os.ttyname(slave))
    except child.StartFailed as error:
        shared.record("failed", step=error.step, errno=error.error)
        first.sendall(hello(shared, 0))
        os.unlink(f"{folder}/{layout.SOCKET}")
        return
    os.close(slave)
    shared.record("started", pid=shared.child, keeper=shared.keeper, run=1, session=os.path.basename(folder))
    Keeper(shared, first).run()
    os.unlink(f"{folder}/{layout.SOCKET}")


def complain() -> None:
    """The error under way, if any, in one line of the log."""
    error = sys.exc_info()[1]
    if error is not None and not isinstance(error, SystemExit):
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
        os.write(2, f"pid {os.getpid()}: {type(error).__name__}: {error} at {where}\n".encode(errors="replace"))
