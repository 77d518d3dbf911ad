"""Input on its way into a terminal: in order, each once, and never silently cut."""

from __future__ import annotations

import os
import re
import termios
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from orchctl.keeper import wire

PATIENCE_S = 5.0  # a program that takes no byte for so long does not read its input
CANONICAL_LIMIT_BYTES = 4095  # the kernel cuts longer lines without a word
_REMEMBERED = 256  # receipts kept for askers that lost theirs
_LINE_END = re.compile(rb"[\r\n]")


@dataclass(slots=True)
class _Input:
    asker: int
    once: bytes
    data: bytes
    taken: int = 0


class Typist:
    """Writes to the master without ever blocking; `receipt` is told how each input went."""

    def __init__(self, master: int, receipt: Callable[[int, bytes], None]) -> None:
        self._master = master
        self._receipt = receipt
        self._queue: deque[_Input] = deque()
        self._receipts: OrderedDict[bytes, bytes] = OrderedDict()
        self.deadline: float | None = None

    @property
    def busy(self) -> bool:
        """Whether the master should be polled for room."""
        return bool(self._queue)

    def add(self, asker: int, once: bytes, data: bytes, now: float) -> None:
        """Take an input; one whose name is known is answered, not typed again."""
        if once in self._receipts:
            self._receipt(asker, self._receipts[once])
            return
        for waiting in self._queue:
            if waiting.once == once:
                waiting.asker = asker
                return
        self._queue.append(_Input(asker, once, data))
        self.go_on(now)

    def go_on(self, now: float) -> None:
        """Type as much as the terminal takes."""
        while self._queue:
            first = self._queue[0]
            if first.taken == 0 and self._cut_by_kernel(first.data):
                self._done(wire.TYPED_TOO_LONG)
                continue
            try:
                first.taken += os.write(self._master, first.data[first.taken :]) if first.data else 0
            except BlockingIOError:
                self.deadline = self.deadline or now + PATIENCE_S
                return
            except OSError:  # EIO: the program has gone
                self._done(wire.TYPED_BLOCKED)
                continue
            self.deadline = now + PATIENCE_S
            if first.taken == len(first.data):
                self._done(wire.TYPED_ALL)

    def check(self, now: float) -> None:
        """Give up on an input that nobody reads."""
        if self.deadline is not None and now >= self.deadline and self._queue:
            self._done(wire.TYPED_BLOCKED)
            self.go_on(now)

    def _done(self, outcome: int) -> None:
        first = self._queue.popleft()
        self.deadline = None
        self._receipts[first.once] = wire.RECEIPT.pack(first.once, first.taken, outcome)
        if len(self._receipts) > _REMEMBERED:
            self._receipts.popitem(last=False)
        self._receipt(first.asker, self._receipts[first.once])

    def _cut_by_kernel(self, data: bytes) -> bool:
        if len(data) <= CANONICAL_LIMIT_BYTES or not termios.tcgetattr(self._master)[3] & termios.ICANON:
            return False
        return any(len(line) > CANONICAL_LIMIT_BYTES for line in _LINE_END.split(data))
