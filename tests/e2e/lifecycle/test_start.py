"""One supervisor, however many ask for it at once and wherever they come from."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.needs import needs
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

CLIENTS = 50
_ASK = """
import os, random, sys, time
from orchctl import Client
random.seed(os.getpid())
os.read(0, 1)
time.sleep(random.random() * float(sys.argv[1]))
with Client() as client:
    print(client.start_supervisor().pid)
"""


@pytest.mark.parametrize(("stale", "delay_s"), [(False, 0.0), (True, 0.2)], ids=["fresh", "stale socket and delays"])
def test_fifty_clients_at_once_reach_one_supervisor(world: World, stale: bool, delay_s: float) -> None:
    if stale:
        os.makedirs(world.state, 0o700)
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(f"{world.state}/supervisor.sock")
    ask_at_once(world, CLIENTS, delay_s)


def ask_at_once(world: World, clients: int, delay_s: float = 0.0, before: Callable[[], list[str]] = list) -> None:
    """So many clients want a supervisor, each within `delay_s` of one moment; all reach the same one."""
    gate, go = os.pipe()
    running = [
        subprocess.Popen(
            [*before(), sys.executable, "-c", _ASK, str(delay_s)],
            env=world.env,
            stdin=gate,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(clients)
    ]
    os.close(gate)
    os.write(go, b"." * clients)
    answers = [client.communicate(timeout=2 * DEADLINE_S) for client in running]
    os.close(go)
    assert [err for _, err in answers if err] == []
    assert [out for out, _ in answers] == [b"%d\n" % world.supervisor()] * clients


def test_command_substitution_returns_from_cold_and_all_environments_reach_one_supervisor(world: World) -> None:
    home = f"{world.folder}/home"
    os.mkdir(home, 0o700)
    path = f"PATH={os.path.dirname(ORCHCTL)}:{os.environ['PATH']}"
    bare = f"env -i HOME={home} {path}"
    scripts = [
        f"x=$({bare} orchctl spawn sleep 100) && echo $x",
        f"x=$(timeout 60 {bare} orchctl spawn sleep 100) && echo $x",
        f"x=$({bare} orchctl spawn sleep 100 <&-) && echo $x",
        f"x=$({bare} XDG_RUNTIME_DIR={home}/run XDG_STATE_HOME={home}/state orchctl spawn sleep 100) && echo $x",
    ]
    try:
        for script in scripts:
            done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=DEADLINE_S, check=False)
            assert (done.returncode, len(done.stdout.split())) == (0, 1), done
        listed = subprocess.run(["bash", "-c", f"{bare} orchctl list -q"], capture_output=True, check=True)
        assert len(listed.stdout.split()) == len(scripts)
        assert (
            len([pid for pid in processes_of(home) if _command(pid).startswith("python") and _is_supervisor(pid)]) == 1
        )
    finally:
        subprocess.run(["bash", "-c", f"{bare} orchctl supervisor stop --kill"], capture_output=True, check=True)
    until(lambda: processes_of(home) == [])


@needs("root")
def test_the_daemon_and_the_session_hold_no_descriptor_of_the_client(world: World) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    with open(f"{world.folder}/out", "wb") as out:
        done = world.run(
            "spawn", "sleep", "100", capture_output=False, stdout=out, stderr=out, stdin=out, pass_fds=[write]
        )
    assert done.returncode == 0
    os.close(write)
    assert os.read(read, 1) == b""  # nobody has the other end any more
    os.close(read)
    ours = processes_of(world.folder)
    assert len(ours) == 5, "zygote, supervisor, keeper, mover and sleep"
    for pid in ours:
        held = {os.path.realpath(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        assert f"{world.folder}/out" not in held
        assert os.readlink(f"/proc/{pid}/cwd") == ("/" if _command(pid) != "sleep" else os.getcwd())


def test_a_client_that_dies_with_the_start_lock_does_not_block_the_next(world: World) -> None:
    os.makedirs(world.state, 0o700)
    code = (
        "import fcntl, os, sys, time; f = open(sys.argv[1], 'w'); os.fchmod(f.fileno(), 0o600)\n"
        "fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(1000)"
    )
    argv = [sys.executable, "-c", code, f"{world.state}/start.lock"]
    holder = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    asker = world.start("supervisor", "start", "--json")
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    out, _ = asker.communicate(timeout=DEADLINE_S)
    assert json.loads(out)["running"] is True


def test_a_supervisor_that_cannot_start_says_why_and_where_to_look(world: World) -> None:
    os.mkdir(world.state, 0o700)
    os.mkdir(f"{world.state}/supervisor.sock")  # a directory where the socket should be
    done = world.run("supervisor", "start")
    assert done.returncode == 8
    assert b"supervisor" in done.stderr
    assert b"Traceback" not in done.stderr


def test_no_autostart_fails_instead_of_starting_a_supervisor(world: World) -> None:
    done = world.run("--no-autostart", "spawn", "true")
    assert (done.returncode, done.stdout) == (8, b"")
    assert not os.path.exists(f"{world.state}/supervisor.sock")


def test_commands_that_only_read_or_end_things_start_no_supervisor(world: World) -> None:
    assert world.ok("list") == ""
    assert world.json("list") == []
    assert world.ok("kill-by-manager", "orchestrator:nobody") == "0"
    assert world.run("supervisor", "status").returncode == 1
    assert world.ok("supervisor", "stop") == "not running"
    assert processes_of(world.folder) == []


def test_a_state_directory_with_a_path_too_long_for_a_socket_works(world: World) -> None:
    world.state = f"{world.folder}/{'long/' * 40}state"
    world.env["ORCHCTL_STATE_DIR"] = world.state
    assert world.run("spawn", "--wait", "sh", "-c", "exit 7").returncode == 7


def test_the_foreground_supervisor_ends_on_sigterm_and_leaves_the_sessions(world: World) -> None:
    running = world.start("supervisor", "run", stderr=subprocess.PIPE)
    until(lambda: world.run("supervisor", "status").returncode == 0)
    session = world.ok("spawn", "sleep", "1000")
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=DEADLINE_S)
    assert running.returncode == 0, err
    assert world.json("info", session)["is_alive"] is True


def test_stopping_is_refused_while_sessions_live_and_names_them(world: World) -> None:
    world.ok("spawn", "--name", "precious", "sleep", "1000")
    done = world.run("supervisor", "stop", "--json")
    assert done.returncode == 5
    error = json.loads(done.stderr)
    assert error["code"] == "sessions-live"
    assert "precious" in error["message"]
    assert world.ok("list", "-q") != ""


def test_a_follower_of_a_stopped_supervisor_ends_and_starts_no_other(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "echo here; sleep 1000")
    follower = world.start("tail", "-f", session, stderr=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"here\n"
    world.ok("supervisor", "stop", "--leave")
    _, err = follower.communicate(timeout=DEADLINE_S)
    assert follower.returncode == 8
    assert b"stopped" in err
    assert world.run("supervisor", "status").returncode == 1


def _command(pid: int) -> str:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return os.path.basename(file.read().split(b"\0")[0].decode())


def _is_supervisor(pid: int) -> bool:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"orchctl.supervisor" in file.read()


@contextmanager
def one_that_hangs_up(world: World) -> Iterator[None]:
    """What a client meets that came a moment too late: it is let in, and nobody is there any more."""
    os.makedirs(world.state, 0o700)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{world.state}/supervisor.sock")
        door.listen()

        def hang_up() -> None:
            connection, _ = door.accept()
            os.unlink(f"{world.state}/supervisor.sock")
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield
        thread.join(DEADLINE_S)


def test_who_came_while_the_supervisor_ended_starts_another(world: World) -> None:
    with one_that_hangs_up(world), world.client() as client:
        assert client.start_supervisor().running


def test_a_file_where_somebody_stands_takes_no_place_of_a_module_of_the_daemons(world: World) -> None:
    here = f"{world.folder}/here"
    os.mkdir(here)
    for name in ("json.py", "socket.py", "asyncio.py"):
        with open(f"{here}/{name}", "w", encoding="ascii") as file:
            file.write(f"open({here!r} + '/taken', 'w').close()\nraise SystemExit\n")
    world.ok("supervisor", "start", cwd=here)
    assert not os.path.exists(f"{here}/taken")
