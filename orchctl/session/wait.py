"""Waiting: whether a session waits for input, and what can be waited for. Pure.

`reads`, `polls`, `watches`, `no` and `unknown` are what the kernel says of a session's processes; what each of
them means is written where it is found out, in the keeper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchctl.errors import BadInput
from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import State, Waiting

ICANON, ECHO = 2, 8  # local modes of a terminal, as Linux numbers them
CONDITIONS = ("exit", "command", "prompt", "input", "quiet")  # those without a value
HARNESS_CONDITIONS = ("turn", "needs-input")
STATE, OUTPUT = "state=", "output="
WAITS = (Waiting.YES, Waiting.PASSWORD, Waiting.PROMPT)
FIRST_LOOK_S, SLOWEST_LOOK_S = 0.01, 0.5


@dataclass(frozen=True, slots=True)
class Sight:
    """What the kernel says, whether of the session's own program, and the terminal's local modes if it has one."""

    kernel: str = "unknown"
    own: bool = False
    local: int | None = None


def decide(sight: Sight, *, prompt: bool) -> Waiting:
    """Whether it waits for input; `prompt` says that by its marks its shell is at one. Never a guess."""
    waits = sight.kernel in ("reads", "polls")
    if prompt and (sight.kernel == "unknown" or (sight.own and (waits or sight.kernel == "watches"))):
        return Waiting.PROMPT
    if waits:
        hidden = sight.local is not None and sight.local & ICANON and not sight.local & ECHO
        return Waiting.PASSWORD if hidden else Waiting.YES
    line_mode = sight.local is None or sight.local & ICANON
    # Out of line mode somebody else may read the terminal: it is handed on by programs such as tmux.
    return Waiting.NO if sight.kernel == "no" and line_mode else Waiting.UNKNOWN


def check(conditions: Sequence[str]) -> None:
    """Refuse what cannot be waited for."""
    if not conditions:
        raise BadInput("there is nothing to wait for", code="bad-condition")
    for one in conditions:
        if one.startswith(OUTPUT):
            compile_pattern(one.removeprefix(OUTPUT))
        elif one.startswith(STATE):
            _check_state(one.removeprefix(STATE))
        elif one not in (*CONDITIONS, *HARNESS_CONDITIONS):
            raise BadInput(
                f"{one!r} is none of exit, command, prompt, input, quiet[=2s], turn, needs-input, state=STATE and "
                "output=REGEX",
                code="bad-condition",
            )


def _check_state(name: str) -> None:
    if name not in list(State):
        raise BadInput(f"{name!r} is none of {', '.join(State)}", code="bad-state")


def compile_pattern(text: str) -> re.Pattern[bytes]:
    """A regular expression for output: `^` and `$` are the ends of lines."""
    try:
        return re.compile(text.encode("utf-8", "surrogateescape"), re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"{text!r} is not a regular expression: {error}", code="bad-pattern") from None


def next_look_s(last_s: float) -> float:
    """When to look again at what gives no event: soon at first, then ever more seldom."""
    return min(SLOWEST_LOOK_S, last_s * 2) if last_s else FIRST_LOOK_S
