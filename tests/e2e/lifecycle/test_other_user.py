"""As a user who is not root: nobody looks into our processes, and we see of a session's all that we need."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator

import pytest

from tests.needs import needs
from tests.nobody import NOBODY, NobodysWorld, nobodys_world
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

pytestmark = needs("root")
_TRY = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDONLY))
        print("open")
    except PermissionError:
        print("closed")
"""
OURS = {"orchctl-zygote", "orchctl-keeper", "orchctl-mover", "supervisor"}


@pytest.fixture
def nobody(world: World) -> Iterator[NobodysWorld]:
    """A world of a user who is not root."""
    with nobodys_world(world) as made:
        yield made


def _names(world: World) -> dict[str, int]:
    """The processes of a world with one session, by name."""
    known = OURS | {"sleep"}
    return {name if name in known else "supervisor": pid for name, pid in _all(world)}


def test_programs_of_the_same_user_cannot_look_into_zygote_supervisor_keeper_and_mover(nobody: NobodysWorld) -> None:
    nobody.ok("spawn", "-e", "SECRET=swordfish", "--", "sleep", "1000")
    pids = _names(nobody)
    assert set(pids) == OURS | {"sleep"}
    for name, pid in pids.items():
        assert os.stat(f"/proc/{pid}/environ").st_uid == (NOBODY if name == "sleep" else 0), name
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            assert f"Uid:\t{NOBODY}\t" in file.read()
        tried = nobody.run_program(
            [sys.executable, "-c", _TRY, *[f"/proc/{pid}/{it}" for it in ("environ", "maps", "mem")]]
        )
        assert tried.stdout.decode().split() == (["open"] * 3 if name == "sleep" else ["closed"] * 3), (name, tried)


def test_it_is_so_again_after_each_of_them_was_replaced(nobody: NobodysWorld) -> None:
    nobody.ok("spawn", "--", "sleep", "1000")
    before = _names(nobody)
    for name in ("orchctl-mover", "orchctl-keeper", "orchctl-zygote", "supervisor"):
        os.kill(before[name], 9)
        until(lambda name=name: _names(nobody).get(name, before[name]) != before[name])  # type: ignore[misc]
        until(lambda: set(_names(nobody)) == OURS | {"sleep"})
    nobody.ok("supervisor", "restart")
    until(lambda: set(_owners(nobody)) == {(True, 0), (False, NOBODY)})  # until its interpreter is up, one is open


def _owners(world: World) -> list[tuple[bool, int]]:
    """Of every process whether it is ours, and who owns what /proc shows of it."""
    found = []
    for name, pid in _all(world):
        with contextlib.suppress(FileNotFoundError):
            found.append((name != "sleep", os.stat(f"/proc/{pid}/environ").st_uid))
    return found


def test_a_session_does_all_that_it_does_for_root(nobody: NobodysWorld) -> None:
    nobody.put_state(f"{nobody.home}/{'long/' * 40}state")  # sockets are then reached through /proc/self/fd
    session = nobody.ok("spawn", "--name", "s", "bash")
    assert nobody.ok("exec", "s", "cd /tmp; x=7; echo $x $(id -u) $PWD") == f"7 {NOBODY} /tmp"
    assert nobody.run("exec", "s", "(exit 43)").returncode == 43
    refused = nobody.run("exec", "--json", "s", "-c", "cat", "--tty-stdin", "--timeout", "300ms")
    assert refused.returncode == 124, refused
    assert nobody.ok("exec", "s", "echo still $x") == "still 7"
    assert "still 7" in nobody.ok("tail", "s")
    assert nobody.json("pause", "s")["paused"]
    assert not nobody.json("unpause", "s")["paused"]
    nobody.ok("exec", "s", "setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 & disown")
    until(lambda: len(_sleepers(nobody)) == 2)  # a shell goes on before they are what they will be
    tree = _sleepers(nobody)
    assert nobody.ok("kill", "--grace", "300ms", session) == "1"
    assert [pid for pid in tree if os.path.exists(f"/proc/{pid}")] == []
    assert nobody.json("info", session)["end_reason"] == "killed"


def test_a_supervisor_that_was_started_inside_a_session_outlives_it(nobody: NobodysWorld) -> None:
    gate, up = f"{nobody.home}/gate", f"{nobody.home}/up"
    os.mkfifo(gate)
    os.chown(gate, NOBODY, NOBODY)
    inside = f"{ORCHCTL} spawn --name other -- sleep 1000 && touch {up}"
    nobody.ok("spawn", "--name", "first", "--", "sh", "-c", f"read go < {gate}; {inside}; sleep 1000")
    nobody.ok("supervisor", "stop", "--leave")
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: os.path.exists(up))
    assert nobody.ok("kill", "--grace", "300ms", "first") == "1"
    assert nobody.json("info", "other")["is_alive"]


def test_everything_on_disk_is_that_users_alone(nobody: NobodysWorld) -> None:
    nobody.ok("spawn", "--wait", "--", "sh", "-c", "echo x")
    found = [os.lstat(f"{top}/{name}") for top, folders, files in os.walk(nobody.state) for name in (*folders, *files)]
    assert len(found) > 8
    assert {(one.st_uid, stat.S_IMODE(one.st_mode) & 0o077) for one in found} == {(NOBODY, 0)}
    assert json.loads(nobody.ok("list", "--json", "-a"))[0]["exit_code"] == 0


def _sleepers(world: World) -> list[int]:
    return [pid for name, pid in _all(world) if name == "sleep"]


def _all(world: World) -> list[tuple[str, int]]:
    found = []
    for pid in processes_of(world.folder):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as file:
            found.append((file.read().strip(), pid))
    return found


def test_not_even_root_is_let_in_by_the_supervisor_of_another_user(nobody: NobodysWorld) -> None:
    nobody.ok("supervisor", "start")
    heard = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(f"{nobody.state}/supervisor.sock")
        while data := connection.recv(4096):
            heard += data
    assert b'"not-permitted"' in heard


def test_doctor_names_the_supervisor_that_is_stopped_and_not_its_zygote(nobody: NobodysWorld) -> None:
    nobody.ok("spawn", "sleep", "1000")
    pid = nobody.json("supervisor", "status")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        found = json.loads(nobody.run("doctor", "--json").stdout)["findings"]
    finally:
        os.kill(pid, signal.SIGCONT)
    (finding,) = [one for one in found if (one["check"], one["level"]) == ("supervisor", "problem")]
    assert finding["fix"] == f"kill -CONT {pid}"
