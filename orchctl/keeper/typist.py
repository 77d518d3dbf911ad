"""Input on its way into a terminal: in order, each once, and never silently cut."""

from __future__ import annotations

import os
import re
import select
import termios
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchctl.keeper import wire
from orchctl.keeper.fence import Fence
from orchctl.keeper.pair import Pair

PATIENCE_S = 5.0  # a program that takes no byte for so long does not read its input
CANONICAL_LIMIT_BYTES = 4095  # the kernel cuts longer lines without a word
_REMEMBERED = 256  # receipts kept for askers that lost theirs


@dataclass(slots=True)
class _Input:
    asker: int
    once: bytes
    data: bytes
    epoch: int = 0
    end: bool = False  # nothing to type: the input ends here
    taken: int = 0


class Typist:
    """Writes to the master without ever blocking; `receipt` is told how each input went."""

    def __init__(
        self,
        master: int,
        receipt: Callable[[int, bytes], None],
        *,
        terminal: bool = True,
        fence: Fence | None = None,
        end: Callable[[], None] = lambda: None,
        ended: bool = False,
        noted: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        self._master = master
        self._terminal = terminal  # a pipe has no lines that could be too long
        self._receipt = receipt
        self._noted = noted  # told what is about to be typed; not a terminal's answers
        self._fence = fence or Fence()
        self._queue: deque[_Input] = deque()
        self._receipts: OrderedDict[bytes, bytes] = OrderedDict()
        self._line_bytes = 0  # of the line that is being typed
        self._end = end  # has the input ended; `go_on_after_end` is called when it is
        self._ending = False
        self._ended = ended
        self.deadline: float | None = None

    @classmethod
    def of(
        cls,
        shared: Pair,
        receipt: Callable[[int, bytes], None],
        end: Callable[[], None],
        noted: Callable[[bytes], None],
    ) -> Typist:
        """For one session's program."""
        ended, fence = not shared.input_open, Fence(shared)
        return cls(shared.master, receipt, terminal=shared.terminal, fence=fence, end=end, ended=ended, noted=noted)

    @property
    def busy(self) -> bool:
        """Whether the master should be polled for room."""
        return bool(self._queue) and not self._ending

    def add(
        self, asker: int, once: bytes, data: bytes, now: float, epoch: int | None = None, *, end: bool = False
    ) -> bool:
        """Take an input, and say whether it is new; one whose name is known is answered, not typed again.

        `epoch` is the one it was allowed under, where the asker knows of epochs. With `end` the input ends after
        all that was added before.
        """
        if once in self._receipts:
            self._receipt(asker, self._receipts[once])
            return False
        for waiting in self._queue:
            if waiting.once == once:
                waiting.asker = asker
                return False
        if end and self._terminal:  # it has none
            self._receipt(asker, wire.RECEIPT.pack(once, 0, wire.TYPED_BLOCKED))
            return False
        epoch = self._fence.epoch if epoch is None else epoch
        if self._fence.stops(epoch):
            self._receipt(asker, wire.RECEIPT.pack(once, 0, wire.TYPED_STALE))
            return False
        self.raise_fence(epoch, now)
        self._queue.append(_Input(asker, once, data, epoch, end))
        self.go_on(now)
        return True

    def go_on(self, now: float) -> None:
        """Type as much as the terminal takes."""
        while self._queue and not self._ending:
            first = self._queue[0]
            if first.end:
                self._ending, self.deadline = True, None
                self._end()
                return
            if self._ended:
                self._done(wire.TYPED_BLOCKED)
                continue
            if first.taken == 0 and self._cut_by_kernel(first.data):
                self._done(wire.TYPED_TOO_LONG)
                continue
            if self._hung_up():
                self._done(wire.TYPED_BLOCKED)
                continue
            if first.data and not first.once.startswith(wire.ANSWER):
                self._noted(first.data[first.taken :])
            try:
                taken = os.write(self._master, first.data[first.taken :]) if first.data else 0
                self._note_line(first.data[first.taken : first.taken + taken])
                first.taken += taken
            except BlockingIOError:
                self.deadline = self.deadline or now + PATIENCE_S
                return
            except OSError:  # it is no longer a terminal that takes input
                self._done(wire.TYPED_BLOCKED)
                continue
            self.deadline = now + PATIENCE_S
            if first.taken == len(first.data):
                self._done(wire.TYPED_ALL)

    @property
    def ending(self) -> bytes:
        """The name of the request that ends the input just now."""
        return self._queue[0].once if self._ending else b""

    def go_on_after_end(self, now: float) -> None:
        """The input has ended."""
        self._ended = True
        if self._ending:
            self._ending = False
            self._done(wire.TYPED_ALL)
            self.go_on(now)

    def raise_fence(self, epoch: int, now: float) -> None:
        """What was allowed under an earlier epoch and is not typed yet never is."""
        if not self._fence.raise_to(epoch):
            return
        late = [one for one in self._queue if one.epoch < epoch and one.once != self.ending]
        for one in late:
            self._queue.remove(one)
            self.deadline = None
            receipt = wire.RECEIPT.pack(one.once, one.taken, wire.TYPED_STALE)
            if one.taken:  # asked for again, its beginning must not be typed twice
                self._remember(one.once, receipt)
            self._receipt(one.asker, receipt)
        if late:
            self.go_on(now)

    def check(self, now: float) -> None:
        """Give up on an input that nobody reads."""
        if self.deadline is not None and now >= self.deadline and self._queue:
            self._done(wire.TYPED_BLOCKED)
            self.go_on(now)

    def _done(self, outcome: int) -> None:
        first = self._queue.popleft()
        self.deadline = None
        self._remember(first.once, wire.RECEIPT.pack(first.once, first.taken, outcome))
        self._receipt(first.asker, self._receipts[first.once])

    def _remember(self, once: bytes, receipt: bytes) -> None:
        self._receipts[once] = receipt
        if len(self._receipts) > _REMEMBERED:
            self._receipts.popitem(last=False)

    def _cut_by_kernel(self, data: bytes) -> bool:
        """Whether a line, with what was typed of it before, is longer than line mode takes."""
        if not self._terminal or self._line_bytes + len(data) <= CANONICAL_LIMIT_BYTES:
            return False
        modes = termios.tcgetattr(self._master)
        if not modes[3] & termios.ICANON:
            return False
        first, *others = _line_ends(modes).split(data)
        return any(length > CANONICAL_LIMIT_BYTES for length in (self._line_bytes + len(first), *map(len, others)))

    def _note_line(self, typed: bytes) -> None:
        """Remember how long the unfinished line is by now."""
        if not self._terminal:
            return
        modes = termios.tcgetattr(self._master)
        if not modes[3] & termios.ICANON:
            self._line_bytes = 0  # a program that reads each key has it
            return
        *ended, last = _line_ends(modes).split(typed)
        self._line_bytes = len(last) if ended else self._line_bytes + len(last)

    def _hung_up(self) -> bool:
        """Whether nobody holds the terminal any more; the kernel would still take what is written."""
        poll = select.poll()
        poll.register(self._master, 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _line_ends(modes: list[Any]) -> re.Pattern[bytes]:
    """What ends a line in line mode, or takes it back."""
    keys = [termios.VEOF, termios.VKILL]
    if modes[3] & termios.ISIG and not modes[3] & termios.NOFLSH:
        keys += [termios.VINTR, termios.VQUIT]
    return re.compile(b"[\r\n%s]" % b"".join(re.escape(modes[6][key]) for key in keys))
