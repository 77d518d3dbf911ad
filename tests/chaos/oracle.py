"""What is right: judged by what the programs wrote into files of their own, never by our own word alone.

Each check gives the complaints it has; none means that all is well. What an answer may be while faults strike is said
here too, in one table.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.chaos.schedule import KINDS, Landed, may_be_lost

ANSWER_S = 60.0  # whatever is asked ends by then, or nobody waits for it any more
# And each answer by its own time: a second or two to find the next supervisor, and the machine is busy. `exec` and
# `wait` also take as long as what they wait for, `send` as long as a slow reader takes to read.
LIMITS_S: dict[str, float] = {"info": 20.0, "kill": 25.0, "spawn": 25.0, "send": 40.0, "exec": 45.0, "wait": 50.0}
AFTERWARDS_S = 3.0  # what a fault breaks may be seen for so long after its end

# While such a fault lasts a clear error is right, and a wrong answer is not. `session`: only for what it struck.
EXCUSED: dict[str, str] = {
    "no-descriptors": "all",
    "full-disk": "all",
    "hide-folder": "session",
    "block-journal": "session",
    "stop-mover-long": "session",
    "kill-pair": "session",
    "kill-keeper-and-zygote": "session",
}
DOUBTS = ("maybe-typed", "maybe-delivered")  # nobody knows whether the last write arrived


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be."""

    session: str
    kind: str
    what: str
    number: int = -1  # of the last fault that had landed

    def __str__(self) -> str:
        return f"after step {self.number}, {self.kind} {self.session or '-'}: {self.what}"


def digest(data: bytes) -> str:
    """As sha256sum prints it."""
    return hashlib.sha256(data).hexdigest()


def stream(log: bytes, wrote: bytes, *, whole: bool, at_least: int = 0) -> list[str]:
    """Every byte once and in order: all that was written, or, of a program that was ended, the first bytes of it."""
    if whole and log == wrote:
        return []
    if not whole and len(log) >= at_least and wrote.startswith(log):
        return []
    same = _same(log, wrote)
    complaint = (
        f"{len(log)} bytes in the log (sha256 {digest(log)[:12]}), {len(wrote)} written ({digest(wrote)[:12]}), "
        f"at least {len(wrote) if whole else at_least} due; they differ from byte {same} on: "
        f"{log[same : same + 24]!r} for {wrote[same : same + 24]!r}"
    )
    return [complaint]


def _same(one: bytes, other: bytes) -> int:
    """Up to which byte they are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def received(got: bytes, sent: bytes, *, in_doubt: bool) -> list[str]:
    """Typed input, counted by who received it: once and in order; in doubt, the first bytes of it and no others."""
    if got == sent or (in_doubt and sent.startswith(got)):
        return []
    same = _same(got, sent)
    again = sent.find(got[same : same + 64]) if len(got) > same else -1
    twice = f"; what follows was typed at {again}" if 0 <= again != same else ""
    return [f"{len(got)} of {len(sent)} typed bytes were read, the same up to {same}{twice}"]


def runs(ran: Iterable[str], answered: Iterable[str], failed: Iterable[str]) -> list[str]:
    """Commands by what they themselves wrote: one that was answered ran once, one that failed at most once."""
    count, known = Counter(ran), set(answered)
    may = known | set(failed)
    found = [f"command {one} was answered and ran {count[one]} times" for one in sorted(known) if count[one] != 1]
    found += [f"command {one} failed and ran {count[one]} times" for one in sorted(may - known) if count[one] > 1]
    return found + [f"command {one} ran, and nobody asked for it" for one in sorted(set(count) - may)]


@dataclass(frozen=True, slots=True)
class End:
    """How a session ended, or has to."""

    reason: str | None
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a command's end, or has to be."""

    output: bytes
    code: int | None
    status: str = "exited"


def end(session: str, told: End, due: Sequence[End], landed: Iterable[Landed]) -> list[str]:
    """What the program decided; `lost` only where nobody was left to hear it, and then without a code."""
    if told in due:
        return []
    if told.reason == "lost" and may_be_lost(session, landed):
        return [] if told.code is None else [f"lost, and an exit code {told.code} was invented"]
    return [f"ended as {told}; due was {' or '.join(map(str, due))}"]


def is_excused(session: str, code: str, what: str, began_at: float, ended_at: float, landed: Iterable[Landed]) -> bool:
    """Whether a request may have failed, because of faults that struck while it was under way."""
    for one in landed:
        mine = one.session == session and bool(session)
        if one.overlaps(began_at, ended_at, AFTERWARDS_S):
            if EXCUSED.get(one.fault.kind) == "all" or (EXCUSED.get(one.fault.kind) == "session" and mine):
                return True
            if code in DOUBTS and mine and KINDS[one.fault.kind].strikes == "pair":
                return what in ("send", "exec")
    return False


def held_s(session: str, what: str, began_at: float, ended_at: float, landed: Iterable[Landed]) -> float:
    """How long a request stood still because somebody who has to answer it was stopped, or could not write.

    `kill` needs no mover: one that is stopped is no reason to wait.
    """
    total_s = 0.0
    for one in landed:
        holds = KINDS[one.fault.kind].hold_s != (0.0, 0.0) and one.session in ("", session)
        if holds and not (what == "kill" and one.fault.kind.startswith("stop-mover")):
            until = ended_at if one.ended_at is None else one.ended_at
            total_s += max(0.0, min(until, ended_at) - max(one.began_at, began_at))
    return total_s


def late(what: str, took_s: float, held_s: float = 0.0) -> list[str]:
    """An answer within its time limit; `held_s` of it nobody could have done anything."""
    limit_s = LIMITS_S.get(what, ANSWER_S)
    words = f"{what} was answered after {took_s:.1f} s, {held_s:.1f} of them held up; its limit is {limit_s:.0f} s"
    return [words] if took_s > limit_s + held_s else []


def command(word: str, told: Told, due: Told, *, lost: bool) -> list[str]:
    """What `exec` answered. In a session that was lost the code may be missing, and output after the loss; neither may
    be wrong, and an end without a code is no success.
    """
    whole = not (lost and told.code is None)
    found = [f"exec {word}: {one}" for one in stream(told.output, due.output, whole=whole)]
    if told.code is None and lost:
        return found if told.status == "error" else [*found, f"exec {word} has no code, and ended as {told.status}"]
    if told.code == due.code:
        return found
    return [*found, f"exec {word} exited with {due.code}, and was told to have with {told.code} ({told.status})"]


def doubts(doubtful: int, landed: Iterable[Landed]) -> list[str]:
    """Of the one write that nobody knows of: few of those who kill a keeper or a mover meet it."""
    kills = sum(one.fault.kind in ("kill-keeper", "kill-mover") for one in landed)
    most = max(2, kills // 20)
    return [f"{doubtful} answers are in doubt after {kills} kills; at most {most} may be"] if doubtful > most else []
