"""A person's terminal while a session has it: raw, never waited for, and always given back as it was."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from types import TracebackType

from orchctl.errors import BadInput
from orchctl.terminal.modes import TerminalModes

KEYBOARD, SCREEN = 0, 1
READ_BYTES = 1 << 16
PENDING_BYTES = 1 << 18  # more than that is left with the supervisor until the terminal has taken some
PATIENT_S = 2.0  # for a terminal that takes nothing, on the way out
_BLOCKING_BYTES = 256  # what a terminal with any room at all takes without making anybody wait
_KEEP_TITLE, _TITLE_BACK = b"\x1b[22;0t", b"\x1b[23;0t"
_CANCEL = b"\x18"  # ends a sequence that was cut


class OwnTerminal:
    """Use it as a context: inside it is raw, afterwards as before, whatever happens."""

    def __init__(self) -> None:
        if not (os.isatty(KEYBOARD) and os.isatty(SCREEN)):
            raise BadInput(
                "stdin and stdout are not a terminal; 'orchctl tail -f' follows a session without one, "
                "'orchctl send' types into it",
                code="not-a-terminal",
            )
        self._before = termios.tcgetattr(KEYBOARD)
        self.modes = TerminalModes()
        self._pending = bytearray()
        self._entered = False
        self._at_line_start = True
        self._fd, self._step = _without_waiting()

    def __enter__(self) -> OwnTerminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()
        if self._fd != SCREEN:
            os.close(self._fd)

    @property
    def name(self) -> str | None:
        """As people know it."""
        try:
            return os.ttyname(KEYBOARD).removeprefix("/dev/")
        except OSError:
            return None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        size = os.get_terminal_size(SCREEN)
        return size.columns or 80, size.lines or 24

    def enter(self) -> None:
        """Every key comes as it is from now on; what was typed before is not lost."""
        self._entered = True
        tty.setraw(KEYBOARD, termios.TCSADRAIN)
        self._pending += _KEEP_TITLE

    def leave(self) -> None:
        """As it was when we came: what is shown by then is not waited for long."""
        if not self._entered:
            return
        self._entered = False
        try:
            self.flush_all(PATIENT_S)
            fresh_line = b"" if self._at_line_start or self.modes.alternate else b"\r\n"
            rest = (_CANCEL if self._pending else b"") + self.modes.undo() + fresh_line + _TITLE_BACK
            self._pending = bytearray(rest)
            self.flush_all(PATIENT_S)
        except OSError:  # it is gone
            pass
        finally:
            self._pending.clear()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(KEYBOARD, termios.TCSANOW, self._before)

    def read(self) -> bytes:
        """What was typed; nothing once the terminal is gone."""
        try:
            return os.read(KEYBOARD, READ_BYTES)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        """As soon as it takes it."""
        if data:
            self.modes.feed(data)
            self._pending += data
            self._at_line_start = data.endswith(b"\n")

    def insert(self, data: bytes) -> None:
        """The same for what changes nothing of it but what is shown."""
        self._pending += data

    @property
    def behind(self) -> bool:
        """Whether something waits to be shown."""
        return bool(self._pending)

    @property
    def far_behind(self) -> bool:
        """Whether nothing more should be written for now."""
        return len(self._pending) >= PENDING_BYTES

    def fileno(self) -> int:
        return self._fd

    def flush(self) -> None:
        """What it takes now."""
        with contextlib.suppress(BlockingIOError):
            while self._pending:
                taken = os.write(self._fd, bytes(self._pending[: self._step]))
                del self._pending[:taken]
                if self._fd == SCREEN:
                    return

    def flush_all(self, limit_s: float) -> None:
        """All of it, if it can be done in that time."""
        until = time.monotonic() + limit_s
        while self._pending and (left := until - time.monotonic()) > 0:
            if select.select([], [self._fd], [], left)[1]:
                self.flush()


def _without_waiting() -> tuple[int, int]:
    """The screen to write to, and how much at once.

    Opened anew, because a flag on our stdout would be on the shell's too, also after we were killed. Where it cannot
    be opened, as after `su`, so little is written at a time that nobody has to wait.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return os.open(f"/proc/self/fd/{SCREEN}", flags), 1 << 16
    return SCREEN, _BLOCKING_BYTES
