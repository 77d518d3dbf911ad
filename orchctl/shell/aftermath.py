"""What a command leaves in its shell for the next: its status, those of the parts of a pipe, and `$_`. Pure.

They are told by marks: `D;id;status;length;word;list` and `P;k;status;flags;;;list`. A list of statuses ends with a
word that is none of them; one that is longer than a mark can hold is not told at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchctl.lazy_dataclass import dataclass
from orchctl.shell.marks import Mark

MOST_STATUSES = 12


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What the next text is to find; `status` is None if nobody knows it."""

    status: int | None = None
    pipestatus: tuple[int, ...] = ()
    last_word: str = ""


def statuses(mark: Mark) -> tuple[int, ...] | None:
    """Of the parts of a pipe, if the mark tells them."""
    words = mark.args[{"D": 4, "P": 5}[mark.kind] :][:1]
    listed = words[0].split()[:-1] if words else []
    known = 0 < len(listed) <= MOST_STATUSES and all(word.isdecimal() for word in listed)
    return tuple(map(int, listed)) if known else None


def at_prompt(marks: Sequence[Mark]) -> Aftermath:
    """After these marks, of which the last is that of the prompt."""
    prompt = marks[-1]
    status = "".join(prompt.args[1:2])
    if not status.isdecimal():
        return Aftermath()
    end = next((place for place in range(len(marks) - 1, -1, -1) if marks[place].kind == "D"), None)
    if end is not None and marks[end].args[1:2] == (status,):
        since = {mark.args[:1] for mark in marks[end:] if mark.kind == "P"}
        if len(since) == 1:  # nothing was run at a prompt in between
            length, word = (*marks[end].args[2:4], "", "")[:2]
            whole = length.isdecimal() and int(length) == len(word)
            return Aftermath(int(status), statuses(marks[end]) or (), word if whole else "")
    return Aftermath(int(status), statuses(prompt) or ())
