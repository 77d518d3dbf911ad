"""Starts that are slow, hang, or happen where somebody logs out: one supervisor, or a reason (F12, F14, F20, F65)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.calls import Calls
from tests.e2e.lifecycle.test_start import ask_at_once
from tests.needs import needs
from tests.nobody import NobodysWorld, nobodys_world
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

CLIENTS = 16


@needs("gcc")
def test_clients_that_are_slow_between_their_look_and_the_lock_reach_one_supervisor(world: World) -> None:
    os.makedirs(world.state, 0o700)
    calls = Calls(world)
    calls.build()
    calls.turn("flock=delay")
    world.env |= calls.env
    ask_at_once(world, CLIENTS)
    until(lambda: len(_supervisors(world)) == 1)


@pytest.mark.long
def test_a_supervisor_that_hangs_before_it_is_ready_is_reported_and_no_second_one_starts(world: World) -> None:
    os.makedirs(world.state, 0o700)
    with open(f"{world.state}/failpoints", "w", encoding="ascii") as file:
        file.write("start=hang")
    for _ in range(2):
        done = world.run("supervisor", "start", timeout=4 * DEADLINE_S)
        assert done.returncode == 8, done
        assert done.stderr.startswith(b"orchctl: the supervisor"), done
        assert len(_supervisors(world)) == 1
    os.unlink(f"{world.state}/failpoints")
    for pid in processes_of(world.folder):
        os.kill(pid, 9)
    assert world.ok("supervisor", "start") is not None


def _supervisors(world: World) -> list[int]:
    found = []
    for pid in processes_of(world.folder):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"orchctl.supervisor" in file.read().split(b"\0"):
                found.append(pid)
    return found


def test_sessions_and_supervisor_outlive_a_logout(world: World) -> None:
    runtime = f"{world.folder}/run"
    os.mkdir(runtime, 0o700)
    env = world.env | {"XDG_RUNTIME_DIR": runtime, "TMPDIR": runtime}
    script = '"$0" spawn --name stays -- sh -c "trap : HUP; while :; do sleep 1; done" && kill -HUP 0'
    login = subprocess.run(
        ["sh", "-c", script, ORCHCTL],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert (login.returncode, login.stderr) == (-1, b"")
    supervisor = world.supervisor()
    shutil.rmtree(runtime)  # with the last session of its user
    assert world.json("info", "stays")["is_alive"]
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 3").returncode == 3
    os.kill(supervisor, 9)
    assert world.ok("list", "-q") == world.json("info", "stays")["id"]
    assert world.supervisor() != supervisor


@pytest.fixture
def nobody(world: World) -> Iterator[NobodysWorld]:
    with nobodys_world(world) as made:
        yield made


@needs("root")
def test_with_the_home_of_another_user_nothing_of_that_user_is_touched(nobody: NobodysWorld) -> None:
    theirs = f"{os.path.dirname(nobody.folder)}/theirs"
    os.mkdir(theirs)
    os.chmod(theirs, 0o777)  # sudo kept the variables, and nothing would forbid it
    env = {name: value for name, value in nobody.env.items() if name != "ORCHCTL_STATE_DIR"}
    env |= {"HOME": theirs, "XDG_RUNTIME_DIR": theirs, "XDG_STATE_HOME": theirs, "XDG_CONFIG_HOME": theirs}
    done = nobody.run("spawn", "--json", "true", env=env)
    assert done.returncode == 4, done  # the password entry's own home does not exist
    assert theirs.encode() not in done.stderr
    assert os.listdir(theirs) == []
