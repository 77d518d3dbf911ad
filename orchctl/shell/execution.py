"""One command in a live shell, followed by its marks. Pure: pieces of output in, the end out.

P;k;status   a prompt is about to be shown, the k-th; some shells add their option letters, the status of the last
             command if it came to its end, and its id, because it may not have been able to say so itself;
             the statuses of a pipe's parts, and the length and the letters of the last word.
             `=` for the status of the last command: it is the one that the prompt tells
B;id;…       our line was run; so says C where there is no B
C;id         the next byte is the command's; with `=` behind it the end is told by the prompt alone, and D by others
D;id;status  the byte before was its last; some add the length and the letters of its last word, and statuses
A;id         what follows is the prompt's, unless D comes yet; without an id it has a number, as P does

    state      mark                      next      effect
    TYPED      B or C of this id         BEGUN     from C on, bytes are the command's
    TYPED      P with a higher number    DROPPED   the line was not run, or (P names this id) could make no marks
    BEGUN      A, own or the next one    BEGUN     what follows is the prompt's, if the command ends so
    BEGUN      D of this id              ENDED     status and end of the output, by the command's own word
    BEGUN      P that names this id      ENDED     the same, told by the prompt because the command could not
    BEGUN      any other higher P        ENDED     cancelled: the prompt's status, never 0
    any        of another id, or older   the same  a replay means nothing

Marks can be made by a command itself: it may run the prompt's hook by hand, or print a log. So an end is one to be
confirmed by the kernel, which tells whether the shell is at its prompt; until then the marks that follow may tell
another (`Ending`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from orchctl.lazy_dataclass import dataclass
from orchctl.shell.marks import Mark, statuses

AGAIN_S = 0.25  # how often a step is repeated until it works or the next is due
GIVE_UP_S = 5.0  # after KILL: a shell that is not back by then does not come back


class Step(enum.Enum):
    """What to do now."""

    NOTHING = "nothing"
    INTERRUPT = "interrupt"
    TERMINATE = "terminate"
    KILL = "kill"
    GIVE_UP = "give-up"


@dataclass(slots=True)
class Escalation:
    """From `begin` on; before it, nothing is due."""

    begins_at: float | None
    kill_after_s: float
    _next_at: float = 0.0
    _taken: int = -1

    @property
    def begun(self) -> bool:
        """Whether a step was taken."""
        return self._taken >= 0

    def begin(self, now: float) -> None:
        """Start now, if it was to start later or never."""
        if self.begins_at is None or self.begins_at > now:
            self.begins_at = now

    def wait_s(self, now: float) -> float | None:
        """How long nothing is due."""
        if self.begins_at is None:
            return None
        return max(0.0, max(self.begins_at, self._next_at) - now)

    def due(self, now: float) -> Step:
        """The step to take at `now`; none is left out, however late the question comes."""
        if self.begins_at is None or now < max(self.begins_at, self._next_at):
            return Step.NOTHING
        times = [self.begins_at + after for after in (0.0, self.kill_after_s, 2 * self.kill_after_s)]
        times.append(times[-1] + GIVE_UP_S)
        reached = max(index for index, at in enumerate(times) if now >= at)
        again = self._taken == reached
        self._taken = min(reached, self._taken + 1)
        following = times[self._taken + 1] if self._taken + 1 < len(times) else now + AGAIN_S
        once_more = self._taken == 0 and again  # interrupted twice, a program is given the rest of its time
        self._next_at = max(now, following if once_more else min(now + AGAIN_S, following))
        return _STEPS[self._taken]


_STEPS = (Step.INTERRUPT, Step.TERMINATE, Step.KILL, Step.GIVE_UP)


INTERRUPTED = 130
BY_PROMPT = "="
OWN_STATUS = "="  # what a prompt says that sees the status of the command itself: no line of ours came after it


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended, and where its output lies."""

    exit_code: int
    completion: str
    start: int
    end: int
    ran: bool
    pipestatus: tuple[int, ...] | None = None


class Execution:
    """Knows where the command's output begins, and whether it has ended."""

    def __init__(
        self,
        exec_id: str,
        prompts: int,
        exit_code: Callable[[int], int] = lambda status: status & 255,
        lead_bytes: int = 0,
    ) -> None:
        self._id = exec_id.lower()  # a terminal may change letters
        self._exit_code = exit_code
        self._lead_bytes = lead_bytes  # that the shell draws before the mark in its prompt
        self._prompts = prompts
        self.began_at: int | None = None  # the end of B
        self.output_at: int | None = None  # the end of C
        self.prompt_at: int | None = None  # the start of the first A
        self.dropped_at: int | None = None  # the start of the prompt that says so
        self.dropped = False  # a prompt came, and our line had not been run
        self._by_prompt = False  # no end of its own will come
        self.unheard = False  # it had been run, but could make no marks

    def take(self, mark: Mark) -> End | None:
        """What a mark means for this command; marks of others, and replays of old ones, mean nothing."""
        own = "".join(mark.args[:1]).lower() == self._id
        told = "".join(mark.args[4:5]).lower() == self._id  # a prompt speaks for this command
        if mark.kind == "B" and own and self.began_at is None:
            self.began_at = mark.end
        elif mark.kind == "C" and own and self.output_at is None:
            self.output_at = mark.end
            self._by_prompt = "".join(mark.args[1:2]).startswith(BY_PROMPT)
            self.began_at = mark.end if self.began_at is None else self.began_at
        elif mark.kind == "A" and (own or self._is_next(mark)) and self.began_at is not None:
            self.prompt_at = mark.start if self.prompt_at is None else self.prompt_at
        elif mark.kind == "D" and own and self.began_at is not None and not self._by_prompt:
            return self._end(_number(mark, 1), "marks", mark.start, statuses(mark))
        elif mark.kind == "P" and _number(mark, 0) > self._prompts:
            if self.began_at is None:
                self._prompts = _number(mark, 0)
                self.dropped_at = mark.start - self._lead_bytes
                self.unheard = self.unheard or told
                self.dropped = not self.unheard
            elif mark.args[3:4] not in ((), ("",)) and (told or not mark.args[4:5]):
                return self._end(_number(mark, 3), "marks", mark.start - self._lead_bytes)
            else:  # it never came to its own end, so it was cancelled: 0 is no answer then, unless the prompt says so
                drawn_at = mark.start - self._lead_bytes if self.prompt_at is None else self.prompt_at
                if mark.args[3:4] == (OWN_STATUS,) and self.output_at is not None:
                    return self._end(_number(mark, 1), "prompt", drawn_at, statuses(mark))
                return self._end(_number(mark, 1) or INTERRUPTED, "prompt", drawn_at)
        return None

    def go_on(self) -> None:
        """The prompt that was told was none: what follows is the command's again."""
        self.prompt_at = None

    def _is_next(self, mark: Mark) -> bool:
        """Whether a prompt begins that was not there before."""
        return mark.args[:1] == ("",) and _number(mark, 1) > self._prompts

    def _end(self, code: int, completion: str, end: int, pipestatus: tuple[int, ...] | None = None) -> End:
        ran = self.output_at is not None
        start = self.output_at if self.output_at is not None else self.began_at
        return End(self._exit_code(code), completion, start or 0, end, ran, pipestatus)


class Ending:
    """The end that a command's marks tell, until the shell is seen at its prompt.

    Its own end counts before a prompt, and a later one before an earlier. A prompt that a command made by hand gives
    way to the next; one after an interrupt of ours does not, because a further interrupt makes a further prompt.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._prompt = ""  # the number of the prompt that told it
        self._firm = False  # it followed an interrupt of ours
        self.told: End | None = None
        self.followed = False  # it was followed by the mark of a prompt
        self.sure = False  # at once, by the mark that only a prompt after this command makes
        self._told_until = 0

    def take(self, mark: Mark, *, interrupted: bool) -> None:
        """One mark more; `interrupted`: the command got a signal of ours."""
        end = self._execution.take(mark)
        if end is None or (mark.kind == "P" and self.told is not None and self.told.completion == "marks"):
            if self.told is not None and self.told.completion == "marks" and mark.kind in ("A", "P"):
                self.followed = True
                self.sure = self.sure or (mark.kind == "A" and mark.start == self._told_until)
            return
        if end.completion == "prompt":
            if self.told is not None and (mark.args[0] == self._prompt or self._firm):
                return
            self._execution.go_on()  # the next prompt counts from its own beginning
            self._prompt = mark.args[0]
            self._firm = interrupted and end.exit_code == INTERRUPTED
        self.told, self.followed, self.sure = end, mark.kind == "P", False
        self._told_until = mark.end


def _number(mark: Mark, index: int) -> int:
    try:
        return int(mark.args[index])
    except (IndexError, ValueError):
        return 0
