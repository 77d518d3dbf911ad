"""The zygote's reaping: whose end is written down, and whose is not. In a process of its own, which forks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orchctl.log import journal
from orchctl.pair import reaper

_REAPER = """
import os, signal, sys, time
from orchctl.pair import reaper, process
root = sys.argv[1]
def fork(work):
    pid = os.fork()
    if pid == 0:
        work()
    return pid
def named():
    process.set_name(reaper.ZYGOTE)
    os._exit(3)
own = {fork(lambda: os._exit(5))}
pids = [fork(lambda: os._exit(7)), fork(lambda: os.kill(os.getpid(), signal.SIGKILL)), fork(named)]
print(*pids, *sorted(own), *[reaper._look(pid)[1] for pid in pids[:2]])
live = fork(signal.pause)
assert live in reaper.children()
while set(reaper.children()) != {live}:
    reaper.reap(root, own)
assert not own
os.kill(live, signal.SIGTERM)
os.waitpid(live, 0)
reaper.reap(root, own)
"""


def test_only_the_ends_of_orphans_are_written_down_with_what_names_them_for_ever(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _REAPER, str(tmp_path)], capture_output=True, check=True, timeout=60)
    exited, killed, _, _, ticks, other_ticks = map(int, done.stdout.split())
    path = tmp_path / "orphans.jnl"
    found = journal.decode(path.read_bytes())
    assert found.bad_lines == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert {(one["type"], one["pid"], one["ticks"], one["status"]) for one in found.records} == {
        ("orphan", exited, ticks, 7),
        ("orphan", killed, other_ticks, -9),
    }


def test_a_file_over_its_limit_is_emptied_and_a_shorter_one_is_not(tmp_path: Path) -> None:
    reaper.forget_old(str(tmp_path))
    path = tmp_path / "orphans.jnl"
    path.write_bytes(b"x" * reaper.LIMIT_BYTES)
    reaper.forget_old(str(tmp_path))
    assert path.stat().st_size == reaper.LIMIT_BYTES
    path.write_bytes(b"x" * (reaper.LIMIT_BYTES + 1))
    reaper.forget_old(str(tmp_path))
    assert path.stat().st_size == 0


def test_a_process_that_is_gone_has_no_name() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert reaper._look(child.pid) == ("", 0)
    assert reaper._look(os.getpid())[1] > 0
