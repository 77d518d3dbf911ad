"""Processes of a pair that somebody has stopped, with a signal or a debugger: they answer nothing until they go on.

A kill does not wait for them: SIGCONT lets them go on, and one that is stopped all the same is killed, which costs the
session nothing, because a keeper starts another mover and a mover takes its keeper's place. Input is not typed by
force: whoever sends it is told which process is stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from orchctl import procfs
from orchctl.errors import Conflict
from orchctl.pair import tree

T = TypeVar("T")
LOOK_S = 2.0
CONTINUED = 2  # looks that see it stopped, each answered by SIGCONT; then it is killed
PATIENCE_LOOKS = 5  # that see no answer and a reason for that
_KEEPER, _MOVER = "orchctl-keeper", "orchctl-mover"


class Link(Protocol):
    """A connection to a pair, as far as it is needed here."""

    greeted: asyncio.Event

    @property
    def connected(self) -> bool: ...

    def processes(self) -> list[int]: ...


def living(pids: Iterable[int], folder: str) -> list[int]:
    """Those of the numbers that are keepers or movers below the state directory of `folder`, and their movers."""
    root = os.fsencode(os.path.dirname(os.path.dirname(folder)))
    found = {pid for pid in pids if pid and _is_ours(pid, root)}
    for keeper in list(found):
        with contextlib.suppress(OSError):
            found |= {pid for pid in tree.children(keeper) if _is_ours(pid, root, (_MOVER,))}
    return sorted(found)


def _is_ours(pid: int, root: bytes, names: tuple[str, ...] = (_KEEPER, _MOVER)) -> bool:
    return procfs.name(pid) in names and root in procfs.command_line(pid)


async def let_go_on(processes: Callable[[], list[int]]) -> None:
    """For as long as somebody waits for what only the pair can do."""
    seen = Counter[int]()
    while True:
        await asyncio.sleep(LOOK_S)
        for pid in filter(tree.is_stopped, processes()):
            seen[pid] += 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT if seen[pid] <= CONTINUED else signal.SIGKILL)


async def answered(pair: Link, answer: asyncio.Future[T]) -> T:
    """What the pair answers, however long that takes; an error once it is seen that it cannot."""
    looks = 0
    while not (await asyncio.wait((answer,), timeout=LOOK_S))[0]:
        stopped = list(filter(tree.is_stopped, pair.processes()))
        looks = looks + 1 if stopped or not pair.greeted.is_set() else 0
        if looks >= PATIENCE_LOOKS:
            raise _no_answer(stopped, sent=pair.connected)
    return answer.result()


def _no_answer(stopped: list[int], *, sent: bool) -> Conflict:
    pids = " ".join(map(str, stopped))
    why = (
        f"its keeper or mover is stopped; 'kill -CONT {pids}' lets it go on" if stopped else "its mover does not reply"
    )
    if sent:
        return Conflict(f"the session does not answer: {why}; then the input may be typed", code="maybe-typed")
    return Conflict(f"the session does not answer, and nothing was typed: {why}", code="no-answer")
