"""Whether a session's shell waits for a command: by its marks, by what was typed, and by the kernel."""

from __future__ import annotations

import asyncio
import os
import termios
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchctl.core.marks import Mark, MarkScanner, whole_marks
from orchctl.errors import Conflict

if TYPE_CHECKING:
    from orchctl.supervisor.running import Running
    from orchctl.supervisor.session import SupervisedSession

LOOK_BACK_BYTES = (1 << 11, 1 << 14, 1 << 18, 1 << 22)  # the last mark is near the end, as a rule
SETTLE_S = 0.5  # what was just typed may be about to be done
RETURN_S = 10.0  # after a command's end the prompt is on its way, however slow it is to draw
LOOK_AGAIN_S = 0.02
STILL_LOOKS = 8  # without a prompt mark: the shell is seen to read the terminal so many times running
UNMARKED_LOOK_S = 0.2
UNMARKED_LOOKS = 4
_OTHER_MAPPINGS = termios.OCRNL | termios.ONOCR | termios.ONLRET | termios.TABDLY


@dataclass(frozen=True, slots=True)
class Place:
    """A look at the prompt."""

    ready: bool
    reason: str
    returning: bool
    reading: bool
    prompts: int
    offset: int
    cwd: str | None
    newlines: str
    flags: str


class Prompt:
    """Of one session whose shell makes marks."""

    def __init__(self, session: SupervisedSession) -> None:
        self._session = session

    async def first(self) -> None:
        """Until the shell has shown its first prompt; from then on the session is live."""
        log = self._session.open_log()
        offset = max(log.first, self._session.run.start_offset)
        scanner = MarkScanner(self._session.spec.nonce, offset)
        try:
            while not (self._session.run.prompted_once or self._session.closed or self._session.pair.gone.is_set()):
                ticket = self._session.news.ticket
                data = log.read(offset)
                offset += len(data)
                if any(isinstance(piece, Mark) and piece.kind == "P" for piece in scanner.feed(data)):
                    self._session.prompted()
                    return
                if not data and (gap := log.gap(offset)) is not None:
                    offset = gap.end
                    scanner = MarkScanner(self._session.spec.nonce, offset)
                    continue
                if not data:
                    self._session.pair.watch(offset)
                    await ticket.wait()
        finally:
            log.close()

    async def wait(self, running: Running) -> Place:
        """Until the shell waits for a command; `not-at-prompt` when it does something else instead."""
        asked = running.asked
        began = returned = time.monotonic()
        patience_s = asked.wait_prompt_s or 0.0
        still = 0
        while True:
            ticket = self._session.news.ticket
            if self._session.closed:
                raise Conflict("the session has ended", code="session-ended")
            if running.left_at is not None and time.monotonic() >= running.left_at:
                raise Conflict("the caller is gone", code="caller-gone")
            place = await self.look()
            still = still + 1 if place.reading and place.returning else 0
            if place.ready or still >= STILL_LOOKS:
                return place
            starting = self._session.run.started_at is not None and not self._session.run.prompted_once
            now = time.monotonic()
            if place.returning:
                returned = now  # the next look may see the prompt's mark and a terminal of a moment before
            late = now - began > RETURN_S if place.returning else now - returned > SETTLE_S
            if late and now - began > patience_s and not (starting and asked.wait_prompt_s is None):
                raise Conflict(place.reason, code="not-at-prompt")
            self._session.pair.watch(place.offset)
            try:
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await ticket.wait()
            except TimeoutError:
                pass

    async def unmarked(self, running: Running) -> bool:
        """Whether the shell waits at a line editor's prompt though the command has not ended by its marks.

        Only its line editor waits in this way, with the terminal out of line mode; it is believed after
        several looks over a second, in which nothing was written.
        """
        now = time.monotonic()
        if now < running.look_at:
            return False
        running.look_at = now + UNMARKED_LOOK_S
        try:
            seen = await self._session.pair.look()
        except Conflict:
            return False
        waits = seen["reading"] and not seen["local"] & termios.ICANON and running.safe_offset == running.still_offset
        running.still = running.still + 1 if waits else 0
        running.still_offset = running.safe_offset
        return running.still >= UNMARKED_LOOKS

    async def look(self) -> Place:
        """One look, at the log and at the terminal."""
        seen = await self._session.pair.look()
        end, marks = self._read_marks()
        last = marks[-1] if marks else None
        if last is not None and last.kind == "P" and seen["front"] != seen["child"]:
            seen = await self._session.pair.look()  # what is in front may have been so before the mark was made
        prompt = next((mark for mark in reversed(marks) if mark.kind == "P"), None)
        own = seen["front"] == seen["child"]
        untouched = last is not None and last.kind == "P" and last.start >= seen["typed_at"]
        reason = _reason(seen, own=own, touched=last is not None and not untouched)
        return Place(
            ready=own and untouched,
            reason=reason,
            returning=last is not None and last.kind in ("A", "B", "C", "D"),
            reading=bool(seen["reading"]),
            prompts=int(prompt.args[0]) if prompt and prompt.args and prompt.args[0].isdigit() else 0,
            offset=end,
            cwd=seen["cwd"],
            newlines=newline_mapping(seen),
            flags=prompt.args[2] if prompt and len(prompt.args) > 2 else "",
        )

    def _read_marks(self) -> tuple[int, list[Mark]]:
        """Where the log ends, and the marks before that."""
        log = self._session.open_log()
        try:
            end = log.end
            return end, self._last_marks(log, end)
        finally:
            log.close()

    def _last_marks(self, log: Any, end: int) -> list[Mark]:
        first = max(log.first, self._session.run.start_offset)
        for back in LOOK_BACK_BYTES:
            start = max(first, end - back)
            marks = whole_marks(self._session.spec.nonce, log.span(start, end), start)
            if any(mark.kind == "P" for mark in marks) or start == first:
                return marks
        return marks


def _reason(seen: dict[str, Any], *, own: bool, touched: bool) -> str:
    if not own:
        return f"{seen['name'] or 'another program'} is in front, not the shell; nothing was typed"
    if touched and seen["reading"]:
        return "something is typed at the prompt already; nothing was added to it"
    return "the shell is not at its prompt; nothing was typed"


def newline_mapping(seen: dict[str, Any]) -> str:
    """`mapped` while the terminal makes \\r\\n of \\n and nothing else."""
    modes = seen["output"]
    maps = modes & termios.OPOST and modes & termios.ONLCR and not modes & _OTHER_MAPPINGS
    return "mapped" if maps else "raw"


def ticks() -> int:
    """Clock ticks since boot, as /proc counts them."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
