"""One command in a live shell, followed by its marks. Pure: pieces of output in, the end out.

P;k;status   a prompt is about to be shown, the k-th
B;id;…       our line was run
C;id         the next byte is the command's
D;id;status  the byte before was its last
A;id         what follows is the prompt's, unless D comes yet
"""

from __future__ import annotations

from dataclasses import dataclass

from orchctl.core.marks import Mark

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

    def __init__(self, exec_id: str, prompts: int) -> None:
        self._id = exec_id
        self._prompts = prompts
        self.began_at: int | None = None  # the end of B
        self.output_at: int | None = None  # the end of C
        self.prompt_at: int | None = None  # the start of A
        self.dropped = False  # a prompt came, and our line had not been run

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
            if self.began_at is None:
                self.dropped = True
            else:  # it never came to its own end, so it was cancelled: 0 is no answer then
                return self._end(_number(mark, 1) or INTERRUPTED, "prompt", self.prompt_at or mark.start)
        return None

    def _end(self, code: int, completion: str, end: int) -> End:
        ran = self.output_at is not None
        start = self.output_at if self.output_at is not None else self.began_at
        return End(code & 255, completion, start or 0, end, ran)


def _number(mark: Mark, index: int) -> int:
    try:
        return int(mark.args[index])
    except (IndexError, ValueError):
        return 0
