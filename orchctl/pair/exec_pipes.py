"""Pipes of commands whose stdout and stderr come apart: FIFOs that a shell opens, drained into files by the mover.

While a command runs, both processes of the pair hold its FIFOs open for reading and writing: whichever of them is
killed, the command gets no SIGPIPE, and the next mover finds what is in the FIFOs. A byte is at every moment in a FIFO
or in a file; the file's size says how far the draining got. A full disk makes the command wait.

Once the command is over the FIFOs are held for reading alone. What background jobs still write is thrown away, and the
last of them to end lets the FIFOs go.

    supervisor      mover            keeper
    PIPES name  →   opens      →     HOLD_PIPES: opens too
    PIPED       ←              ←     PIPES_HELD
    DRAIN name  →   drains     →     PIPES_OVER: holds for reading alone
    DRAINED     ←
                    no writer  →     PIPES_CLOSED: closes
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Callable

from orchctl.pair import shared as pair
from orchctl.pair import wire
from orchctl.pair.connections import Host
from orchctl.pair.shared import ExecPipes, Pair
from orchctl.session import layout

PIECE_BYTES = 1 << 16
_COUNT = struct.Struct("i")
_NO_SPLICE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def opened(folder: str, name: str) -> ExecPipes:
    """Both FIFOs of a command."""
    if not (name.isascii() and name.replace("-", "").isalnum()):
        raise ValueError(f"no name of a command: {name!r}")
    mode = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
    out = os.open(f"{folder}/{layout.SHELL}/{layout.STDOUT_FIFO}{name}", mode)
    try:
        return ExecPipes([out, os.open(f"{folder}/{layout.SHELL}/{layout.STDERR_FIFO}{name}", mode)])
    except OSError:
        os.close(out)
        raise


def reopen(fd: int) -> int:
    """A FIFO for reading alone, so that the end of its last writer is seen; the old descriptor is closed."""
    with contextlib.suppress(OSError):  # no descriptor is left: then it is held until the session's end
        reading = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.close(fd)
        return reading
    return fd


def hold(shared: Pair, kind: int, payload: bytes) -> bytes | None:
    """The keeper's part; the payload of PIPES_HELD, if the mover waits for that."""
    name = payload.decode("ascii")
    if kind == pair.HOLD_PIPES:
        try:
            if name not in shared.exec_pipes:
                shared.exec_pipes[name] = opened(shared.folder, name)
        except (OSError, ValueError) as error:
            return payload + b"\0" + str(error).encode(errors="replace")
        return payload + b"\0"
    pipes = shared.exec_pipes.get(name)
    if pipes is not None and kind == pair.PIPES_OVER and not pipes.over:
        pipes.ends, pipes.over = [reopen(fd) for fd in pipes.ends], True
    elif pipes is not None and kind == pair.PIPES_CLOSED:
        for fd in shared.exec_pipes.pop(name).ends:
            os.close(fd)
    return None


class Drains:
    """The mover's part: of all commands that have pipes, as a rule one."""

    def __init__(
        self,
        shared: Pair,
        host: Host,
        tell_keeper: Callable[[int, bytes], None],
        send: Callable[[int, bytes], None],
    ) -> None:
        self._pair = shared
        self._host = host
        self._tell_keeper = tell_keeper
        self._send = send
        self._paths: dict[int, str] = {}  # what a FIFO is drained into; nothing once its command is over
        self._files: dict[int, int] = {}  # the same, once it is open
        self._held: dict[int, bytes] = {}  # read, where the kernel cannot move it, and not written yet
        self._stalled: dict[int, str] = {}  # why a FIFO is not read
        self._opening: dict[str, list[int]] = {}  # who waits for the keeper to hold them too
        self._ending: dict[str, list[tuple[int, bytes]]] = {}  # who waits for the last byte
        for name in shared.exec_pipes:  # of a mover before this one
            self._begin(name)

    @property
    def trouble(self) -> str:
        """Why what a command wrote cannot be stored; nothing while it can."""
        return next(iter(self._stalled.values()), "")

    def open(self, asker: int, payload: bytes) -> None:
        """Have both processes hold the FIFOs of a command, and drain them from now on."""
        name = payload[:-1].decode("ascii", "replace")
        try:
            if name not in self._pair.exec_pipes:
                self._pair.exec_pipes[name] = opened(self._pair.folder, name)
                self._begin(name)
        except (OSError, ValueError) as error:
            self._send(asker, wire.frame(wire.PIPED, payload + str(error).encode(errors="replace")))
            return
        self._opening.setdefault(name, []).append(asker)
        self._tell_keeper(pair.HOLD_PIPES, payload[:-1])

    def held(self, payload: bytes) -> None:
        """The keeper holds them too, or says why not."""
        name, _, trouble = payload.partition(b"\0")
        for asker in self._opening.pop(name.decode("ascii"), []):
            self._send(asker, wire.frame(wire.PIPED, name + b"\0" + trouble))

    def end(self, asker: int, payload: bytes) -> None:
        """The command is over: answered once all that it wrote is stored, or at once if the rest is to be dropped."""
        (drop,), name = wire.FLAG.unpack_from(payload), payload[1:-1].decode("ascii", "replace")
        pipes = self._pair.exec_pipes.get(name)
        if pipes is None or pipes.over:
            self._send(asker, wire.frame(wire.DRAINED, payload))
            return
        self._ending.setdefault(name, []).append((asker, payload))
        if drop or self._drained(name):
            self._over(name)

    def go_on(self) -> None:
        """Try again what a full disk has stopped."""
        for fd in list(self._stalled):
            self._take(fd)
        for name in list(self._ending):
            if self._drained(name):
                self._over(name)

    def finish(self) -> bool:
        """Store the rest; whether that worked. Nobody can write any more."""
        return all(self._drained(name) for name, pipes in self._pair.exec_pipes.items() if not pipes.over)

    def close(self) -> None:
        """Let the files go; the FIFOs stay open."""
        for file in self._files.values():
            os.close(file)

    def _begin(self, name: str) -> None:
        pipes = self._pair.exec_pipes[name]
        for prefix, fd in zip((layout.STDOUT_FILE, layout.STDERR_FILE), pipes.ends, strict=True):
            if not pipes.over:
                self._paths[fd] = f"{self._pair.folder}/{layout.SHELL}/{prefix}{name}"
            self._listen(fd)

    def _listen(self, fd: int) -> None:
        def take(_: int) -> None:
            self._take(fd)

        self._host.listen(fd, take)

    def _take(self, fd: int) -> int:
        """Move or throw away what is there, a piece at most; how many bytes that was."""
        count = 0
        try:
            count = self._move(fd) if fd in self._paths else self._throw_away(fd)
        except FileNotFoundError:  # nobody will read it any more
            self._paths.pop(fd)
        except BlockingIOError:
            pass
        except OSError as error:
            if fd not in self._stalled:
                self._host.forget(fd)
            self._stalled[fd] = error.strerror or "it cannot be written"
            return 0
        if self._stalled.pop(fd, None) is not None:
            self._listen(fd)
        return count

    def _move(self, fd: int) -> int:
        if fd not in self._files:
            self._files[fd] = os.open(self._paths[fd], os.O_WRONLY | os.O_CLOEXEC)
        file = self._files[fd]
        end = os.fstat(file).st_size
        if fd not in self._held:
            try:
                return os.splice(fd, file, PIECE_BYTES, offset_dst=end)
            except OSError as error:
                if error.errno not in _NO_SPLICE:
                    raise
            self._held[fd] = os.read(fd, PIECE_BYTES)
        count = os.pwrite(file, self._held[fd], end)
        rest = self._held.pop(fd)[count:]
        if rest:
            self._held[fd] = rest
        return count

    def _throw_away(self, fd: int) -> int:
        count = len(os.read(fd, PIECE_BYTES))
        if count == 0:  # the last writer is gone
            self._close(fd)
        return count

    def _drained(self, name: str) -> bool:
        """Store what is in the FIFOs now; whether all of it is. What comes meanwhile is of background jobs."""
        for fd in self._pair.exec_pipes[name].ends:
            left = _waiting(fd) + len(self._held.get(fd, b""))
            while left > 0 and (count := self._take(fd)):
                left -= count
            if left > 0 and fd in self._paths:
                return False
        return True

    def _over(self, name: str) -> None:
        pipes = self._pair.exec_pipes[name]
        for fd in pipes.ends:
            self._paths.pop(fd, None)
            self._held.pop(fd, None)
            if fd in self._files:
                os.close(self._files.pop(fd))
            if self._stalled.pop(fd, None) is None:
                self._host.forget(fd)
        pipes.ends, pipes.over = [reopen(fd) for fd in pipes.ends], True
        for fd in pipes.ends:
            self._listen(fd)
        self._tell_keeper(pair.PIPES_OVER, name.encode("ascii"))
        for asker, payload in self._ending.pop(name, []):
            self._send(asker, wire.frame(wire.DRAINED, payload))

    def _close(self, fd: int) -> None:
        self._host.forget(fd)
        os.close(fd)
        for name, pipes in list(self._pair.exec_pipes.items()):
            if fd in pipes.ends:
                pipes.ends.remove(fd)
                if not pipes.ends:
                    del self._pair.exec_pipes[name]
                    self._tell_keeper(pair.PIPES_CLOSED, name.encode("ascii"))


def _waiting(fd: int) -> int:
    (count,) = _COUNT.unpack(fcntl.ioctl(fd, termios.FIONREAD, bytes(_COUNT.size)))
    return int(count)
