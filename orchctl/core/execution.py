"""One command in a live shell, followed by its marks. Pure: pieces of output in, the end out.

P;k;status   a prompt is about to be shown, the k-th; some shells add their option letters, the status of the last
             command if it came to its end, and its id, because it may not have been able to say so itself
B;id;…       our line was run
C;id         the next byte is the command's
D;id;status  the byte before was its last
A;id         what follows is the prompt's, unless D comes yet
"""

from __future__ import annotations

from collections.abc import Callable

from orchctl.core.marks import Mark
from orchctl.model.lazily import dataclass

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended, and where its output lies."""

    exit_code: int
    completion: str
    start: int
    end: int
    ran: bool


class Execution:
    """Knows where the command's output begins, and whether it has ended."""

    def __init__(
        self,
        exec_id: str,
        prompts: int,
        exit_code: Callable[[int], int] = lambda status: status & 255,
        lead_bytes: int = 0,
    ) -> None:
        self._id = exec_id
        self._exit_code = exit_code
        self._lead_bytes = lead_bytes  # that the shell draws before the mark in its prompt
        self._prompts = prompts
        self.began_at: int | None = None  # the end of B
        self.output_at: int | None = None  # the end of C
        self.prompt_at: int | None = None  # the start of A
        self.dropped = False  # a prompt came, and our line had not been run
        self.unheard = False  # it had been run, but could make no marks

    def take(self, mark: Mark) -> End | None:
        """What a mark means for this command; marks of others, and replays of old ones, mean nothing."""
        own = mark.args[:1] == (self._id,)
        if mark.kind == "B" and own and self.began_at is None:
            self.began_at = mark.end
        elif mark.kind == "C" and own and self.output_at is None:
            self.output_at = mark.end
        elif mark.kind == "A" and own and self.began_at is not None:
            self.prompt_at = mark.start
        elif mark.kind == "D" and own and self.began_at is not None:
            return self._end(_number(mark, 1), "marks", mark.start)
        elif mark.kind == "P" and _number(mark, 0) > self._prompts:
            self._prompts = _number(mark, 0)
            if self.began_at is None and mark.args[4:5] == (self._id,):
                self.unheard = True
            elif self.began_at is None:
                self.dropped = True
            elif mark.args[3:4] not in ((), ("",)):
                return self._end(_number(mark, 3), "marks", mark.start - self._lead_bytes)
            else:  # it never came to its own end, so it was cancelled: 0 is no answer then
                drawn_at = self.prompt_at or mark.start - self._lead_bytes
                return self._end(_number(mark, 1) or INTERRUPTED, "prompt", drawn_at)
        return None

    def _end(self, code: int, completion: str, end: int) -> End:
        ran = self.output_at is not None
        start = self.output_at if self.output_at is not None else self.began_at
        return End(self._exit_code(code), completion, start or 0, end, ran)


def _number(mark: Mark, index: int) -> int:
    try:
        return int(mark.args[index])
    except (IndexError, ValueError):
        return 0
