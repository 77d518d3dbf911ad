"""A supervisor that does not start, again and again: sessions go on, clients hear why, and it can be stopped."""

from __future__ import annotations

import json
import os
import signal

from tests.world import DEADLINE_S, World, processes_of, until


def test_clients_are_told_when_the_supervisor_cannot_start_and_sessions_go_on(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "echo here; read line; exit 3")
    _put_failpoint(world, "start=exit")
    os.kill(world.supervisor(), signal.SIGKILL)
    _wait_until_degraded(world)
    for words in (("info", session), ("spawn", "true"), ("supervisor", "start"), ("supervisor", "restart")):
        done = world.run(*words)
        assert (done.returncode, b"does not start" in done.stderr) == (8, True)
    done = world.run("supervisor", "status")
    assert (done.returncode, done.stdout.split()[0], b"ended with status 70" in done.stdout) == (8, b"degraded", True)
    status = json.loads(world.run("supervisor", "status", "--json").stdout)
    assert (status["running"], "does not start" in status["degraded"]) == (False, True)
    assert world.log(session) == b"here\r\n"
    os.unlink(f"{world.state}/failpoints")
    until(lambda: world.run("supervisor", "status").returncode == 0)
    world.ok("send", session, "on")
    assert world.run("wait", session).returncode == 3


def test_a_supervisor_that_cannot_start_tells_its_last_words_and_can_be_stopped(world: World) -> None:
    session = world.ok("spawn", "--name", "s", "sh", "-c", "echo here; read line; exit 3")
    os.rename(f"{world.state}/events", f"{world.state}/events.kept")
    with open(f"{world.state}/events", "w", encoding="ascii") as file:
        file.write("a file where a directory should be\n")
    status = world.json("supervisor", "status")
    os.kill(status["pid"], signal.SIGKILL)
    _wait_until_degraded(world)
    degraded = json.loads(world.run("supervisor", "status", "--json").stdout)["degraded"]
    assert "ended with status 1" in degraded
    assert "NotADirectoryError" in degraded or "FileExistsError" in degraded, degraded
    refused = world.run("supervisor", "stop", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "sessions-live")
    refused = world.run("supervisor", "stop", "--kill", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (8, "degraded")
    assert "1 session cannot be ended" in json.loads(refused.stderr)["message"]
    assert world.ok("supervisor", "stop", "--leave") == "stopped"
    until(lambda: not os.path.exists(f"/proc/{status['zygote']}"))
    assert world.run("supervisor", "status").returncode == 1
    os.unlink(f"{world.state}/events")
    os.rename(f"{world.state}/events.kept", f"{world.state}/events")
    world.ok("send", session, "on")
    assert world.run("wait", session).returncode == 3


def test_a_supervisor_that_cannot_start_and_has_no_sessions_is_just_stopped(world: World) -> None:
    pid = world.supervisor()
    _put_failpoint(world, "start=exit")
    os.kill(pid, signal.SIGKILL)
    _wait_until_degraded(world)
    assert world.ok("supervisor", "stop", "--kill") == "stopped"
    assert processes_of(world.folder) == []


def _wait_until_degraded(world: World) -> None:
    """At first clients wait, as ever; on a busy machine longer than one has patience."""
    until(lambda: world.run("supervisor", "status").stdout.startswith(b"degraded"), deadline_s=2 * DEADLINE_S)


def _put_failpoint(world: World, fault: str) -> None:
    with open(f"{world.state}/failpoints", "w", encoding="ascii") as file:
        file.write(fault)
