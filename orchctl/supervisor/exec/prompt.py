"""Whether a session's shell waits for a command: by its marks, by what was typed, and by the kernel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from orchctl.errors import Conflict
from orchctl.lazy_dataclass import dataclass
from orchctl.log.reader import OutputLog
from orchctl.pair import wire
from orchctl.shell.base import Shell
from orchctl.shell.marks import Aftermath, Mark, MarkScanner, at_prompt, whole_marks
from orchctl.supervisor.change import set_within
from orchctl.supervisor.exec.running import Running, ShellSession
from orchctl.supervisor.pair import PairLink
from orchctl.terminal.replay import answers

TAIL_BYTES = 4096  # a question that lies further back was given up


def nobody() -> int | None:
    """No viewer has a terminal of its own that answers."""
    return None


class Playing:
    """Of one session."""

    def __init__(self, pair: PairLink, *, at_prompt: bool, attended_from: Callable[[], int | None] = nobody) -> None:
        self._pair = pair
        self._at_prompt = at_prompt  # the shell's own line editor asks, and takes the answer
        self._attended_from = attended_from  # the byte from which on a viewer's terminal answers
        self._answered = 0
        self.asked = False  # something that is not answered yet

    async def play(self, log: OutputLog, start: int, last: Mark | None, seen: dict[str, Any]) -> None:
        """Answer what was asked since the `last` mark, or since the shell's `start` if there is none yet."""
        since = last.end if last is not None else start
        self.asked = False
        if seen["typed_at"] > since:
            return
        if last is not None and last.kind not in (("A", "D", "P") if self._at_prompt else ("A", "D")):
            return
        begin = max(since, self._answered, log.end - TAIL_BYTES)
        attended_from = self._attended_from()
        for offset, answer in answers(log.span(begin, log.end), begin):
            if attended_from is not None and offset > attended_from:
                return
            if seen["local"] & termios.ICANON:
                self.asked = True  # whoever asks may be about to leave line mode
                return
            self._answered = offset
            await self._pair.type(wire.ANSWER + offset.to_bytes(8, "big"), answer)


LOOK_BACK_BYTES = (1 << 11, 1 << 14, 1 << 18, 1 << 22)  # the last mark is near the end, as a rule
SETTLE_S = 0.5  # what was just typed may be about to be done
START_S = 10.0  # a shell that is not at its prompt by then may never be, and its start can be interrupted
RETURN_S = 10.0  # after a command's end the prompt is on its way, however slow it is to draw
FIRST_LOOK_S, LOOK_AGAIN_S = 0.001, 0.02  # the kernel tells nobody who is in front: it is looked at again and again
STARTING_LOOK_S = 0.25  # a shell that starts makes a mark when it is there
DRAWING_S = 10.0  # a prompt that takes longer to draw may be none: a command can run the prompt's hook by hand
UNEDITED_S = 2.0  # a cancelled command's shell that reads the terminal in line mode is at its prompt by then
STILL_LOOKS = 8  # without a prompt mark: the shell is seen to read the terminal so many times running
UNMARKED_LOOK_S = 0.2
UNMARKED_LOOKS = 4
LOCKED_LOOKS = 5
OPEN_LOOKS = 3
_OTHER_MAPPINGS = termios.OCRNL | termios.ONOCR | termios.ONLRET


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
    last: str  # the kind of the last mark
    ahead: bool  # lines were typed that may have been taken after the prompt was made
    inputs: int  # how many had been sent to the pair before the look
    aftermath: Aftermath


class Prompt:
    """Of one session whose shell makes marks."""

    def __init__(self, session: ShellSession, shell: Shell) -> None:
        self._session = session
        self._shell = shell
        # where the last prompt with an empty line was made, and how many lines had been typed by then
        self._empty_at: tuple[int, int] | None = None
        self.last_end = 0  # where the output of the last command ended
        self._name = session.spec.name or session.spec.id
        self._cut_short = False  # its start was interrupted: its marks may be missing, and the kernel's word is enough
        self._playing = Playing(
            session.pair, at_prompt=shell.asks_at_prompt, attended_from=session.leases.answered_from
        )

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
                if answers(data, offset) or self._playing.asked:
                    await self.play()
                if not data and (gap := log.gap(offset)) is not None:
                    offset = gap.end
                    scanner = MarkScanner(self._session.spec.nonce, offset)
                    continue
                if not data:
                    self._session.pair.watch(offset)
                    await set_within(ticket, LOOK_AGAIN_S if self._playing.asked else None)
        finally:
            log.close()

    async def comes_up(self) -> bool:
        """Whether a shell that starts shows its first prompt in time.

        Until then it is not to be interrupted: it would not come to what makes its marks.
        """
        run, now = self._session.run, time.monotonic()
        until = now + START_S - min(START_S, max(0.0, time.time() - (run.started_at or time.time())))
        while not (run.prompted_once or self._session.closed or self._session.pair.gone.is_set()):
            ticket, left_s = self._session.news.ticket, until - time.monotonic()
            if left_s <= 0:
                self._cut_short = True
                return False
            await set_within(ticket, left_s)
        return True

    async def wait(self, running: Running) -> Place:
        """Until the shell waits for a command; `not-at-prompt` when it does something else instead."""
        asked = running.asked
        began = returned = time.monotonic()
        patience_s = asked.wait_prompt_s or 0.0
        still, pause_s = 0, FIRST_LOOK_S
        while True:
            ticket = self._session.news.ticket
            if self._session.closed:
                raise Conflict("the session has ended", code="session-ended")
            running.check_wanted()
            place = await self.look()
            running.waits_for = place.reason
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
            longest_s = STARTING_LOOK_S if starting else LOOK_AGAIN_S
            pause_s = FIRST_LOOK_S if await set_within(ticket, pause_s) else min(longest_s, 2 * pause_s)

    async def unmarked(self, running: Running) -> bool:
        """Whether the shell waits at a line editor's prompt though the command has not ended by its marks.

        Only its line editor waits in this way, with the terminal out of line mode; a shell without one has closed the
        command's file by then. It is believed after several looks over a second, in which nothing was written.
        """
        now = time.monotonic()
        if now < running.look_at:
            return False
        running.look_at = now + UNMARKED_LOOK_S
        try:
            seen = await self._session.pair.look()
        except Conflict:
            return False
        left = not self._is_open(running) if not self._shell.edits_lines else not seen["local"] & termios.ICANON
        waits = seen["reading"] and left and running.safe_offset == running.still_offset
        running.still = running.still + 1 if waits else 0
        running.still_offset = running.safe_offset
        return running.still >= UNMARKED_LOOKS

    def is_locked_up(self, running: Running) -> bool:
        """Whether the shell waits for a lock that nobody can give back, since it was interrupted.

        A shell that jumps out of a signal's handler may take the lock of an allocation along, as busybox does.
        """
        pid = self._session.run.pid
        locked = running.signalled and pid is not None and waits_for_itself(pid) and self._is_open(running)
        running.locked = running.locked + 1 if locked else 0
        return running.locked >= LOCKED_LOOKS

    async def play(self) -> None:
        """Have answered what the shell asks of its terminal on its way to a prompt."""
        with contextlib.suppress(Conflict):  # the session ended meanwhile
            await self.look()

    async def settled(self) -> Place:
        """One look; several where lines that were typed ahead may still be on their way into the shell."""
        for _ in range(STILL_LOOKS):
            place = await self.look()
            if place.ready or not (place.ahead and place.reading):
                return place
            await asyncio.sleep(LOOK_AGAIN_S)
        return replace(place, ready=True)

    async def is_lost(self, running: Running, offset: int) -> bool:
        """Whether a line that was typed will not be run: the shell waits at a prompt, and nothing is left to read."""
        with contextlib.suppress(Conflict):
            place = await self.look()
            waits = place.last == "P" and place.reading and place.offset == offset
            running.lost = running.lost + 1 if waits else 0
            if running.lost >= STILL_LOOKS:
                running.lost, running.inputs = 0, place.inputs
                return True
        return False

    def is_back(self, running: Running, seen: dict[str, Any], *, followed: bool) -> bool:
        """Whether the shell is at its prompt again after the end that a command's marks tell.

        In its line editor the terminal is out of line mode, and a shell that reads a command's file as it goes has
        closed it. For a command's own end a prompt's mark behind it will do too, while the shell reads the terminal.
        """
        own = seen["front"] == seen["child"]
        edits = self._shell.edits_lines
        strong = own and (not edits or not seen["local"] & termios.ICANON)
        running.back = running.back + 1 if own and (strong or seen["reading"] or followed) else 0
        if running.told is not None and running.told.completion == "marks":
            late = time.monotonic() > running.told_at + RETURN_S
            back = strong or running.back >= STILL_LOOKS or (own and (late or (followed and seen["reading"])))
        elif strong:
            back = seen["reading"] or running.back >= STILL_LOOKS
        else:
            back = own and seen["reading"] and time.monotonic() > running.told_at + UNEDITED_S
        return bool(back) and not self._is_open(running)

    def has_left(self, running: Running) -> bool:
        """Whether the shell had the command's file open, and has it no more: then it is on its way to its prompt."""
        is_open = self._is_open(running)
        running.file_seen = running.file_seen or is_open
        return running.file_seen and not is_open

    def _is_open(self, running: Running) -> bool:
        """Whether the shell has a file of the command open; most shells read it as they go."""
        pid, name = self._session.run.pid, running.asked.exec_id
        for _ in range(OPEN_LOOKS):
            with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
                return any(os.readlink(entry.path).endswith(name) for entry in entries)
        return True  # each time it closed one meanwhile, and that may have been it

    async def look(self) -> Place:
        """One look, at the log and at the terminal; what the shell asks of its terminal meanwhile is answered."""
        inputs = self._session.pair.inputs
        seen = await self._session.pair.look()
        log = self._session.open_log()
        try:
            end = log.end
            marks = self._last_marks(log, end)
            last = marks[-1] if marks else None
            if last is not None and last.kind == "P" and not _at_rest(seen):
                seen = await self._session.pair.look()  # all of this may have been so before the mark was made
            await self._playing.play(log, self._session.run.start_offset, last, seen)
            return self._place(log, end, marks, seen, inputs)
        finally:
            log.close()

    def _place(self, log: OutputLog, end: int, marks: list[Mark], seen: dict[str, Any], inputs: int) -> Place:
        last = marks[-1] if marks else None
        prompt = next((mark for mark in reversed(marks) if mark.kind == "P"), None)
        own = seen["front"] == seen["child"]
        number = int(prompt.args[0]) if prompt and prompt.args and prompt.args[0].isdigit() else 0
        untouched = last is not None and last.kind == "P" and last.start >= seen["typed_at"]
        if untouched and self._drawn_before(log, marks, seen["typed_at"]):
            untouched = False
        empty = untouched and last is not None and self._line_is_empty(log, last, seen)
        ahead = untouched and not empty and not seen.get("open", False)
        if own and empty and last is not None:
            self._empty_at = (last.end, seen.get("lines", 0))
        unseen = own and last is None and self._left_alone(seen)
        reason = _reason(seen, self._name, own=own, touched=last is not None and not empty)
        return Place(
            ready=own and empty,
            reason=reason,
            returning=unseen or ahead or (last is not None and last.kind in ("A", "B", "C", "D")),
            reading=self._reads(seen),
            prompts=number,
            offset=end,
            last=last.kind if last is not None else "",
            ahead=ahead,
            inputs=inputs,
            cwd=seen["cwd"],
            newlines=newline_mapping(seen),
            flags=prompt.args[2] if prompt and len(prompt.args) > 2 else "",
            aftermath=at_prompt(marks) if own and untouched else Aftermath(),
        )

    def _line_is_empty(self, log: OutputLog, prompt: Mark, seen: dict[str, Any]) -> bool:
        """Whether the line at a prompt that was made after the last input is empty: what is typed ahead is read later.

        It is where all input had been taken before the prompt was made; or else, where the last line has its end, if
        there were as many prompts as lines since the line was last known to be empty. A pair of an older version tells
        only where the last input fell.
        """
        if "taken_at" not in seen:
            return True
        if seen["taken_at"] is not None and prompt.start >= seen["taken_at"]:
            return True
        if seen["open"] or seen["readable"] or self._empty_at is None:
            return False
        since, lines = self._empty_at
        if prompt.end - since > LOOK_BACK_BYTES[-1]:
            return False
        marks = whole_marks(self._session.spec.nonce, log.span(since, prompt.end), since)
        numbers = {mark.args[:1] for mark in marks if mark.kind == "P"}  # one that is drawn again has the same
        return bool(len(numbers) >= seen["lines"] - lines)

    def _reads(self, seen: dict[str, Any]) -> bool:
        """Whether the shell itself waits for input, and there is none; its editor's mode tells it too."""
        own = seen["front"] == seen["child"]
        editing = self._shell.edits_lines and not seen["local"] & termios.ICANON
        return bool(own and (seen["reading"] or editing) and not seen.get("readable", False))

    def _left_alone(self, seen: dict[str, Any]) -> bool:
        """Whether nobody typed since the last command ended. The mark of its prompt is gone with old output, or far
        behind what others have written since, and the kernel's word is enough.
        """
        if not self._session.run.prompted_once:
            return self._cut_short and not (seen["typed_at"] or seen.get("lines") or seen.get("open"))
        return bool(seen["typed_at"] <= self.last_end)

    def _drawn_before(self, log: OutputLog, marks: list[Mark], typed_at: int) -> bool:
        """Whether the last mark is that of a prompt which was drawn again after something was typed at it."""
        start = max(0, typed_at - LOOK_BACK_BYTES[1])
        before = whole_marks(self._session.spec.nonce, log.span(start, typed_at), start) if typed_at else []
        since = [mark for mark in marks if mark.start >= typed_at]
        return bool(before) and all((mark.kind, mark.args[:1]) == ("P", before[-1].args[:1]) for mark in since)

    def _last_marks(self, log: OutputLog, end: int) -> list[Mark]:
        first = max(log.first, self._session.run.start_offset)
        for back in LOOK_BACK_BYTES:
            start = max(first, end - back)
            marks = [
                mark
                for mark in whole_marks(self._session.spec.nonce, log.span(start, end), start)
                if mark.kind != "P"
                or "".join(mark.args[:1]).isdigit()  # a prompt that is printed as it is written is none
            ]
            if any(mark.kind == "P" for mark in marks) or start == first:
                return marks
        return marks


def _at_rest(seen: dict[str, Any]) -> bool:
    """Whether nothing of a terminal speaks against a shell that is at its prompt."""
    return bool(seen["front"] == seen["child"]) and newline_mapping(seen) == "mapped"


def _reason(seen: dict[str, Any], name: str, *, own: bool, touched: bool) -> str:
    if not own:
        return f"{seen['name'] or 'another program'} is in front, not the shell; nothing was typed"
    if touched and seen["reading"]:
        keys = "--key C-u --key Enter" if seen["local"] & termios.ICANON else "--key C-c"  # no editor gives up its line
        return (
            f"something is typed at the prompt already; nothing was added to it. Clear it: orchctl send {name} {keys}"
        )
    return "the shell is not at its prompt; nothing was typed"


def newline_mapping(seen: dict[str, Any]) -> str:
    """`mapped` while the terminal makes \\r\\n of \\n and nothing else."""
    modes = seen["output"]
    maps = modes & termios.OPOST and modes & termios.ONLCR and not modes & _OTHER_MAPPINGS
    return "mapped" if maps else "raw"


def waits_for_itself(pid: int) -> bool:
    """Whether a process has one thread, and that sleeps until another one wakes it."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            return file.read().startswith("futex") and len(os.listdir(f"/proc/{pid}/task")) == 1
    except OSError:
        return False


def ticks() -> int:
    """Clock ticks since boot, as /proc counts them."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
