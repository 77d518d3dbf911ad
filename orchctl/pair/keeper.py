"""The keeper: parent and subreaper of one session's program. It waits, reaps, records the exit,
starts a new mover when one dies, and kills the whole tree when asked.

It ends when nothing of the session is left, and that is proven: no child, by the kernel's own word. When a
keeper is killed, its mover takes its place. It is not the program's parent then: how the program ended comes
from the zygote, which inherits the program, or from the kernel; see `reaper.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time

from orchctl.pair import exec_pipes, input_wait, kill, process, reaper, tree, wire
from orchctl.pair import shared as pair
from orchctl.pair.kill import Killing, open_process
from orchctl.pair.shared import Pair
from orchctl.pair.spec import Plan

GRACE_S = 5.0


class Limits:
    """Kept by the keeper, so that they hold while no supervisor runs; a new keeper inherits them."""

    def __init__(self, plan: Plan) -> None:
        self._ends_at = process.boot_s() + plan.timeout_s if plan.timeout_s is not None else None
        self.bound = open_process(plan.bind_pid, plan.bind_ticks) if plan.bind_pid is not None else -1
        self._unbound = plan.bind_pid is not None and self.bound < 0  # it had ended before we looked

    def wait_s(self) -> float | None:
        """How long nothing is due."""
        if self._unbound:
            return 0.0
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - process.boot_s())

    def broken(self) -> str | None:
        """Why the session is to end now; said once for each reason."""
        if self._ends_at is not None and self.wait_s() == 0.0:
            self._ends_at = None
            return "timeout"
        if self._unbound or (self.bound >= 0 and self._has_ended()):
            self._unbound, self.bound = False, -1
            return "bound"
        return None

    def _has_ended(self) -> bool:
        poll = select.poll()
        poll.register(self.bound, select.POLLIN)
        return bool(poll.poll(0))


AGAIN_S = 0.25  # a disk that takes no record is asked again this often
ORPHAN_S = 5.0  # how long the zygote may take to say how a program ended
LOOK_FOR_ORPHAN_S = 0.05


class BecomeMover(Exception):
    """In a process that was just forked: unwinds to where it turns into a mover."""

    def __init__(self, link: socket.socket, first: socket.socket | None) -> None:
        super().__init__()
        self.link = link
        self.first = first


class Keeper:
    """Runs in its own process; `run` returns when the session is over and nothing is left of it."""

    def __init__(self, shared: Pair, limits: Limits, first: socket.socket | None) -> None:
        self._pair = shared
        self._limits = limits
        self._first = first
        self._ended_at: float | None = None
        self._status: int | None = None
        self._drained: tuple[int, bool] | None = None  # where the log ends, and whether more may come
        self._recorded = not shared.parent and shared.end_is_recorded()
        self._finishing = False
        self._mover = 0
        self._killing = Killing(self._below, self._record)
        self._woken, wake = os.pipe()
        for fd in (self._woken, wake):
            os.set_blocking(fd, False)
        self._wake = wake
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    def run(self) -> None:
        """Until the kernel says that there is no child left."""
        self._start_mover()
        if self._pair.parent:
            process.make_likelier_victims(self._below)
        else:
            self._record("degraded", keeper=os.getpid())
        self._reap()  # the program may have ended before SIGCHLD had a handler
        while not self._gone():
            self._wait()
            self._reap()
            if not self._mover and not self._finishing:
                self._start_mover()
            if self._pair.unrecorded and self._pair.record_rest():
                self._tell(pair.RECORDED)
            self._killing.go_on()
            reason = self._limits.broken()
            if reason is not None and self._ended_at is None:
                self._killing.begin(GRACE_S, reason)
            self._record_end()
            self._finish_if_alone()

    def _wait(self) -> None:
        poll = select.poll()
        for fd in (self._woken, self._link.fileno(), self._limits.bound, self._orphan()):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(self._wait_ms())]
        if self._woken in ready:
            with contextlib.suppress(BlockingIOError):
                if signal.SIGHUP in os.read(self._woken, 4096) and self._mover:
                    os.kill(self._mover, signal.SIGHUP)  # a supervisor does not find our socket: see the mover
        if self._link.fileno() in ready:
            self._hear_mover()
        if self._orphan() in ready:
            self._ended()

    def _orphan(self) -> int:
        """The program's descriptor, where it is the only way to hear of its end."""
        return self._pair.pidfd if not self._pair.parent and self._ended_at is None else -1

    def _wait_ms(self) -> float | None:
        waits = [] if self._killing.at is None else [self._killing.at - time.monotonic()]
        limit = self._limits.wait_s() if self._ended_at is None else None
        waits += [min(limit, process.LOOK_AGAIN_S)] if limit is not None else []
        waits += [AGAIN_S] if self._pair.unrecorded or not self._mover else []
        waits += [LOOK_FOR_ORPHAN_S] if self._drained is not None and not self._recorded else []
        waits += [AGAIN_S] if self._recorded and not self._pair.parent else []  # others' ends are no event
        return max(0.0, min(waits)) * 1000 + 1 if waits else None

    # the mover

    def _start_mover(self) -> None:
        """Where the machine has no process to give, it is tried again; the program waits meanwhile."""
        self._link, theirs = socket.socketpair()
        self._words = wire.Decoder()
        self._finishing = False
        self._drained = None
        try:
            self._mover = os.fork()
        except OSError:
            self._mover = 0
            self._link.close()
            theirs.close()
            return
        if self._mover == 0:
            self._leave()
            raise BecomeMover(theirs, self._first)
        theirs.close()
        if self._first is not None:
            self._first.close()
            self._first = None
        if self._ended_at is not None:
            self._tell(pair.ENDED)

    def _leave(self) -> None:
        """In a new mover: let go of what is the keeper's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._woken)
        os.close(self._wake)
        self._link.close()

    def _tell(self, kind: int, payload: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # a dead mover is noticed by reaping it
            self._link.sendall(wire.frame(kind, payload))

    def _hear_mover(self) -> None:
        try:
            data = self._link.recv(4096)
        except OSError:
            return
        for kind, payload in self._words.feed(data):
            if kind in (pair.DRAINED, pair.QUIET):
                self._drained = *wire.OFFSET.unpack(payload), kind == pair.QUIET
            elif kind == pair.ASKED_TO_KILL:
                (grace_s,) = wire.SECONDS.unpack(payload)
                self._killing.begin(grace_s, "asked")
            elif kind == pair.IDLE and self._ended_at is None:
                self._killing.begin(GRACE_S, "idle-timeout")
            elif kind == pair.ASKED_TO_PAUSE:
                kill.pause(self._below)
                self._record("paused")
            elif kind == pair.ASKED_TO_GO_ON:
                kill.unpause(self._below)
                self._record("unpaused")
            elif kind == pair.ASKED_TO_END_INPUT:
                self._pair.end_input()
                self._tell(pair.INPUT_ENDED)
            elif kind == pair.ASKED_IF_WAITING:
                seen = (
                    input_wait.seen(self._pair, leave_out=self._mover) if self._ended_at is None else input_wait.NOTHING
                )
                self._tell(pair.WAITS, payload + json.dumps(seen).encode("ascii"))
            elif kind in (pair.HOLD_PIPES, pair.PIPES_OVER, pair.PIPES_CLOSED):
                held = exec_pipes.hold(self._pair, kind, payload)
                if held is not None:
                    self._tell(pair.PIPES_HELD, held)

    # the end

    def _record(self, kind: str, **fields: object) -> None:
        if self._pair.record(kind, **fields):
            self._tell(pair.RECORDED)

    def _ended(self) -> None:
        self._ended_at = time.monotonic()
        self._tell(pair.ENDED)

    def _record_end(self) -> None:
        """Once the log is drained; of a program that is not our child, also how it ended has to be found out."""
        if self._recorded or self._drained is None or self._ended_at is None:
            return
        offset, still_open = self._drained
        if not self._pair.parent and self._status is None:
            self._status = self._pair.orphans_status()
            if self._status is None and time.monotonic() < self._ended_at + ORPHAN_S:
                return
            if self._status is None:  # nobody reaps it
                self._status = reaper.status_of_zombie(self._pair.child, self._pair.ticks)
        self._recorded = True
        if self._status is None:
            self._record("lost", offset=offset)
        else:
            self._record("exit", status=self._status, offset=offset, open=still_open)

    def _reap(self) -> None:
        """The program's status is on record before the kernel forgets it: this process may die before the exit is."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                pid = ended.si_pid
                if pid == self._pair.child and self._pair.parent:
                    exited = ended.si_code == os.CLD_EXITED
                    self._status = ended.si_status if exited else -ended.si_status
                    self._pair.record("status", status=self._status)
                    self._ended()
                os.waitpid(pid, 0)
                if pid == self._mover:
                    self._mover_ended()

    def _mover_ended(self) -> None:
        self._link.close()
        self._mover = 0
        if not self._finishing or not self._gone():
            self._start_mover()

    def _gone(self) -> bool:
        """No child at all, mover included: only the kernel can say so."""
        if self._mover or not self._finishing:
            return False
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return all(tree.is_daemon(pid) for pid in tree.children(os.getpid()))

    def _finish_if_alone(self) -> None:
        if self._finishing or not self._recorded or self._pair.unrecorded:
            return
        children = [pid for pid in tree.children(os.getpid()) if not tree.is_daemon(pid)]
        if children == [self._mover] and (self._pair.parent or not self._below()):
            self._finishing = True
            if not self._pair.parent and (suspects := kill.suspects(self._pair, os.getppid())):
                self._record("unproven", pids=suspects)  # our parent is theirs: all of us were the last keeper's
            self._record("empty")  # the mover, which may have to wait for the disk, is all that is known to be left
            self._tell(pair.FINISH)

    def _below(self) -> list[int]:
        return kill.members(self._pair, leave_out=self._mover)
