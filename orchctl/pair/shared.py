"""What keeper and mover share: the descriptors of one session, and its journal.

Both processes hold the same descriptors because one was forked from the other; no PTY descriptor
ever crosses a socket. The link between the two speaks the frames of `wire.py`.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from orchctl.log import journal
from orchctl.log.journal import Record
from orchctl.pair import reaper
from orchctl.pair.daemon_io import bind_again, identity
from orchctl.pair.input_queue import Inputs
from orchctl.pair.typed import Typed
from orchctl.session import layout


class Fence:
    """Only ever raised."""

    def __init__(self, shared: Pair | None = None) -> None:
        self._pair = shared
        self.epoch = _noted(shared.folder) if shared is not None else 0

    def stops(self, epoch: int) -> bool:
        """Whether what was allowed under that epoch comes too late."""
        return epoch < self.epoch

    def raise_to(self, epoch: int) -> bool:
        """Whether that is news."""
        if epoch <= self.epoch:
            return False
        self.epoch = epoch
        if self._pair is not None:
            self._pair.record("fenced", epoch=epoch)
        return True


def _noted(folder: str) -> int:
    try:
        with open(f"{folder}/{layout.JOURNAL}", "rb") as file:
            records = journal.decode(file.read()).records
    except OSError:
        return 0
    return max((int(record["epoch"]) for record in records if record["type"] == "fenced"), default=0)


# keeper → mover
ENDED = ord("e")  # the program was reaped: say when its output has ended
RECORDED = ord("r")  # run.jnl grew: tell the supervisor
FINISH = ord("f")  # nothing is left: go
WAITS = ord("w")  # the answer to ASKED_IF_WAITING: its u64, then JSON
PIPES_HELD = ord("h")  # a command's id, a NUL, and why its FIFOs cannot be opened, or nothing
INPUT_ENDED = ord("n")  # the answer to ASKED_TO_END_INPUT

# mover → keeper
DRAINED = ord("d")  # u64: the log ends here, nobody can write any more
QUIET = ord("q")  # u64: the log ends here for now, but something still holds the terminal
ASKED_TO_KILL = ord("k")  # f64 seconds of grace
ASKED_TO_PAUSE = ord("p")
ASKED_TO_GO_ON = ord("u")
ASKED_IF_WAITING = ord("w")  # u64: whether anybody sleeps until there is input; only an ancestor may look
ASKED_TO_END_INPUT = ord("n")  # what the program reads has ended: let go of the other end, and say so
IDLE = ord("i")  # nothing was written or typed for too long
HOLD_PIPES = ord("h")  # a command's id: hold its FIFOs open too
PIPES_OVER = ord("o")  # a command's id: hold them for reading alone
PIPES_CLOSED = ord("c")  # a command's id: nobody writes to them any more

BACKLOG = 16
RESERVE_BYTES = 1 << 13
_KEEP_SIZE = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(slots=True)
class ExecPipes:
    """The FIFOs of one command's stdout and stderr; see `exec_pipes.py`."""

    ends: list[int]
    over: bool = False  # held for reading alone


@dataclass(slots=True)
class Pair:
    """One session's descriptors and pids."""

    folder: str
    listener: socket.socket
    master: int  # of the terminal; without one, what the program's stdin reads from
    sources: dict[int, int]  # what it writes to, and as which stream: 0 the terminal, 1 stdout, 2 stderr
    pipe: tuple[int, int]
    journal: int
    ring_bytes: int
    idle_s: float | None
    child: int
    keeper: int
    pidfd: int = -1  # of the program
    ticks: int = 0  # when the program started
    env: dict[str, str] = field(default_factory=dict)  # what the program was started with; nowhere else but here
    terminal: bool = True
    complaints: int = -1  # where its stderr comes from, if that is not part of its output
    parent: bool = True  # whether the keeper is the program's own parent, and will hear how it ended
    input_open: bool = True  # whether what is typed reaches the program
    typed: Typed = field(default_factory=Typed)
    inputs: Inputs = field(default_factory=Inputs)
    feed: int = -1  # the pipe that input goes through, if it does
    unrecorded: bytes = b""  # what the disk has not taken yet
    exec_pipes: dict[str, ExecPipes] = field(default_factory=dict)  # by the commands' ids; each process has its own
    door: tuple[int, int] | None = None  # the file of the listening socket

    def listen_again(self) -> bool:
        """Bind the socket again if its file was removed or replaced; whether there is a new one."""
        if identity(f"{self.folder}/{layout.SOCKET}") == self.door or not os.path.isdir(self.folder):
            return False
        old, self.listener = self.listener, bind_again(self.folder, layout.SOCKET, BACKLOG)
        self.door = identity(f"{self.folder}/{layout.SOCKET}")
        old.close()
        return True

    def record(self, kind: str, **fields: Any) -> bool:
        """Append one record, in a single write as a rule, so that both processes may append; whether it is written."""
        line = journal.encode({"type": kind, "time": time.time(), **fields})
        self.unrecorded += line if self.unrecorded or not self._is_torn() else b"\n" + line
        return self.record_rest()

    def _is_torn(self) -> bool:
        """Whether the journal ends in the middle of a line: of a process that a full disk kept from ending it."""
        try:
            size = os.fstat(self.journal).st_size
            return size > 0 and os.pread(self.journal, 1, size - 1) != b"\n"
        except OSError:
            return False

    def record_rest(self) -> bool:
        """Write what a full disk did not take."""
        try:
            while self.unrecorded:
                self.unrecorded = self.unrecorded[os.write(self.journal, self.unrecorded) :]
            reserve(self.journal)
        except OSError:
            return False
        return True

    def end_input(self, once: bytes = b"") -> None:
        """Let go of the pipe to the program's stdin; it reads the end once both processes have. Twice changes nothing.

        The number of the descriptor stays, so that nothing else comes in its place. The last of the two records it,
        with the name of the request.
        """
        if self.input_open and not self.terminal:
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(null, self.master, inheritable=False)
            os.close(null)
            self.input_open = False
        if once:
            self.record("input-ended", once=once.hex())

    def end_is_recorded(self) -> bool:
        """Whether some keeper wrote down how the program ended."""
        records = self._records(layout.JOURNAL)
        starts = [at for at, record in enumerate(records) if record["type"] == "started"]
        return any(record["type"] in ("exit", "lost") for record in records[starts[-1] if starts else 0 :])

    def orphans_status(self) -> int | None:
        """How the program ended whose keeper is gone: by the keeper's word, the zygote's, or the kernel's."""
        status = reaper.journalled_status(self._records(layout.JOURNAL))
        if status is None:
            records = self._records(f"../../{layout.ORPHANS}")
            own = [one for one in records if (one.get("pid"), one.get("ticks")) == (self.child, self.ticks)]
            status = int(own[-1]["status"]) if own else None
        return reaper.status_of_reaped(self.pidfd) if status is None else status

    def _records(self, name: str) -> list[Record]:
        try:
            with open(f"{self.folder}/{name}", "rb") as file:
                return journal.decode(file.read()).records
        except OSError:
            return []


def reserve(fd: int) -> None:
    """Set room aside after a journal's end: the end of a session must fit onto the fullest disk."""
    if _libc is not None:
        size = os.fstat(fd).st_size
        _libc.fallocate(fd, _KEEP_SIZE, ctypes.c_int64(size), ctypes.c_int64(RESERVE_BYTES))
