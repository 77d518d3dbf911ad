"""Signals as something to read, for a loop that waits for other things too."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any


class Signals:
    """Inside this context these signals do nothing but come out of `read`; the main thread alone may have it."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers
        self._before: dict[int, Any] = {}
        self._told, self._tell = os.pipe()
        os.set_blocking(self._told, False)
        os.set_blocking(self._tell, False)
        self._wakeup_before = -1

    def __enter__(self) -> Signals:
        self._wakeup_before = signal.set_wakeup_fd(self._tell, warn_on_full_buffer=False)
        for number in self._numbers:
            self._before[number] = signal.signal(number, _noted)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._told)
        os.close(self._tell)

    def fileno(self) -> int:
        """To wait for one."""
        return self._told

    def read(self) -> set[int]:
        """Those that came."""
        try:
            return set(os.read(self._told, 1 << 10)) & set(self._numbers)
        except BlockingIOError:
            return set()


def _noted(number: int, frame: FrameType | None) -> None:
    """Nothing: its number is in the pipe."""
