"""A machine that has no process, terminal or memory to give: what is asked for fails clearly, and nothing else does."""

from __future__ import annotations

import json
import os
import signal
import subprocess

from tests.e2e import pair_processes
from tests.e2e.injection import injected
from tests.needs import needs
from tests.world import DEADLINE_S, ORCHCTL, World, until

FORKS = "clone,?clone3,?fork,?vfork"


def _zygote(world: World) -> int:
    return int(world.json("supervisor", "status")["zygote"])


@needs("strace", "root")
def test_a_zygote_that_cannot_fork_refuses_the_session_and_lives(world: World) -> None:
    """F34."""
    live = world.ok("spawn", "--", "sh", "-c", "read go; exit 3")
    zygote = _zygote(world)
    with injected(zygote, FORKS, "error=EAGAIN"):
        refused = world.run("spawn", "--json", "--", "true")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "no-resources")
        assert os.strerror(11).encode() in refused.stderr
        assert world.run("spawn", "--wait", "--", "true").returncode == 125
    assert [one["id"] for one in world.json("list", "-a")] == [live]
    assert _zygote(world) == zygote
    world.ok("send", live, "go")
    with world.client() as client:
        assert client.wait(live).exit_code == 3
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 4").returncode == 4


@needs("strace", "root")
def test_a_zygote_that_cannot_fork_tries_again_to_start_a_supervisor(world: World) -> None:
    """F34."""
    session = world.ok("spawn", "--", "sleep", "1000")
    zygote, supervisor = _zygote(world), world.supervisor()
    with injected(zygote, FORKS, "error=EAGAIN:when=1..3"):
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: world.supervisor() != supervisor)
    assert _zygote(world) == zygote
    assert world.json("info", session)["is_alive"]


@needs("strace", "root")
def test_a_keeper_that_cannot_fork_tries_again_to_start_a_mover(world: World) -> None:
    """F34."""
    session = world.ok("spawn", "--", "sh", "-c", "read go; echo got $go; exit 5")
    keeper = pair_processes.keeper(world, session)
    with injected(keeper, FORKS, "error=EAGAIN:when=1..2"):
        pair_processes.kill_mover(world, session)
        world.ok("send", session, "on")
        with world.client() as client:
            assert client.wait(session).exit_code == 5
    assert world.log(session) == b"on\r\ngot on\r\n"


@needs("strace", "root")
def test_a_supervisor_that_cannot_fork_tries_again_to_start_a_zygote(world: World) -> None:
    """F34."""
    session = world.ok("spawn", "--", "sleep", "1000")
    zygote, supervisor = _zygote(world), world.supervisor()
    with injected(supervisor, "clone,?fork,?vfork", "error=EAGAIN:when=1..2"):
        os.kill(zygote, signal.SIGKILL)
        until(lambda: world.json("supervisor", "status")["zygote"] not in (None, zygote))
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 4").returncode == 4
    assert (world.supervisor(), world.json("info", session)["is_alive"]) == (supervisor, True)


_FEW_TERMINALS = """
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,max=2 devpts /dev/pts && exec "$@"
"""


@needs("namespaces")
def test_without_a_terminal_left_the_asker_is_told_so_and_one_is_free_after_an_end(world: World) -> None:
    """F35: two terminals in all, for everything that is started from this supervisor."""
    words = ["unshare", "--mount", "sh", "-c", _FEW_TERMINALS, "sh", ORCHCTL, "supervisor", "run"]
    with subprocess.Popen(words, env=world.env, stderr=subprocess.PIPE) as running:
        try:
            until(lambda: world.run("supervisor", "status").returncode == 0)
            taken = [world.ok("spawn", "--", "sleep", "1000") for _ in range(2)]
            refused = world.run("spawn", "--json", "--", "sleep", "1000")
            assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "no-resources")
            assert b"pseudo-terminal" in refused.stderr
            assert world.run("spawn", "--wait", "--no-pty", "--", "true").returncode == 0  # that needs none
            assert sorted(one["id"] for one in world.json("list")) == sorted(taken)
            world.ok("kill", "--grace", "0s", taken[0])
            assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 6").returncode == 6
        finally:
            world.end()
            running.communicate(timeout=DEADLINE_S)
