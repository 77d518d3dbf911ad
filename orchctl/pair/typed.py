"""What was typed into a terminal and may not be taken yet: kept in memory that all processes of a pair share.

A prompt mark proves an empty line only where all input was taken before the mark was made: what is typed ahead is read
after the prompt is drawn. So the mover notes whether the last line is unfinished, how many lines there were, and from
which byte of output on it is certain that nothing was left to be taken. The next mover finds all of it here.

    `at`       where the log ended before the last input
    `taken_at` whatever was written from this byte on was written after all input had been taken; None: not seen yet
    `open`     the last line has no end
    `lines`    how many ends of lines were typed
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import select
import struct
import termios
from typing import Any

_TIOCGPTPEER = 0x5441
_RECORD = struct.Struct("=QQQB")
_NOT_SEEN = (1 << 64) - 1
_SIGNALS = (termios.VINTR, termios.VQUIT, termios.VSUSP)
_ENDS = b"\r\n"
_CANCEL = b"\x03"  # a line editor that takes signal keys as keys gives up its line
_OPEN, _HIDDEN = 1, 2  # the last line has no end; and some of it was typed in line mode, which shows no such line
_BEHIND_BYTES = 1 << 17  # more than a terminal holds of what was written and not read


class Typed:
    """Of one terminal."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _RECORD.size)
        self._put(0, 0, 0, 0)

    @property
    def at(self) -> int:
        """Where the log ended before the last input."""
        return int(self._get()[0])

    @property
    def pending(self) -> bool:
        """Whether some of it was not seen to be taken."""
        return bool(self._get()[1] == _NOT_SEEN)

    def add(self, master: int, at: int, data: bytes) -> None:
        """Note an input before it is typed; what the terminal itself makes a signal of is in nobody's line."""
        modes = _modes(master)
        _, taken_at, lines, flags = self._get()
        if modes is not None and modes[3] & termios.ISIG:
            data = data.translate(None, b"".join(modes[6][key] for key in _SIGNALS))
        if data:
            line_mode = modes is not None and modes[3] & termios.ICANON
            ends = _ENDS + (modes[6][termios.VEOF] if modes is not None and line_mode else _CANCEL)
            ended = data[-1:] in ends
            flags = 0 if ended else _OPEN | (_HIDDEN if line_mode else flags & _HIDDEN)
            lines += sum(data.count(end) for end in (b"\r", b"\n"))
            taken_at = _NOT_SEEN
        self._put(at, taken_at, lines, flags)

    @property
    def is_key(self) -> bool:
        """Whether the last input has no end of a line, and can be taken all the same."""
        return self.pending and self._get()[3] == _OPEN

    def all_taken(self, master: int) -> bool:
        """Whether nothing of it is left in the terminal; a line without its end, typed in line mode, is not seen there.

        Keys that were typed out of line mode and are not taken can be seen in any mode.
        """
        modes = _modes(master)
        if modes is None or (self._get()[3] & _HIDDEN and modes[3] & termios.ICANON):
            return False
        return not readable(master)

    def take(self, at: int, *, drained: bool) -> None:
        """All was taken before anything was written from `at` on; further on, if what was written is not all read."""
        typed_at, _, lines, flags = self._get()
        self._put(typed_at, at if drained else at + _BEHIND_BYTES, lines, flags)

    def seen(self) -> dict[str, Any]:
        """For a look."""
        typed_at, taken_at, lines, flags = self._get()
        return {
            "typed_at": typed_at,
            "taken_at": None if taken_at == _NOT_SEEN else taken_at,
            "lines": lines,
            "open": bool(flags & _OPEN),
        }

    def _get(self) -> tuple[int, int, int, int]:
        record: tuple[int, int, int, int] = _RECORD.unpack_from(self._memory)
        return record

    def _put(self, at: int, taken_at: int, lines: int, flags: int) -> None:
        _RECORD.pack_into(self._memory, 0, at, taken_at, lines, flags)


def readable(master: int) -> bool:
    """Whether there is input that nobody has taken; a poll of the program's own end waits until it is handed over."""
    with contextlib.suppress(OSError):
        peer = fcntl.ioctl(master, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            poll = select.poll()
            poll.register(peer, select.POLLIN)
            return bool(poll.poll(0))
        finally:
            os.close(peer)
    return True


def _modes(master: int) -> list[Any] | None:
    try:
        return termios.tcgetattr(master)
    except (OSError, termios.error):
        return None
