"""A socket that was replaced, a directory that was deleted: the supervisor comes back, and there is no second one."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import processes
from tests.needs import needs
from tests.world import World, processes_of, until


def _nothing(path: str) -> None:
    """Stays removed."""


def _file(path: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write("not a socket")


def _link(path: str) -> None:
    _file(f"{path}.target")
    os.symlink(f"{path}.target", path)


def _other_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)


def test_a_socket_that_was_replaced_is_bound_again(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    supervisor, path = world.supervisor(), f"{world.state}/supervisor.sock"
    replacements: tuple[Callable[[str], None], ...] = (_nothing, _file, os.mkdir, _link, _other_socket)
    for replace in replacements:
        os.unlink(path)
        replace(path)
        try:
            assert world.ok("list", "-q") == session, replace
            assert stat.S_ISSOCK(os.lstat(path).st_mode)
        finally:
            if os.path.isfile(path):  # so that a supervisor which does not replace it can be stopped
                os.unlink(path)
        assert stat.S_IMODE(os.lstat(path).st_mode) & 0o077 == 0
        assert world.supervisor() == supervisor
    with open(f"{path}.target", encoding="ascii") as target:
        assert target.read() == "not a socket"
    assert world.ok("supervisor", "stop", "--kill") == "stopped"


def _locked(path: str) -> bool:
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_lock_that_was_replaced_keeps_a_second_supervisor_out(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    supervisor, lock = world.supervisor(), f"{world.state}/supervisor.lock"
    with open(f"{lock}.new", "wb"):
        pass
    os.rename(f"{lock}.new", lock)
    until(lambda: _locked(lock))
    os.unlink(f"{world.state}/supervisor.sock")  # now a client would start another one
    assert world.ok("list", "-q") == session
    assert world.supervisor() == supervisor
    os.kill(supervisor, signal.SIGKILL)  # its zygote holds the lock too
    assert world.ok("list", "-q") == session
    assert _locked(lock)


def test_beside_a_supervisor_without_lock_and_socket_none_is_started(world: World) -> None:
    session, supervisor = world.ok("spawn", "sleep", "1000"), world.supervisor()
    os.kill(supervisor, signal.SIGSTOP)
    try:
        lock = f"{world.state}/supervisor.lock"
        os.close(os.open(f"{lock}.new", os.O_WRONLY | os.O_CREAT, 0o600))
        os.rename(f"{lock}.new", lock)
        os.unlink(f"{world.state}/supervisor.sock")
        refused = world.run("list", "-q")
        assert refused.returncode == 8, refused
        assert f"supervisor {supervisor} ".encode() in refused.stderr
        assert processes.supervisors(world) == [supervisor]
    finally:
        os.kill(supervisor, signal.SIGCONT)
    assert world.ok("list", "-q") == session
    assert processes.supervisors(world) == [supervisor]


def test_a_zygote_starts_no_supervisor_where_another_has_the_lock(world: World) -> None:
    session, supervisor = world.ok("spawn", "sleep", "1000"), world.supervisor()
    path, log = f"{world.state}/supervisor.lock", Path(f"{world.state}/supervisor.log")
    with open(f"{path}.new", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.kill(supervisor, signal.SIGSTOP)  # so that it does not look for its lock
        os.rename(f"{path}.new", path)
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: b"another supervisor has the directory by now" in log.read_bytes(), deadline_s=20)
        assert processes.supervisors(world) == []
    assert world.ok("list", "-q") == session


@needs("root")  # to see which sockets the zygote holds
def test_the_zygote_holds_a_socket_that_was_bound_again(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    os.unlink(f"{world.state}/supervisor.sock")
    with world.client() as client:
        before = client.status()
    assert before.pid is not None
    until(lambda: _holds(before.zygote, f"{world.state}/supervisor.sock"))
    os.kill(before.pid, signal.SIGKILL)
    with world.client() as client:  # it waits for the next one: nobody is refused, and nobody starts another zygote
        after = client.status()
    assert after.pid != before.pid
    assert after.zygote == before.zygote
    assert world.ok("list", "-q") == session


def _holds(pid: int | None, path: str) -> bool:
    """Whether a process has the socket open that was bound last: then that has two holders."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        bound = {line.split()[6] for line in file if line.endswith(f"{path}.new\n")}
    links = (os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    return any(link == f"socket:[{inode}]" for link in links for inode in bound)


def test_a_directory_that_was_deleted_comes_back_with_its_supervisor_and_its_sessions(world: World) -> None:
    session = world.ok("spawn", "sleep", "1000")
    program = int(world.json("info", session)["pid"])
    supervisor = world.supervisor()
    shutil.rmtree(world.state)
    (listed,) = world.json("list")
    assert (listed["id"], listed["stalled"]) == (session, "its files are gone")
    assert processes.supervisors(world) == [supervisor]
    assert stat.S_IMODE(os.stat(world.state).st_mode) == 0o700
    assert world.run("spawn", "--wait", "sh", "-c", "exit 3").returncode == 3
    assert world.ok("kill", session) == "1"
    assert not os.path.exists(f"/proc/{program}")
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)
    assert len(processes.supervisors(world)) == 1
    assert world.ok("supervisor", "stop", "--kill") == "stopped"
    until(lambda: processes_of(world.folder) == [])


@pytest.mark.parametrize("words", [["list"], ["spawn", "true"]], ids=" ".join)
def test_beside_a_supervisor_that_does_not_come_back_none_is_started(world: World, words: list[str]) -> None:
    session = world.ok("spawn", "sleep", "1000")
    program = int(world.json("info", session)["pid"])
    supervisor = world.supervisor()
    os.kill(supervisor, signal.SIGSTOP)
    try:
        shutil.rmtree(world.state)
        refused = world.run(words[0], "--json", *words[1:])
        error = json.loads(refused.stderr)
        assert (refused.returncode, error["code"]) == (8, "state-dir-deleted")
        assert f"kill {supervisor}" in error["message"]
        assert f"supervisor {supervisor} runs, but" in world.run("doctor").stdout.decode()
        assert processes.supervisors(world) == [supervisor]
    finally:
        os.kill(supervisor, signal.SIGCONT)
    assert world.ok("kill", session) == "1"
    assert not os.path.exists(f"/proc/{program}")
