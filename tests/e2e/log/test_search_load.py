"""While much is searched with a slow pattern, the supervisor has next to nothing to do, and others go on."""

from __future__ import annotations

import os
import time

from tests.world import World, until

SESSIONS, MIB_EACH, EXECS = 4, 50, 10
SLOW = r"(?!#)[a-m]+[n-z]+[0-9]$"  # no text is required, and its lines must be seen alone
TICKS_S = os.sysconf("SC_CLK_TCK")


def _cpu_s(pid: int) -> float | None:
    """User and system time; None for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            words = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return (int(words[11]) + int(words[12])) / TICKS_S


def test_exec_goes_on_while_200_mb_are_searched(world: World) -> None:
    line = "the quick brown fox jumps over the lazy dog and goes on its way through the wide woods of the far north"
    for number in range(SESSIONS):
        pour = f"yes '{line}' | head -c {MIB_EACH}M"
        world.ok("spawn", "--wait", "--no-pty", "--name", f"big{number}", "sh", "-c", pour)
    kept = sum(one["output"]["kept_bytes"] for one in world.json("list", "-a"))
    assert kept == SESSIONS * MIB_EACH << 20
    world.ok("spawn", "--name", "work", "bash")
    world.ok("exec", "work", "true")
    supervisor = world.supervisor()
    before = _cpu_s(supervisor)
    search = world.start("search", SLOW)
    assert search.stdout is not None
    until(lambda: _child(search.pid), "no worker was started")
    worker, used, answers = _child(search.pid), 0.0, 0
    while search.poll() is None:
        time.sleep(0.01)  # between two looks at the clock of the worker
        used = max(used, _cpu_s(worker) or 0.0)
        if answers < EXECS:  # each costs the supervisor something of its own
            assert world.ok("exec", "work", f"echo $((6 * {answers}))") == str(6 * answers)
            answers += search.poll() is None
    after = _cpu_s(supervisor)
    assert (search.returncode, search.stdout.read()) == (1, b"")
    search.stdout.close()
    assert answers >= 3  # were given while it went on
    assert before is not None
    assert after is not None
    assert used > 1.0
    assert after - before < used / 10


def _child(pid: int) -> int:
    """The one child of a process, 0 while there is none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return int((file.read().split() or ["0"])[0])
    except FileNotFoundError:
        return 0
