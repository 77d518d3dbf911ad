"""The mover: bytes from the terminal into the log, and input the other way. Nothing else.

A byte is in the segment before anybody is told. Supervisors come and go; the mover does not need
one. When its keeper dies it takes the keeper's place, and a mover that it forks goes on: see `lifecycle.py`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable

from orchctl.log.disk import REAL
from orchctl.log.time_index import Clockwork
from orchctl.log.writer import Holds, SegmentWriter
from orchctl.pair import child, kill, look, process, spec, wire
from orchctl.pair import shared as pair
from orchctl.pair.connections import Audience, hello, received
from orchctl.pair.exec_pipes import Drains
from orchctl.pair.input import Typist
from orchctl.pair.output import Closed, Complaints, Conduit, PipesConduit
from orchctl.pair.shared import Pair
from orchctl.pair.typed import readable
from orchctl.session import layout

QUIET_S = 0.2  # no byte for so long after the program's end: what still holds the terminal is silent
QUIET_LIMIT_S = 2.0  # a grandchild that pours for ever must not hold the exit back
TAKEN_CHECK_S = (0.001, 0.5)  # the first and the last look whether what was typed is taken, which gives no event
TAKEN_SPINS, TAKEN_SPIN_S = 20, 0.0002  # so often at once for a single key
DRAIN_PIECES = 8
RETRY_S = 0.25  # a disk that takes no more is asked again this often


class Orphaned(Exception):
    """The keeper is gone: somebody has to take its place."""


class Mover:
    """Runs in its own process; `run` never returns."""

    def __init__(self, shared: Pair, link: socket.socket, first: socket.socket | None) -> None:
        self._pair = shared
        self._link = link
        self._link_words = wire.Decoder()
        folder = f"{shared.folder}/{layout.OUTPUT}"
        self._log = SegmentWriter(REAL, folder, shared.ring_bytes, self._drop_output)
        self._clockwork = Clockwork(folder)
        self._sources = dict(shared.sources)  # those that are open
        self._stream = next(iter(shared.sources.values()))
        self._conduit = (
            Conduit(shared.master, shared.pipe, self._log, self._note)
            if shared.terminal
            else PipesConduit(self._log, self._note)
        )
        self._complaints = Complaints(shared.complaints, shared.folder)
        self._stalled = ""
        self._holds = Holds(time.monotonic())
        self._log.needed = self._holds.needed
        self._finish_asked = False
        self._ended_at: float | None = None
        self._stalled_at = 0.0  # when the disk last took nothing of what it was given
        self._killed = False  # somebody wants the session's end, whatever is not stored
        self._last_byte_at = 0.0
        self._said_quiet = self._said_idle = False
        self._active_at = process.boot_s()
        self._watching: dict[int, int] = {}
        self._signalled: int | None = None  # the group that the last signal reached; told once
        self._asking: dict[bytes, int] = {}  # who waits for the keeper's word on who waits for input
        self._taken_check_s, self._taken_check_at = TAKEN_CHECK_S[0], 0.0
        self._typist = Typist.of(
            shared, self._receipt, lambda: self._tell_keeper(pair.ASKED_TO_END_INPUT), self._note_typed
        )
        self._poll = select.poll()
        self._armed: dict[int, int] = {}
        self._handlers: dict[int, Callable[[int], None]] = {}
        with contextlib.suppress(OSError):
            shared.listen_again()  # if its file was removed while the last mover lived
        self._audience = Audience(shared.listener, self)
        self._drains = Drains(shared, self, self._tell_keeper, self._audience.send)
        self.listen(shared.listener.fileno(), self._audience.accept)
        self.listen(link.fileno(), self._hear_keeper)
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.listen(self._woken, self._called)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGHUP, lambda *_: None)
        if shared.complaints >= 0:
            self.listen(shared.complaints, self._complain)
        if first is not None:
            self._audience.greet(first)

    def run(self) -> None:
        """Until the keeper says that nothing is left."""
        self._typist.go_on(time.monotonic())  # what the mover before this one left
        while True:
            self._set_polls()
            for fd, event in self._poll.poll(self._timeout_ms()):
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler(event)
            now = time.monotonic()
            self._typist.check(now)
            self._drains.go_on()
            self._write_on()
            self._check_taken(now)
            self._check_quiet(now)
            self._check_idle()
            if self._holds.expire(now):
                self._trim()
            if self._finish_asked:
                self._finish()
            if self._pair.unrecorded and self._pair.record_rest():
                self._audience.tell_all(wire.frame(wire.JOURNAL))

    def leave(self) -> None:
        """Before it becomes a keeper: nothing in its hands, and supervisors find the next mover by themselves."""
        with contextlib.suppress(OSError):
            self._conduit.push()
        self._audience.close()
        self._link.close()
        signal.set_wakeup_fd(-1)
        os.close(self._woken)
        os.close(self._wake)
        self._log.close()
        self._drains.close()
        self._complaints.close()
        self._clockwork.close()

    def listen(self, fd: int, handler: Callable[[int], None]) -> None:
        self._handlers[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def forget(self, fd: int) -> None:
        self._handlers.pop(fd)
        self._poll.unregister(fd)

    @property
    def _open(self) -> bool:
        return bool(self._sources)

    def _set_polls(self) -> None:
        """What is of no use now is not polled at all: a hang-up would wake us for ever."""
        take = 0 if self._conduit.pending else select.POLLIN
        give = select.POLLOUT if self._typist.busy else 0
        for fd in self._sources:
            self._arm(fd, take | (give if fd == self._pair.master else 0))
        if not self._pair.terminal:
            self._arm(self._pair.master, give)

    def _arm(self, fd: int, events: int) -> None:
        if self._armed.get(fd, 0) == events:
            return
        self._armed[fd] = events
        if events:
            self._handlers[fd] = lambda event: self._moving(fd, event)
            self._poll.register(fd, events)
        elif fd in self._handlers:
            self.forget(fd)

    def _timeout_ms(self) -> float | None:
        now = time.monotonic()
        until = [self._typist.deadline] if self._typist.deadline is not None else []
        if self._conduit.pending or self._pair.unrecorded or self._drains.trouble:
            until.append(now + RETRY_S)
        if self._pair.typed.pending and self._taken_check_s <= TAKEN_CHECK_S[1]:
            until.append(self._taken_check_at)
        if self._holds.expires_at is not None:
            until.append(self._holds.expires_at)
        if self._ended_at is not None and self._open and not self._said_quiet:
            silent_at = self._last_byte_at + QUIET_S if not self._conduit.pending else now + RETRY_S
            until.append(min(silent_at, max(self._ended_at, self._stalled_at) + QUIET_LIMIT_S))
        if self._pair.idle_s is not None and not self._said_idle:
            until.append(now + min(self._active_at + self._pair.idle_s - process.boot_s(), process.LOOK_AGAIN_S))
        return max(0.0, min(until) - now) * 1000 + 1 if until else None

    # terminal → log

    def _moving(self, fd: int, event: int) -> None:
        if event & (select.POLLOUT | select.POLLERR) and fd == self._pair.master:
            self._typist.go_on(time.monotonic())
        if fd in self._sources and event & (select.POLLIN | select.POLLHUP) and not self._conduit.pending:
            self._read(fd)

    def _read(self, fd: int) -> None:
        try:
            count = self._conduit.pull(fd)
        except Closed:
            self._close(fd)
            return
        if count and self._sources[fd] != self._stream:
            self._stream = self._sources[fd]
            with contextlib.suppress(OSError):
                self._log.make_room()
                self._note(self._log.end)  # before the bytes, so that a killed mover leaves none in the wrong stream
        if count:
            self._last_byte_at, self._active_at = time.monotonic(), process.boot_s()
            self._write_on()

    def _write_on(self) -> None:
        """Put what was read into the log; a full disk makes the program wait, and nothing is lost."""
        before, trouble = self._log.end, ""
        try:
            self._conduit.push()
        except OSError as error:
            trouble = error.strerror or "it cannot be written"
        if self._log.end > before:
            self._tell_watchers()
        trouble = trouble or self._drains.trouble
        if trouble != self._stalled:
            self._stalled = trouble
            self._audience.tell_all(wire.frame(wire.STALLED, trouble.encode()))

    def _complain(self, _: int) -> None:
        if not self._complaints.take():
            self.forget(self._pair.complaints)

    def _note(self, offset: int) -> None:
        self._clockwork.note(offset, self._log.start, self._stream)

    def _drop_output(self, first: int, end: int) -> None:
        """Output that is about to go; nothing goes unrecorded."""
        if not self._pair.record("dropped", first=first, end=end):
            raise OSError(errno.ENOSPC, "what is dropped cannot be written down")
        self._audience.tell_all(wire.frame(wire.JOURNAL))

    def _trim(self) -> None:
        """Keep what somebody still reads; what nobody does may go."""
        self._log.needed = self._holds.needed
        with contextlib.suppress(OSError):
            self._log.trim()

    def _close(self, fd: int) -> None:
        del self._sources[fd]
        self._arm(fd, 0)
        if self._ended_at is not None and not self._open:
            self._tell_keeper(pair.DRAINED, wire.OFFSET.pack(self._log.end))

    def _check_quiet(self, now: float) -> None:
        if self._ended_at is None or not self._open or self._said_quiet:
            return
        if self._conduit.pending and not self._killed:  # an end is told after the output: a full disk is waited for
            self._stalled_at = now
        silent = not self._conduit.pending and now >= self._last_byte_at + QUIET_S
        if silent or now >= max(self._ended_at, self._stalled_at) + QUIET_LIMIT_S:
            self._said_quiet = True
            self._tell_keeper(pair.QUIET, wire.OFFSET.pack(self._log.end))

    def _check_idle(self) -> None:
        limit = self._pair.idle_s
        if limit is None or self._said_idle or self._conduit.pending:
            return
        if process.boot_s() >= self._active_at + limit:
            self._said_idle = True
            self._tell_keeper(pair.IDLE)

    # keeper

    def _tell_keeper(self, kind: int, payload: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # that it is gone is heard on the link
            self._link.sendall(wire.frame(kind, payload))

    def _hear_keeper(self, _: int) -> None:
        data = received(self._link)
        if not data:
            raise Orphaned
        for kind, payload in self._link_words.feed(data):
            if kind == pair.ENDED:
                self._complaints.drain()  # whoever hears of the end finds the last of them
                self._ended_at = self._last_byte_at = time.monotonic()
                if not self._open:
                    self._tell_keeper(pair.DRAINED, wire.OFFSET.pack(self._log.end))
            elif kind == pair.RECORDED:
                self._audience.tell_all(wire.frame(wire.JOURNAL))
            elif kind == pair.INPUT_ENDED:
                self._pair.end_input(self._typist.ending)
                self._audience.tell_all(wire.frame(wire.JOURNAL))
                self._typist.go_on_after_end(time.monotonic())
            elif kind == pair.WAITS:
                asker = self._asking.pop(payload[: wire.OFFSET.size], -1)
                self._audience.send(asker, wire.frame(wire.WAITS, payload))
            elif kind == pair.PIPES_HELD:
                self._drains.held(payload)
            elif kind == pair.FINISH:
                self._finish()

    def _finish(self) -> None:
        """Go, once everything has arrived in the log."""
        self._finish_asked = True
        while self._open and not self._conduit.pending:
            before = self._log.end
            for fd in list(self._sources):
                self._read(fd)
            if self._log.end == before:
                break
        if not self._drains.finish() or self._conduit.pending or self._pair.unrecorded:
            return
        self._complaints.drain()
        self._audience.tell_all(wire.frame(wire.JOURNAL))
        os._exit(0)

    # supervisors

    def _called(self, _: int) -> None:
        """A supervisor that does not find our socket sends SIGHUP: its file may have been removed."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        old = self._pair.listener.fileno()
        with contextlib.suppress(OSError):
            if self._pair.listen_again():
                self.forget(old)
                self._audience.listener = self._pair.listener
                self.listen(self._pair.listener.fileno(), self._audience.accept)

    def hello(self) -> bytes:
        return hello(self._pair, os.getpid(), self._stalled)

    def left(self, fd: int) -> None:
        self._watching.pop(fd, None)
        self._asking = {number: one for number, one in self._asking.items() if one != fd}
        self._holds.leave(fd, time.monotonic())

    def obey(self, fd: int, kind: int, payload: bytes) -> None:
        """Do what a supervisor says; what this one does not know is passed over."""
        obey = _ORDERS.get(kind)
        if obey is not None:
            obey(self, fd, payload)

    def _watch(self, fd: int, payload: bytes) -> None:
        (self._watching[fd],) = wire.OFFSET.unpack(payload)
        self._tell_watchers()

    def _type(self, fd: int, payload: bytes, epoch: int | None = None) -> None:
        now, self._active_at = time.monotonic(), process.boot_s()
        once, data = payload[: wire.ONCE_BYTES], payload[wire.ONCE_BYTES :]
        self._typist.add(fd, once, data, now, epoch)
        for _ in range(TAKEN_SPINS if self._pair.typed.is_key else 0):
            self._check_taken(now)  # whoever takes a single key may end by it, and a prompt follows at once
            if not self._pair.typed.pending:
                break
            time.sleep(TAKEN_SPIN_S)

    def _note_typed(self, data: bytes) -> None:
        self._pair.typed.add(self._pair.master, self._log.end + self._conduit.pending, data)
        self._taken_check_s, self._taken_check_at = TAKEN_CHECK_S[0], time.monotonic() + TAKEN_CHECK_S[0]

    def _check_taken(self, now: float) -> None:
        """Note that all input was taken, as soon as it is seen: what was written before that is in the log then."""
        typed, master = self._pair.typed, self._pair.master
        if not typed.pending:
            return
        if now >= self._taken_check_at:
            self._taken_check_s *= 2
            self._taken_check_at = now + self._taken_check_s
        if self._typist.busy or self._conduit.pending or not self._pair.terminal:
            return
        if typed.all_taken(master):
            drained = self._drain(master)
            typed.take(self._log.end + self._conduit.pending, drained=drained)

    def _drain(self, fd: int) -> bool:
        """Read what a source has; whether that is all."""
        for _ in range(DRAIN_PIECES):
            before = self._log.end
            if fd in self._sources:
                self._read(fd)
            if self._log.end == before:
                return not self._conduit.pending
        return False

    def _type_at(self, fd: int, payload: bytes) -> None:
        self._type(fd, payload[wire.OFFSET.size :], *wire.OFFSET.unpack_from(payload))

    def _ask_for_end(self, fd: int, payload: bytes) -> None:
        """Only the keeper's word that it has let go of its own end makes it the end; until then nobody is told."""
        now, self._active_at = time.monotonic(), process.boot_s()
        self._typist.add(fd, payload[wire.OFFSET.size :], b"", now, *wire.OFFSET.unpack_from(payload), end=True)

    def _raise_fence(self, _: int, payload: bytes) -> None:
        (epoch,) = wire.OFFSET.unpack(payload)
        self._typist.raise_fence(epoch, time.monotonic())

    def _resize(self, _: int, payload: bytes) -> None:
        cols, rows = wire.SIZE.unpack(payload)
        child.resize(self._pair.master, cols, rows)
        at = self._log.end + self._conduit.pending
        if self._pair.record("resized", cols=cols, rows=rows, offset=at):
            self._audience.tell_all(wire.frame(wire.JOURNAL))

    def _signal(self, _: int, payload: bytes) -> None:
        self._signalled = kill.signal_foreground(self._pair, *wire.NUMBER.unpack(payload))

    def _kill(self, _: int, payload: bytes) -> None:
        self._killed = True
        self._tell_keeper(pair.ASKED_TO_KILL, payload)

    def _pause(self, _: int, payload: bytes) -> None:
        (stop,) = wire.NUMBER.unpack(payload)
        self._tell_keeper(pair.ASKED_TO_PAUSE if stop else pair.ASKED_TO_GO_ON)

    def _left(self, fd: int, _: bytes) -> None:
        left = [pid for pid in kill.members(self._pair, leave_out=os.getpid()) if pid != self._pair.child]
        self._audience.send(fd, wire.frame(wire.LEFT, json.dumps(left).encode("ascii")))

    def _keep_environment(self, fd: int, _: bytes) -> None:
        with contextlib.suppress(OSError):  # then the next run has that of whoever asks for it
            spec.keep_environment(self._pair.folder, self._pair.env)
        self._audience.send(fd, wire.frame(wire.KEPT))

    def _hold(self, fd: int, payload: bytes) -> None:
        (offset,) = wire.OFFSET.unpack(payload)
        self._holds.take(fd, None if offset == wire.NOBODY else offset)
        self._trim()

    def _keep_no_more(self, _: int, payload: bytes) -> None:
        with contextlib.suppress(OSError):
            self._log.roll()
            self._log.trim(*wire.OFFSET.unpack(payload))

    def _roll(self, _: int, __: bytes) -> None:
        with contextlib.suppress(OSError):
            self._log.roll()

    def _look(self, fd: int, _: bytes) -> None:
        seen = look.seen(self._pair.master, self._pair.child) | self._pair.typed.seen()
        if self._typist.busy:  # some of it is not even in the terminal
            seen |= {"typed_at": self._log.end, "taken_at": None, "open": True}
        self._drain(self._pair.master)  # so that what was written before is in the log
        seen["readable"] = self._pair.terminal and readable(self._pair.master)
        seen["signalled"], self._signalled = self._signalled, None
        self._audience.send(fd, wire.frame(wire.SEEN, json.dumps(seen).encode("ascii")))

    def _does_it_wait(self, fd: int, payload: bytes) -> None:
        wire.OFFSET.unpack(payload)
        self._asking[payload] = fd
        self._tell_keeper(pair.ASKED_IF_WAITING, payload)

    def _open_pipes(self, fd: int, payload: bytes) -> None:
        self._drains.open(fd, payload)

    def _drain_pipes(self, fd: int, payload: bytes) -> None:
        self._drains.end(fd, payload)

    def _echo(self, _: int, payload: bytes) -> None:
        if self._pair.terminal:
            child.set_echo(self._pair.master, on=bool(*wire.NUMBER.unpack(payload)))

    def _sweep(self, fd: int, payload: bytes) -> None:
        count = kill.sweep(self._pair, *wire.SWEEPING.unpack(payload), leave_out=os.getpid())
        self._audience.send(fd, wire.frame(wire.SWEPT, wire.NUMBER.pack(count)))

    def _receipt(self, fd: int, receipt: bytes) -> None:
        self._audience.send(fd, wire.frame(wire.TYPED, receipt))

    def _tell_watchers(self) -> None:
        for fd in [fd for fd, seen in self._watching.items() if self._log.end > seen]:
            del self._watching[fd]
            self._audience.send(fd, wire.frame(wire.GREW))


_ORDERS: dict[int, Callable[[Mover, int, bytes], None]] = {
    wire.INPUT: Mover._type,
    wire.WATCH: Mover._watch,
    wire.RESIZE: Mover._resize,
    wire.SIGNAL: Mover._signal,
    wire.KILL: Mover._kill,
    wire.LOOK: Mover._look,
    wire.SWEEP: Mover._sweep,
    wire.HOLD: Mover._hold,
    wire.TRIM: Mover._keep_no_more,
    wire.ROLL: Mover._roll,
    wire.PAUSE: Mover._pause,
    wire.SIGNAL_PROGRAM: lambda mover, _, payload: kill.signal_program(mover._pair, *wire.NUMBER.unpack(payload)),
    wire.WHO_IS_LEFT: Mover._left,
    wire.KEEP_ENVIRONMENT: Mover._keep_environment,
    wire.DOES_IT_WAIT: Mover._does_it_wait,
    wire.ECHO: Mover._echo,
    wire.FENCE: Mover._raise_fence,
    wire.INPUT_AT: Mover._type_at,
    wire.PIPES: Mover._open_pipes,
    wire.DRAIN: Mover._drain_pipes,
    wire.END_INPUT: Mover._ask_for_end,
}
