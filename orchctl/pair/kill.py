"""Ending all processes of a session, and stopping them for a while; and which processes these are.

While a keeper lives, everything that its program started is below it. When it dies, its children go to the next
subreaper, as a rule the zygote, together with those of other sessions whose keeper died. What tells them apart then:

    in the terminal session of the program, or below such a process      it belongs to the session
    ORCHCTL_SESSION in its environment                                   it belongs to the session named there
    the same parent now, started since, and neither of the two           nobody can tell

The last are named when the session ends, and `kill` says that its success is not proven. Nothing is signalled on
suspicion.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable

from orchctl import procfs
from orchctl.pair import tree
from orchctl.pair.shared import Pair

AGAIN_S = 0.1  # new children may be born while the old ones are killed
ROUNDS = 20  # what two seconds of SIGKILL did not end is a survivor, and is named
LATE_ROUNDS = 300  # on a busy machine, a process may wait this long for a processor to end on
PAUSE_ROUNDS = 10  # a process that is about to be stopped may have started another
_TIOCSIG = 0x40045436
_VARIABLE = b"ORCHCTL_SESSION="
NAMED = 20  # so many suspects are named; where the zygote died too they may be any daemons of the user


def members(shared: Pair, *, leave_out: int) -> list[int]:
    """The session's processes, parents before their children.

    All below the keeper, as long as that is the program's own parent; after it died, those that can be told.
    """
    if shared.parent:
        return tree.descendants(shared.keeper, leave_out=leave_out)
    own = os.path.basename(shared.folder).encode()
    return tree.of_session(shared.child, lambda pid: _named_by(pid) == own and not tree.is_ours(pid), shared.ticks)


def suspects(shared: Pair, reaper: int) -> list[int]:
    """Children of `reaper`, to which the session's orphans went, that may be the session's and do not say so."""
    known = {*members(shared, leave_out=0)}
    any_user = tree.is_daemon(reaper)  # a zygote has no children but its own and orphans of sessions
    return [
        pid
        for pid in tree.orphans_of(reaper)
        if pid not in known
        and tree.start_ticks(pid) >= shared.ticks
        and (any_user or procfs.user(pid) == os.getuid())
        and not tree.is_ours(pid)
        and not _named_by(pid)
    ][:NAMED]


def _named_by(pid: int) -> bytes:
    """The session that a process was started in, by its environment; nothing where that does not tell, or is hidden."""
    words = [word for word in procfs.environment(pid) or () if word.startswith(_VARIABLE)]
    return words[-1].removeprefix(_VARIABLE) if words else b""


def signal_foreground(shared: Pair, number: int) -> int | None:
    """To the terminal's foreground group, by the kernel: works in raw mode and flushes nothing.

    The group that it reached; None if it reached none, or if another one came to the front meanwhile.
    """
    with contextlib.suppress(OSError):
        if not shared.terminal:
            os.killpg(shared.child, number)
            return shared.child
        front = os.tcgetpgrp(shared.master)
        fcntl.ioctl(shared.master, _TIOCSIG, number)
        if os.tcgetpgrp(shared.master) == front:
            return front or None
    return None


def sweep(shared: Pair, since_ticks: int, number: int, *, leave_out: int) -> int:
    """A signal to what the program started since then; how many processes that is. 0 only counts."""
    below = members(shared, leave_out=leave_out)
    young = [pid for pid in below if pid != shared.child and tree.start_ticks(pid) >= since_ticks]
    tree.send(young, *([signal.Signals(number)] if number else []))
    return len(young)


class Killing:
    """One kill: asked for at once, by force after the grace period, and again until nobody is left."""

    def __init__(self, below: Callable[[], list[int]], record: Callable[..., None]) -> None:
        self._below = below
        self._record = record
        self._rounds = 0
        self.at: float | None = None  # when force is due

    def begin(self, grace_s: float, reason: str) -> None:
        """HUP, CONT and TERM to all; a second kill may only be sooner."""
        force_at = time.monotonic() + max(0.0, grace_s)
        if self.at is not None:
            self.at = min(self.at, force_at)
            return
        self._record("kill", grace_s=grace_s, reason=reason)
        self.at = force_at
        tree.send(self._below(), signal.SIGHUP, signal.SIGCONT, signal.SIGTERM)

    def go_on(self) -> None:
        """KILL, when it is due."""
        if self.at is None or time.monotonic() < self.at:
            return
        tree.send(self._below(), signal.SIGKILL)
        self._rounds += 1
        self.at = time.monotonic() + AGAIN_S
        if self._rounds < ROUNDS:
            return
        alive = self._below()  # another look: what has ended since then would not be named truly
        if self._rounds < LATE_ROUNDS and any(map(tree.is_late, alive)):
            return
        if alive:
            self._record("survivors", pids=alive)
        self.at, self._rounds = None, 0


def pause(below: Callable[[], list[int]]) -> None:
    """Stop parents before their children, so that none sees another stop; until nobody new turns up."""
    stopped: set[int] = set()
    for _ in range(PAUSE_ROUNDS):
        fresh = [pid for pid in below() if pid not in stopped]
        if not fresh:
            return
        tree.send(fresh, signal.SIGSTOP)
        stopped |= set(fresh)


def unpause(below: Callable[[], list[int]]) -> None:
    """Let children go on before their parents."""
    tree.send(below()[::-1], signal.SIGCONT)


def signal_program(shared: Pair, number: int) -> None:
    """To the session's program itself, never to a stranger that has its number now."""
    if shared.pidfd >= 0:
        try:
            signal.pidfd_send_signal(shared.pidfd, number)
        except (ProcessLookupError, PermissionError):
            return
    else:
        tree.send([shared.child], signal.Signals(number))


def open_process(pid: int, ticks: int) -> int:
    """A descriptor for that very process; -1 when it is gone, or the kernel has none to give."""
    try:
        fd = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1
    if ticks and tree.start_ticks(pid) != ticks:
        os.close(fd)
        return -1
    return fd
