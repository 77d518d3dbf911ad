"""The way of an input into a terminal, so that a killed mover leaves no doubt about how much went in.

By splice where the kernel can, through a pipe that the keeper holds too: a piece is staged in the pipe, and the kernel
takes each byte out of it as it enters the terminal. What is left in the pipe is what was not typed, whoever died when.

    staging   nothing of the piece is typed: what is in the pipe, all or nothing, is the piece
    staged    typed is what is staged, less what is left in the pipe

Elsewhere, and into a program's pipe, whose room such pieces would use up by their number, by write. A mover that is
killed between that write and its count leaves a doubt, and the input is answered as `maybe-typed`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import termios

from orchctl.pair.input_queue import Input, Inputs

PIECE_BYTES = 4096  # a page, which is all that the pipe holds
_NOT_TO_BE_HAD = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_COUNT = struct.Struct("i")


def open_pipe() -> int:
    """Both ends of a pipe in one descriptor; -1 where there is none to be had."""
    ends = os.pipe2(os.O_CLOEXEC)
    try:
        both = os.open(f"/proc/self/fd/{ends[0]}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.fcntl(both, fcntl.F_SETPIPE_SZ, PIECE_BYTES)
        return both
    except (OSError, AttributeError):
        return -1
    finally:
        for end in ends:
            os.close(end)


class Feed:
    """Into `master`, by way of `pipe` if there is one."""

    def __init__(self, master: int, pipe: int, inputs: Inputs) -> None:
        self._master = master
        self._pipe = pipe
        self._inputs = inputs
        self._staged = 0

    def resume(self, one: Input | None) -> None:
        """Find out how much of the first input was taken when the mover before this one died."""
        left = self._left()
        end = self._inputs.staged(one) if one is not None else -1
        if one is None or one.doubt or end == -1:
            self.drop()
            return
        self._staged = left
        one.taken = one.taken if end is None else end - left
        self._inputs.count(one)
        if left:
            self._inputs.stage(one, one.taken + left)

    def stage(self, one: Input) -> bytes:
        """Make a piece ready; the bytes, or none if there are some ready yet."""
        if self._staged:
            return b""
        piece = one.data[one.taken : one.taken + PIECE_BYTES]
        self._staged = len(piece)
        if self._pipe >= 0:
            self._inputs.staging(one)
            self._staged = os.write(self._pipe, piece)
            self._inputs.stage(one, one.taken + self._staged)
        return piece[: self._staged]

    def push(self, one: Input) -> int:
        """Type what is ready; how many bytes the terminal took."""
        count = self._splice() if self._pipe >= 0 else None
        if count is None:
            count = self._write(one)
        self._staged -= count
        one.taken += count
        self._inputs.count(one)
        return count

    def drop(self) -> None:
        """Nothing of what is ready is typed."""
        self._staged = 0
        self._inputs.unstage()
        if self._pipe >= 0:
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.read(self._pipe, PIECE_BYTES)

    def _splice(self) -> int | None:
        try:
            return os.splice(self._pipe, self._master, self._staged)
        except OSError as error:
            if error.errno not in _NOT_TO_BE_HAD:
                raise
        staged = self._staged
        self.drop()
        self._pipe, self._staged = -1, staged
        return None

    def _write(self, one: Input) -> int:
        self._inputs.count(one, doubt=True)
        try:
            return os.write(self._master, one.data[one.taken : one.taken + self._staged])
        except OSError:
            self._inputs.count(one)
            raise

    def _left(self) -> int:
        if self._pipe < 0:
            return 0
        (count,) = _COUNT.unpack(fcntl.ioctl(self._pipe, termios.FIONREAD, bytes(_COUNT.size)))
        return int(count)
