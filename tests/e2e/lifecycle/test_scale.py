"""Many sessions: what they cost while nothing happens, and taking thousands of ended ones away. Counted, not timed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from orchctl import Client
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import SessionStore
from orchctl.supervisor.limits import SLICE
from tests.needs import needs
from tests.world import DEADLINE_S, World, processes_of, until

WINDOW_S = 11.0  # longer than any round of upkeep
_OURS = ("orchctl-zygote", "orchctl-keeper", "orchctl-mover")
_ID = re.compile(r"/(?:sessions|going)/([0-9a-f-]{36})")


def test_idle_sessions_wake_nobody(world: World, long_form: bool) -> None:
    sessions, limit_per_s = (300, 20) if long_form else (40, 8)
    _spawn_many(world, sessions)
    supervisor = world.supervisor()
    ours = [pid for pid in processes_of(world.folder) if _name(pid) in _OURS or pid == supervisor]
    assert len(ours) == 2 + 2 * sessions
    until(lambda: _wakeups(ours, 1.0) <= limit_per_s)  # what was just written is made safe first
    assert _wakeups(ours, WINDOW_S) / WINDOW_S <= limit_per_s


def test_a_kill_of_all_names_no_survivor_and_leaves_none(world: World, long_form: bool) -> None:
    sessions = 300 if long_form else 10
    _spawn_many(world, sessions)
    programs = [int(one["pid"]) for one in world.json("list")]
    assert len(programs) == sessions
    assert world.ok("kill", "--all", timeout=5 * DEADLINE_S) == str(sessions)
    assert [pid for pid in programs if os.path.exists(f"/proc/{pid}")] == []
    assert world.ok("list", "-q") == ""


def _spawn_many(world: World, count: int) -> None:
    """More than one manager may have by default."""
    os.makedirs(world.state, mode=0o700)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write(f"[limits]\nsessions = {count}\n")
    with world.client() as client:
        for _ in range(count):
            client.spawn(["sleep", "100000"])


def _name(pid: int) -> str:
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def _wakeups(pids: list[int], seconds: float) -> int:
    """How often all threads of these processes wait for something and are woken, in so many seconds."""
    before = sum(map(_waits, pids))
    time.sleep(seconds)
    return sum(map(_waits, pids)) - before


def _waits(pid: int) -> int:
    count = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
            count += next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))
    return count


@needs("root", "strace")
@pytest.mark.parametrize("which", [["--older-than", "0s"], ["@user"]], ids=["by age", "by name"])
def test_a_prune_of_thousands_stops_nobody(world: World, which: list[str], long_form: bool) -> None:
    """Turns of the event loop, as the system calls of its thread show them: few sessions in each, and few more."""
    count = 5000 if long_form else 5 * SLICE
    ended = _many_ended(world, count)
    world.ok("spawn", "--name", "shell", "bash")
    with world.client() as client, _traced(world.supervisor(), f"{world.folder}/trace") as trace:
        _exec(client)
        before = len(_turns(trace))
        for _ in range(10):
            _exec(client)
        alone = (len(_turns(trace)) - before) / 10
        began, execs = len(_turns(trace)), 0
        with world.start("prune", *which) as pruning:
            while pruning.poll() is None or execs < 10:
                _exec(client)
                execs += 1
        turns = _turns(trace)
    assert pruning.returncode == 0
    assert not ended & set(os.listdir(f"{world.state}/sessions"))
    assert max(len(ended & set(_ID.findall(turn))) for turn in turns) <= SLICE
    assert len(turns) - began <= 2 * alone * execs


def _exec(client: Client) -> None:
    assert client.exec("shell", "true").exit_code == 0


def _many_ended(world: World, count: int) -> set[str]:
    """So many ended sessions, each as one that really ran has left its files; nobody serves them yet."""
    ran = world.ok("spawn", "--wait", "echo", "out")
    store, archive = SessionStore(f"{world.state}/sessions"), EndedStore(f"{world.state}/sessions")
    until(lambda: archive.has(ran))
    world.ok("supervisor", "stop")
    spec, view = store.read_spec(ran), archive.read(ran)
    assert spec is not None
    assert view is not None
    made = {str(uuid.uuid4()) for _ in range(count)}
    for session in made:
        store.create(replace(spec, id=session), {}, {})
        with open(f"{store.folder(session)}/out/{0:020d}.seg", "wb") as file:
            file.write(b"out\r\n")
        archive.put(replace(view, id=session))
    return made


@contextlib.contextmanager
def _traced(pid: int, path: str) -> Iterator[str]:
    """The calls of a process's first thread, which is its event loop's."""
    words = ["strace", "-p", str(pid), "-o", path, "-s", "500", "-e", "trace=epoll_wait,epoll_pwait,epoll_pwait2,%file"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as strace:
        try:
            until(lambda: _tracer(pid) == strace.pid)
            yield path
        finally:
            strace.terminate()
            strace.wait(DEADLINE_S)


def _tracer(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("TracerPid"))


def _turns(path: str) -> list[str]:
    """What it did between two waits, each time."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return re.split(r"^epoll_p?wait2?\(.*\n", file.read(), flags=re.MULTILINE)
