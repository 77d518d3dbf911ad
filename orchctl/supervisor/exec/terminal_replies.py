"""The terminal's part where no viewer's plays it: some shells ask it something at their prompt and wait for the answer.

Only questions that came since the shell was at a prompt, or on its way to one, are answered, and only while it
reads keys: an answer that comes when a command runs would be the command's input, and one that comes in line mode
would be a part of the next line.
"""

from __future__ import annotations

import termios
from collections.abc import Callable
from typing import Any

from orchctl.log.reader import OutputLog
from orchctl.pair import wire
from orchctl.shell.marks import Mark
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
