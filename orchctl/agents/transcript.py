"""From what an agent says to the readable transcript, and to what is worth a record.

Text goes to the transcript and is in no journal. Pieces of reasoning, and of what a tool has printed so far, are
gathered until something else happens, because one record for each would be thousands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import field, replace

from orchctl.lazy_dataclass import dataclass
from orchctl.log.disk import REAL
from orchctl.log.reader import OutputLog
from orchctl.log.time_index import Clockwork
from orchctl.log.writer import SegmentWriter
from orchctl.session import layout
from orchctl.session.events import (
    AgentEvent,
    Answered,
    NeedsInput,
    NotOpened,
    Phase,
    Reasoning,
    Refused,
    Text,
    Tool,
    Trouble,
    TurnEnd,
    TurnEnded,
)

GATHERED = 4096  # characters of pieces that become a record of their own
TITLE = 200


@dataclass(slots=True)
class Taken:
    """What events come to."""

    text: str = ""
    journal: list[AgentEvent] = field(default_factory=list)


@dataclass(slots=True)
class Uptake:
    """Of one conversation. `fresh` and `part` are what the next piece of text depends on; records have them."""

    fresh: bool = True  # the transcript is at the beginning of a line
    part: str = ""  # the message that is being told
    _piece: Reasoning | Tool | None = None

    def take(self, events: Iterable[AgentEvent]) -> Taken:
        """In order."""
        taken = Taken()
        for one in events:
            if not self._gathers(one, taken):
                self._flush(taken)
                taken.text += self._render(one)
                if not isinstance(one, Text):
                    taken.journal.append(one)
        if taken.journal:  # a line that is on record is not heard again: nothing of it may be left
            self._flush(taken)
        return taken

    def flush(self) -> list[AgentEvent]:
        """What was gathered so far; before anything is recorded that nobody heard."""
        taken = Taken()
        self._flush(taken)
        return taken.journal

    def prompt(self, text: str) -> str:
        """What was said to the agent, as the transcript shows it."""
        lines = "".join(f"> {line}\n" for line in text.splitlines() or [""])
        return self._line(lines)

    def gap(self, lost_bytes: int, *, fresh: bool) -> str:
        """That something is missing here, as the transcript shows it."""
        self.fresh = fresh
        return self._line(f"[… {lost_bytes} bytes of what the agent's server said are lost …]\n")

    def _gathers(self, one: AgentEvent, taken: Taken) -> bool:
        """Whether it is a piece that waits for more."""
        before = self._piece
        if isinstance(one, Reasoning):
            if isinstance(before, Reasoning) and before.part == one.part:
                one = replace(one, text=before.text + one.text)
            else:
                self._flush(taken)
            self._piece = one
        elif isinstance(one, Tool) and one.phase is Phase.UPDATED:
            if isinstance(before, Tool) and before.id == one.id:
                one = replace(
                    one,
                    output=before.output + one.output,
                    name=one.name or before.name,
                    title=one.title or before.title,
                    input=one.input or before.input,
                )
            else:
                self._flush(taken)
            self._piece = one
        else:
            return False
        if len(_gathered(self._piece)) >= GATHERED:
            self._flush(taken)
        return True

    def _flush(self, taken: Taken) -> None:
        if self._piece is not None:
            taken.journal.append(self._piece)
            self._piece = None

    def _render(self, one: AgentEvent) -> str:
        if isinstance(one, Text):
            front = "" if one.part == self.part or self.fresh else "\n"
            self.part = one.part
            self.fresh = (front + one.text).endswith("\n") if one.text else self.fresh
            return front + one.text if one.text else ""
        line = _line(one)
        if line is not None or isinstance(one, TurnEnded):
            return self._line(f"[{_one_line(line)}]\n" if line is not None else "")
        return ""

    def _line(self, lines: str) -> str:
        """On lines of their own."""
        front = "" if self.fresh else "\n"
        self.fresh, self.part = True, ""
        return front + lines


def _line(one: AgentEvent) -> str | None:
    """What the transcript says of it."""
    if isinstance(one, Tool):
        return _tool_line(one)
    if isinstance(one, NeedsInput):
        return f"asks: {one.title}{''.join(f' / {choice.label}' for choice in one.choices)}"
    if isinstance(one, Answered):
        return f"answered: {one.reply}" if one.reply else "answered"
    if isinstance(one, TurnEnded) and one.end is not TurnEnd.COMPLETED:
        return f"turn {one.end.value}{': ' + one.error if one.error else ''}"
    if isinstance(one, Trouble | NotOpened | Refused):
        return f"error: {one.message}"
    return None


def _tool_line(one: Tool) -> str | None:
    title = one.title or one.name or one.id
    if one.phase is Phase.STARTED:
        return f"{one.name or 'tool'}: {title}"
    return f"failed: {title}" if one.phase is Phase.FINISHED and one.ok is False else None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TITLE else f"{line[:TITLE]}…"


def _gathered(piece: Reasoning | Tool | None) -> str:
    if piece is None:
        return ""
    return piece.text if isinstance(piece, Reasoning) else piece.output


class Transcript:
    """Of one session, below `folder`."""

    def __init__(self, folder: str, ring_bytes: int, dropped: Callable[[int, int], None]) -> None:
        self._out = f"{folder}/{layout.OUTPUT}"
        self._ring_bytes = ring_bytes
        self._dropped = dropped
        self._writer: SegmentWriter | None = None
        self._times = Clockwork(self._out)
        self.end = 0  # of what has been said, whether it was there before or not

    def go_on(self, end: int, last: str) -> None:
        """The records say that the text ends at `end`, and that `last` is the last of it."""
        writer = self._opened()
        data = last.encode("utf-8", "replace")
        missing = end - writer.end
        self.end = end
        if 0 < missing <= len(data):
            self.end = writer.end
            self.add_bytes(data[-missing:])
        elif missing > 0:  # a power cut has taken more than that: a gap, and the addresses stay right
            writer.close()
            self._writer = None
            os.close(os.open(f"{os.path.dirname(self._out)}/{layout.segment(end)}", os.O_CREAT | os.O_WRONLY, 0o600))

    def add(self, text: str) -> None:
        """At the end."""
        self.add_bytes(text.encode("utf-8", "replace"))

    def add_bytes(self, data: bytes) -> None:
        """What is there already is passed over."""
        writer = self._opened()
        start, self.end = self.end, self.end + len(data)
        data = data[max(0, writer.end - start) :]
        while data:
            writer.make_room()
            self._times.note(writer.end, writer.start)
            data = data[writer.write(data) :]

    @property
    def is_ahead(self) -> bool:
        """Whether there is more than has been said so far, of somebody who is gone."""
        return self._opened().end > self.end

    def go_to_end(self) -> bool:
        """What is said next comes after all that is there; whether that is the beginning of a line."""
        writer = self._opened()
        self.end = max(self.end, writer.end)
        log = OutputLog(os.path.dirname(self._out))
        try:
            return log.read(self.end - 1, 1) in (b"\n", b"")
        finally:
            log.close()

    def hold(self, offset: int | None) -> None:
        """Somebody reads from there."""
        self._opened().needed = offset

    def trim(self, keep_bytes: int) -> None:
        """Drop the oldest."""
        writer = self._opened()
        writer.roll()
        writer.trim(keep_bytes)

    def roll(self) -> None:
        """Go on in another segment."""
        self._opened().roll()

    def close(self) -> None:
        """Let the files go."""
        self._times.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _opened(self) -> SegmentWriter:
        if self._writer is None:
            self._writer = SegmentWriter(REAL, self._out, self._ring_bytes, self._dropped)
        return self._writer
