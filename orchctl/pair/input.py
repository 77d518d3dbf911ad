"""Input on its way into a terminal: in order, each once, and never silently cut.

What waits and what was answered is in memory that both processes of a pair share (`inputs.py`), so that the next mover
goes on where a killed one stopped.
"""

from __future__ import annotations

import re
import select
import termios
from collections import deque
from collections.abc import Callable
from typing import Any

from orchctl.pair import wire
from orchctl.pair.feed import Feed
from orchctl.pair.input_queue import REMEMBERED, Input, Inputs
from orchctl.pair.shared import Fence, Pair

PATIENCE_S = 5.0  # a program that takes no byte for so long does not read its input
CANONICAL_LIMIT_BYTES = 4095  # the kernel cuts longer lines without a word


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
        inputs: Inputs | None = None,
        pipe: int = -1,
    ) -> None:
        self._master = master
        self._terminal = terminal  # a pipe has no lines that could be too long
        self._receipt = receipt
        self._noted = noted  # told what is about to be typed; not a terminal's answers
        self._fence = fence or Fence()
        self._inputs = inputs or Inputs()
        waiting, self._receipts = self._inputs.restore()
        self._queue = deque(waiting)
        self._feed = Feed(master, pipe, self._inputs)
        self._feed.resume(waiting[0] if waiting else None)
        self._end = end  # has the input ended; `go_on_after_end` is called when it is
        self._ending = False
        self._ended = ended
        self.deadline: float | None = None
        if waiting and waiting[0].doubt:
            self._done(wire.TYPED_MAYBE)

    @classmethod
    def of(
        cls,
        shared: Pair,
        receipt: Callable[[int, bytes], None],
        end: Callable[[], None],
        noted: Callable[[bytes], None],
    ) -> Typist:
        """For one session's program."""
        return cls(
            shared.master,
            receipt,
            terminal=shared.terminal,
            fence=Fence(shared),
            end=end,
            ended=not shared.input_open,
            noted=noted,
            inputs=shared.inputs,
            pipe=shared.feed,
        )

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
        self._queue.append(Input(asker, once, data, epoch, end))
        self._inputs.begin(self._queue[-1])
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
            try:
                self._type(first)
            except BlockingIOError:
                self.deadline = self.deadline or now + PATIENCE_S
                return
            except OSError:  # it is no longer a terminal that takes input
                self._done(wire.TYPED_BLOCKED)
                continue
            self.deadline = now + PATIENCE_S
            if first.taken == len(first.data):
                self._done(wire.TYPED_ALL)

    def _type(self, first: Input) -> None:
        if not first.data:
            return
        piece = self._feed.stage(first)
        if not first.once.startswith(wire.ANSWER):
            self._noted(piece)
        taken = self._feed.push(first)
        self._note_line(first.data[first.taken - taken : first.taken])

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
            under_way = one is self._queue[0]
            self._queue.remove(one)
            self.deadline = None
            receipt = wire.RECEIPT.pack(one.once, one.taken, wire.TYPED_STALE)
            if one.taken:  # asked for again, its beginning must not be typed twice
                self._inputs.finish(one, wire.TYPED_STALE)
                self._remember(one.once, receipt)
            else:
                self._inputs.forget(one)
            if under_way:
                self._feed.drop()
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
        self._inputs.finish(first, outcome)
        self._feed.drop()
        self._remember(first.once, wire.RECEIPT.pack(first.once, first.taken, outcome))
        if first.asker >= 0:  # else nobody has asked since the last mover died
            self._receipt(first.asker, self._receipts[first.once])

    def _remember(self, once: bytes, receipt: bytes) -> None:
        self._receipts[once] = receipt
        if len(self._receipts) > REMEMBERED:
            self._inputs.forget_receipt(self._receipts.popitem(last=False)[0])

    def _cut_by_kernel(self, data: bytes) -> bool:
        """Whether a line, with what was typed of it before, is longer than line mode takes."""
        if not self._terminal or self._inputs.line_bytes + len(data) <= CANONICAL_LIMIT_BYTES:
            return False
        modes = termios.tcgetattr(self._master)
        if not modes[3] & termios.ICANON:
            return False
        first, *others = _line_ends(modes).split(data)
        return any(
            length > CANONICAL_LIMIT_BYTES for length in (self._inputs.line_bytes + len(first), *map(len, others))
        )

    def _note_line(self, typed: bytes) -> None:
        """Remember how long the unfinished line is by now."""
        if not self._terminal:
            return
        modes = termios.tcgetattr(self._master)
        if not modes[3] & termios.ICANON:
            self._inputs.line_bytes = 0  # a program that reads each key has it
            return
        *ended, last = _line_ends(modes).split(typed)
        self._inputs.line_bytes = len(last) if ended else self._inputs.line_bytes + len(last)

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
