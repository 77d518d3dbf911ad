"""Signals to our own processes: each has the effect that is written here, and none ends a session."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.rawclient import children_of, parent_of
from tests.world import DEADLINE_S, World, fresh_world, until

# what becomes of the process: it stays; it stops, and the next command starts another; it is replaced at once
EFFECTS = {
    "supervisor": {"HUP": "stays", "PIPE": "stays", "TERM": "stops", "INT": "stops", "QUIT": "new", "USR1": "new"},
    "zygote": {"HUP": "stays", "PIPE": "stays", "TERM": "stops", "INT": "stops", "QUIT": "new", "USR1": "new"},
    "keeper": {"HUP": "stays", "PIPE": "stays", "TERM": "stays", "INT": "stays", "QUIT": "stays", "USR1": "new"},
    "mover": {"HUP": "stays", "PIPE": "stays", "TERM": "stays", "INT": "stays", "QUIT": "stays", "USR1": "new"},
}
ROWS = [(who, name, effect) for who, row in EFFECTS.items() for name, effect in row.items()]


@pytest.fixture(scope="module")
def home() -> Iterator[World]:
    """All of these happen to one session."""
    with fresh_world() as made:
        made.ok("spawn", "--name", "echoing", "sh", "-c", "stty -echo; echo up; exec cat")
        made.ok("wait", "echoing", "--for", "output=up")
        yield made


def pid_of(world: World, who: str) -> int:
    """One of the four, as of now; one that is being replaced is waited for."""
    found: list[int] = []

    def there() -> bool:
        if who in ("supervisor", "zygote"):
            found.append(world.json("supervisor", "status")["pid" if who == "supervisor" else "zygote"] or 0)
            return found[-1] > 0
        program = world.json("info", "echoing")["pid"]
        keeper = parent_of(program)
        pair = [keeper] if who == "keeper" else [pid for pid in children_of(keeper) if pid != program]
        found.extend(pair)
        return bool(pair)

    until(there)
    return found[-1]


@pytest.mark.parametrize(("who", "name", "effect"), ROWS, ids=[f"{name} to the {who}" for who, name, _ in ROWS])
def test_no_signal_to_a_process_of_ours_ends_a_session(home: World, who: str, name: str, effect: str) -> None:
    home.ok("supervisor", "start")
    if who in ("keeper", "mover"):  # a whole pair: an earlier signal may have taken the keeper
        home.ok("restart", "echoing")
        home.ok("wait", "echoing", "--for", "output=up")
    program, pid = home.json("info", "echoing")["pid"], pid_of(home, who)
    os.kill(pid, getattr(signal, f"SIG{name}"))
    if effect != "stays":
        until(lambda: not _alive(pid), f"{who} lives after {name}")
    if effect == "stops":
        until(lambda: home.run("supervisor", "status").returncode == 1)
    home.ok("send", "echoing", f"{who} got {name}")
    home.ok("wait", "echoing", "--for", f"output={who} got {name}", "--timeout", "60s")
    told = home.json("info", "echoing")
    assert (told["pid"], told["is_alive"]) == (program, True)
    assert (_alive(pid)) == (effect == "stays")


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_while_the_supervisor_is_stopped_clients_wait_or_say_so_and_nothing_is_lost(world: World) -> None:
    pid = world.supervisor()
    counting = "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); sleep 0.05; done"
    session = world.ok("spawn", "--name", "counting", "sh", "-c", counting)
    with open(f"{world.folder}/copy", "wb") as copy:
        follower = world.start("tail", "-f", "-n", "all", session, stdout=copy)
    until(lambda: os.path.getsize(f"{world.folder}/copy") > 0)
    os.kill(pid, signal.SIGSTOP)
    told = world.run("list")
    assert told.returncode == 8
    assert told.stderr == b"orchctl: the supervisor said nothing for 30 s\n"
    waiting = [world.start("info", session, "--json", stderr=subprocess.PIPE) for _ in range(3)]
    ended = world.start("wait", session)
    os.kill(pid, signal.SIGCONT)
    for client in waiting:
        _, err = client.communicate(timeout=DEADLINE_S)
        assert (client.returncode, err) == (0, b"")
    assert follower.wait(DEADLINE_S) == 0
    ended.communicate(timeout=DEADLINE_S)
    assert ended.returncode == 0
    with open(f"{world.folder}/copy", "rb") as copy:
        assert copy.read().splitlines() == [b"line %d" % number for number in range(400)]
    assert world.supervisor() == pid
