"""A pair that cannot be reached is not given up: only the proof that both its processes are gone ends a session."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.world import DEADLINE_S, World, until


def _pair(world: World, session: str) -> tuple[int, int]:
    """Keeper and mover of a session, by the kernel's word."""
    program = int(world.json("info", session)["pid"])
    keeper = _parent(program)
    with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
        (mover,) = {int(word) for word in file.read().split()} - {program}
    return keeper, mover


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _kill_mover(world: World, session: str) -> None:
    """Kill it, and wait until the keeper has forked another."""
    keeper, mover = _pair(world, session)
    os.kill(mover, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{mover}"))
    with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
        until(lambda: file.seek(0) == 0 and len(file.read().split()) == 2)


def test_a_supervisor_without_descriptors_comes_back_to_its_sessions(world: World) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "x=kept")
    supervisor = world.supervisor()
    keeper, mover = _pair(world, session)
    limits = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (4, limits[1]))
    try:
        before = _turns(supervisor)
        os.kill(mover, signal.SIGKILL)
        until(lambda: _turns(supervisor) >= before + 3)  # it has tried in vain, more than once
    finally:
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, limits)
    assert world.ok("exec", session, "echo $x") == "kept"
    assert world.supervisor() == supervisor
    assert world.ok("kill", session) == "1"
    until(lambda: not os.path.exists(f"/proc/{keeper}"))


def _turns(pid: int) -> int:
    """How often a process has waited for something and was woken."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("voluntary_ctxt")).split()[1])


def test_a_folder_that_is_away_for_a_moment_costs_no_session(world: World) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "x=kept")
    supervisor = world.supervisor()
    folder = f"{world.state}/sessions/{session}"
    _, mover = _pair(world, session)
    os.rename(folder, f"{world.folder}/away")
    os.kill(mover, signal.SIGKILL)
    before = _turns(supervisor)
    until(lambda: _turns(supervisor) >= before + 3)
    os.rename(f"{world.folder}/away", folder)
    assert world.ok("exec", session, "echo $x") == "kept"
    assert world.json("info", session)["state"] == "live"


def test_a_folder_that_was_away_when_the_supervisor_began_is_taken_over_when_it_is_back(world: World) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "x=kept")
    told = world.ok("events", "--type", "session.state")
    folder, supervisor = f"{world.state}/sessions/{session}", world.supervisor()
    os.rename(folder, f"{world.folder}/away")
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)
    assert world.ok("list", "-q") == ""
    os.rename(f"{world.folder}/away", folder)
    until(lambda: world.ok("list", "-q") == session, deadline_s=20)
    assert world.ok("exec", session, "echo $x") == "kept"
    assert world.ok("events", "--type", "session.state") == told  # each once


def test_a_command_that_fails_while_the_folder_is_away_keeps_no_other_from_running(world: World) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "x=kept")
    with _away(world, session):
        assert world.run("exec", session, "echo no").returncode != 0
    assert world.ok("exec", session, "echo $x") == "kept"


def test_output_that_is_away_is_waited_for_and_never_cut_short(world: World) -> None:
    world.keep_of_each_session("4M")  # so that there are several files, and the next one must be opened
    session = world.ok("spawn", "bash")
    supervisor = world.supervisor()
    with world.start("exec", session, "head -c 2000000 /dev/zero | tr '\\0' x") as running:  # nobody reads it yet
        until(lambda: [command["status"] for command in world.json("history", session)] == ["exited"])
        with _away(world, session):
            back = threading.Thread(target=_bring_back, args=(world, session, supervisor, running))
            back.start()
            found, _ = running.communicate(timeout=DEADLINE_S)
            back.join(DEADLINE_S)
    assert found == b"x" * 2_000_000
    with _away(world, session), world.start("tail", "--raw", "-n", "all", session) as tail:
        back = threading.Thread(target=_bring_back, args=(world, session, supervisor, tail))
        back.start()
        found, _ = tail.communicate(timeout=DEADLINE_S)
        back.join(DEADLINE_S)
    assert len(found) > 2_000_000


def _bring_back(world: World, session: str, supervisor: int, reader: subprocess.Popen[bytes]) -> None:
    """Its folder, once the reader was answered, or the supervisor has looked for it again and again."""
    before = _turns(supervisor)
    until(lambda: _turns(supervisor) >= before + 30 or reader.poll() is not None)
    os.rename(f"{world.folder}/away", f"{world.state}/sessions/{session}")


@contextlib.contextmanager
def _away(world: World, session: str) -> Iterator[None]:
    """Its folder is elsewhere for a moment."""
    folder, away = f"{world.state}/sessions/{session}", f"{world.folder}/away"
    os.rename(folder, away)
    try:
        yield
    finally:
        if os.path.exists(away):
            os.rename(away, folder)


def test_a_session_that_starts_again_does_so_once_there_are_descriptors(world: World) -> None:
    session = world.ok("spawn", "--restart", "always", "false")
    until(lambda: world.json("info", session)["run"] >= 4)  # from then on there is a pause between two runs
    supervisor, log = world.supervisor(), f"{world.state}/supervisor.log"
    limits = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (4, limits[1]))
    try:
        until(lambda: "started again later" in _text(log) or "failed\n" in _text(log))
    finally:
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, limits)
    run = world.json("info", session)["run"]
    until(lambda: world.json("info", session)["run"] > run)
    assert world.supervisor() == supervisor


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_a_pair_that_is_stopped_is_killed_all_the_same_and_a_sender_is_told(world: World) -> None:
    sessions = [world.ok("spawn", "cat") for _ in range(3)]
    stopped = [_pair(world, sessions[0])[1], _pair(world, sessions[1])[1], _pair(world, sessions[2])[0]]
    supervisor = world.supervisor()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)
    with world.start("send", sessions[0], "x", "--json", stderr=subprocess.PIPE) as sending:
        assert world.run("kill", *sessions[1:]).stdout == b"2\n"
        told = json.loads(sending.communicate(timeout=DEADLINE_S)[1])
    assert told["code"] == "no-answer"
    assert f"kill -CONT {stopped[0]}" in told["message"]
    os.kill(stopped[0], signal.SIGCONT)
    assert world.ok("kill", sessions[0]) == "1"
    assert world.log(sessions[0]) == b""  # nothing was typed later
    for session in sessions:
        assert world.json("info", session)["end_reason"] == "killed"


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_session_whose_socket_was_removed_is_taken_over_all_the_same(world: World, how: str) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "x=kept")
    supervisor = world.supervisor()
    os.unlink(f"{world.state}/sessions/{session}/pair.sock")
    if how == "restart":
        world.ok("supervisor", "restart")
    else:
        os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)
    assert world.ok("exec", session, "echo $x") == "kept"
    keeper, mover = _pair(world, session)
    assert world.ok("kill", session) == "1"
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in (keeper, mover)))
    assert world.json("info", session)["end_reason"] == "killed"


def test_a_new_mover_binds_a_socket_that_was_removed(world: World) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "x=kept")
    for _ in range(3):
        os.unlink(f"{world.state}/sessions/{session}/pair.sock")
        _kill_mover(world, session)
        assert world.ok("exec", session, "echo $x") == "kept"


def test_a_pair_that_is_gone_with_its_socket_is_lost(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    keeper, mover = _pair(world, session)
    program = int(world.json("info", session)["pid"])
    os.unlink(f"{world.state}/sessions/{session}/pair.sock")
    for pid in (keeper, mover):
        os.kill(pid, signal.SIGSTOP)  # so that neither sees the other's death
    for pid in (mover, keeper):
        os.kill(pid, signal.SIGKILL)
    until(lambda: world.json("info", session)["end_reason"] == "lost")
    with contextlib.suppress(ProcessLookupError):  # its terminal went with the pair
        os.kill(program, signal.SIGKILL)
