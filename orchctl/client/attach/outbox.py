"""What was typed and is on its way: in order, one piece at a time, each with a name of its own. Pure.

A piece whose receipt was lost is said again by its name, so that it is typed once. While one is on its way, what is
typed meanwhile gathers into the next.
"""

from __future__ import annotations

from collections import deque

from orchctl.lazy_dataclass import dataclass
from orchctl.terminal.keys import Kind, Typed

PART_BYTES = 1 << 14
LIMIT_BYTES = 1 << 20  # more than that is not read from the keyboard until some is gone


@dataclass(frozen=True, slots=True)
class Letter:
    """One piece; `number` is its name."""

    number: int
    kind: Kind
    data: bytes


class Outbox:
    """Of one person."""

    def __init__(self) -> None:
        self._waiting: deque[Typed] = deque()
        self._waiting_bytes = 0
        self._number = 0
        self._sent: Letter | None = None

    @property
    def full(self) -> bool:
        """Whether nothing more is to be taken now."""
        return self._waiting_bytes >= LIMIT_BYTES

    @property
    def empty(self) -> bool:
        """Whether all of it has arrived."""
        return self._sent is None and not self._waiting

    @property
    def unsent_bytes(self) -> int:
        """How much has not arrived, as far as is known."""
        return self._waiting_bytes + (len(self._sent.data) if self._sent else 0)

    def add(self, typed: Typed) -> None:
        """At the end; together with what is there if it is of the same kind."""
        self._waiting_bytes += len(typed.data)
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.kind is typed.kind and len(last.data) + len(typed.data) <= PART_BYTES:
            self._waiting[-1] = Typed(typed.kind, last.data + typed.data)
            return
        for at in range(0, len(typed.data), PART_BYTES):
            self._waiting.append(Typed(typed.kind, typed.data[at : at + PART_BYTES]))

    def next(self) -> Letter | None:
        """What is to be sent now, if nothing is on its way."""
        if self._sent is not None or not self._waiting:
            return None
        first = self._waiting.popleft()
        self._waiting_bytes -= len(first.data)
        self._number += 1
        self._sent = Letter(self._number, first.kind, first.data)
        return self._sent

    def again(self) -> Letter | None:
        """What was on its way when the line was lost."""
        return self._sent

    def arrived(self) -> Letter | None:
        """What was on its way has arrived, or was refused for good."""
        sent, self._sent = self._sent, None
        return sent
