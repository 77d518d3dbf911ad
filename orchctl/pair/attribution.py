"""Whose a process is, after the keeper that was its subreaper has been killed.

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
import os

from orchctl.pair import tree
from orchctl.pair.shared import Pair

_VARIABLE = b"ORCHCTL_SESSION="
NAMED = 20  # so many suspects are named; where the zygote died too they may be any daemons of the user


def members(shared: Pair) -> list[int]:
    """The processes that are known to be the session's, parents before their children."""
    own = os.path.basename(shared.folder).encode()
    return tree.of_session(shared.child, lambda pid: _named_by(pid) == own and not tree.is_ours(pid), shared.ticks)


def suspects(shared: Pair, reaper: int) -> list[int]:
    """Children of `reaper`, to which the session's orphans went, that may be the session's and do not say so."""
    known = {*members(shared)}
    any_user = tree.is_daemon(reaper)  # a zygote has no children but its own and orphans of sessions
    return [
        pid
        for pid in tree.orphans_of(reaper)
        if pid not in known
        and tree.start_ticks(pid) >= shared.ticks
        and (any_user or _uid(pid) == os.getuid())
        and not tree.is_ours(pid)
        and not _named_by(pid)
    ][:NAMED]


def _named_by(pid: int) -> bytes:
    """The session that a process was started in, by its environment; nothing where that does not tell, or is hidden."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        words = [word for word in file.read().split(b"\0") if word.startswith(_VARIABLE)]
        return words[-1].removeprefix(_VARIABLE) if words else b""
    return b""


def _uid(pid: int) -> int:
    """Its real user; the owner of its entry is root where nobody may look into it."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
        return next((int(line.split()[1]) for line in file if line.startswith(b"Uid:")), -1)
    return -1
