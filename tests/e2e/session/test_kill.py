"""Killing: by name, by manager, the whole tree, and what is told afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from orchctl.log import journal
from tests.world import DEADLINE_S, ORCHCTL, World, until

ESCAPES = {
    "foreground child": "sleep 1000; true",
    "background job": "set -m; sleep 1000 & wait",
    "nohup": "nohup sleep 1000 >/dev/null 2>&1 & sleep 1000",
    "own session": "setsid sleep 1000 & sleep 1000",
    "double fork": "(setsid sh -c 'sleep 1000 &' &); sleep 1000",
    "double fork without environment": "(env -i setsid sh -c '/bin/sleep 1000 &' &); sleep 1000",
    "ignores the polite signals": "trap '' HUP TERM INT; sleep 1000; sleep 1000",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_kill_reaches_everything_the_session_started(world: World, name: str) -> None:
    session = world.ok("spawn", "bash", "-c", ESCAPES[name])
    keeper = _parent(world.json("info", session)["pid"])
    until(lambda: len(_below(keeper)) >= 3)  # mover, shell, sleep
    tree = _below(keeper)
    assert world.ok("kill", "--grace", "500ms", session) == "1"
    assert [pid for pid in tree if os.path.exists(f"/proc/{pid}")] == []
    until(lambda: not os.path.exists(f"/proc/{keeper}"))  # it gives the proof first, and then ends itself
    assert world.json("info", session)["end_reason"] == "killed"


def test_kill_by_manager_goes_by_whole_segments_and_prints_the_number_it_ended(world: World) -> None:
    managers = ["a:c-1", "a:c-1:codegen", "a:c-1:codegen:deep", "a:c-12", "a", "b:c-1"]
    ids = {name: world.ok("spawn", "-m", name, "sleep", "1000") for name in managers}
    assert set(world.ok("list", "-q", "-m", "a:c-1").split()) == {ids[name] for name in managers[:3]}
    assert world.ok("kill-by-manager", "a:c") == "0"
    assert world.ok("kill-by-manager", "a:c-1", "--exact") == "1"
    assert world.ok("kill-by-manager", "a:c-1") == "2"
    assert world.ok("kill-by-manager", "a:c-1") == "0"
    assert set(world.ok("list", "-q").split()) == {ids[name] for name in ("a:c-12", "a", "b:c-1")}


def test_a_tool_in_a_session_spawns_under_that_sessions_manager(world: World) -> None:
    script = f"{ORCHCTL} spawn --name inner sleep 1000 && {ORCHCTL} spawn -m :sub --name below sleep 1000"
    done = world.run("spawn", "-m", "agent:x", "--wait", "sh", "-c", script)
    assert done.returncode == 0, world.log(done.stdout.decode().strip())
    assert world.json("info", "inner")["managed_by"] == "agent:x"
    assert world.json("info", "below")["managed_by"] == "agent:x:sub"
    assert world.ok("kill-by-manager", "agent:x") == "2"


def test_killing_what_has_ended_is_fine_and_an_unknown_session_is_an_error_that_ends_nothing(world: World) -> None:
    ended = world.ok("spawn", "--wait", "true")
    live = world.ok("spawn", "sleep", "1000")
    assert world.ok("kill", ended) == "0"
    assert world.run("kill", live, "nobody").returncode == 3
    assert world.json("info", live)["is_alive"] is True
    assert world.ok("kill", live, live, ended) == "1"


def test_what_an_ended_session_left_running_is_still_reached(world: World) -> None:
    session = world.ok("spawn", "--wait", "bash", "-c", "trap '' HUP; setsid sleep 1000 & echo $!")
    pid = int(world.log(session))
    assert os.path.exists(f"/proc/{pid}")
    assert world.ok("kill", session) == "0"
    assert not os.path.exists(f"/proc/{pid}")


def test_a_stopped_program_is_ended_too(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "kill -STOP $$")
    pid = world.json("info", session)["pid"]
    until(lambda: _state(pid) == "T")
    assert world.ok("kill", session) == "1"


def test_a_stopped_program_goes_on_and_may_end_by_itself(world: World) -> None:
    script = "trap '' HUP; trap 'exit 7' TERM; kill -STOP $$; while :; do sleep 0.1; done"
    session = world.ok("spawn", "sh", "-c", script)
    until(lambda: _state(world.json("info", session)["pid"]) == "T")
    assert world.ok("kill", "--grace", "15s", session) == "1"
    assert world.json("info", session)["exit_code"] == 7


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _below(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            found = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
    return found + [below for child in found for below in _below(child)]


def test_a_supervisor_that_was_started_inside_a_session_outlives_it(world: World) -> None:
    gate, up = f"{world.folder}/gate", f"{world.folder}/up"
    os.mkfifo(gate)
    inside = f"{ORCHCTL} spawn --name other -- sleep 1000 && touch {up}"
    world.ok("spawn", "--name", "first", "--", "sh", "-c", f"read go < {gate}; {inside}; sleep 1000")
    world.ok("supervisor", "stop", "--leave")
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: os.path.exists(up))
    pid = world.json("info", "other")["pid"]
    assert world.ok("kill", "--grace", "300ms", "first") == "1"
    assert world.json("info", "other")["is_alive"]
    assert os.path.exists(f"/proc/{pid}")
    assert world.ok("spawn", "--follow", "echo", "well") == "well"


def test_a_process_that_has_ended_is_named_as_a_survivor_by_no_kill(world: World) -> None:
    """On a busy machine what a keeper names may end before the answer is made."""
    session = world.ok("spawn", "bash", "-c", "trap '' HUP TERM; echo up; exec sleep 1000")
    until(lambda: b"up" in world.log(session))
    program = world.json("info", session)["pid"]
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    with world.start("kill", "--grace", "1h", "--json", session) as killing:
        until(lambda: b'"kill"' in world.journal(session))
        with open(f"{world.state}/sessions/{session}/run.jnl", "ab") as file:
            file.write(journal.encode({"type": "survivors", "pids": [ended.pid], "time": time.time()}))
        world.ok("resize", session, "90x30")  # has the supervisor read its journal
        assert killing.poll() is None
        os.kill(program, signal.SIGKILL)
        until(lambda: killing.poll() is not None, deadline_s=2 * DEADLINE_S)
        assert killing.stdout is not None
        assert json.loads(killing.stdout.read())["survivors"] == []
    assert killing.returncode == 0
