"""The two processes of a session's pair, as its journal and the kernel tell them."""

from __future__ import annotations

import contextlib
import os
import signal

from orchctl.log import journal
from tests.world import World, until


def keeper(world: World, session: str) -> int:
    """The newest one that has written its number down."""
    records = journal.decode(world.journal(session)).records
    return next(int(record["keeper"]) for record in reversed(records) if record["type"] in ("started", "degraded"))


def mover(world: World, session: str) -> int:
    """Its keeper's child of that name; 0 while there is none."""
    parent = keeper(world, session)
    with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        return next((pid for pid in map(int, file.read().split()) if name(pid) == "orchctl-mover"), 0)
    return 0


def name(pid: int) -> str:
    """What `ps` shows; nothing of a process that has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            head, _, rest = file.read().rpartition(")")
        return "" if rest.split()[0] == "Z" else head.partition("(")[2]
    except OSError:
        return ""


def wait_until_whole(world: World, session: str) -> None:
    """Any one of the two may be killed, and then any other."""
    until(lambda: name(keeper(world, session)) == "orchctl-keeper" and mover(world, session), "the pair is not whole")


def kill_keeper(world: World, session: str) -> None:
    """And wait until its mover has taken its place."""
    victim = keeper(world, session)
    os.kill(victim, signal.SIGKILL)
    until(lambda: keeper(world, session) != victim, "nobody takes the keeper's place")
    wait_until_whole(world, session)


def kill_mover(world: World, session: str) -> None:
    """And wait for the next one."""
    victim = mover(world, session)
    os.kill(victim, signal.SIGKILL)
    until(lambda: mover(world, session) not in (0, victim), "there is no new mover")


def has_ended(pid: int) -> bool:
    """Whether it has, reaped or not."""
    return name(pid) == ""
