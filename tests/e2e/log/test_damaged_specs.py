"""A session whose files are damaged is listed with what is known of it, can be read, and ends when it is killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest

from tests.world import World, until


def _empty(path: str) -> None:
    os.truncate(path, 0)


def _flip(path: str) -> None:
    """The width of the terminal, as another number."""
    with open(path, "r+b") as file:
        data = file.read()
        file.seek(data.index(b'"cols": ') + len(b'"cols": '))
        file.write(bytes([data[file.tell()] ^ 1]))


def _replace_by_folder(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)


DAMAGE = {"empty": _empty, "flipped": _flip, "removed": os.unlink, "unreadable": _replace_by_folder}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_running_session_without_a_good_spec_is_listed_read_and_killed(world: World, how: str) -> None:
    script = "echo ready; sleep 1000"
    session = world.ok("spawn", "--name", "db", "-m", "boss:one", "sh", "-c", script)
    until(lambda: b"ready" in world.log(session))
    program, supervisor = world.json("info", session)["pid"], world.supervisor()
    DAMAGE[how](f"{world.state}/sessions/{session}/spec.json")
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)
    (found,) = world.json("list")
    assert (found["id"], found["name"], found["managed_by"], found["pid"]) == (session, "db", "boss:one", program)
    assert found["command"] == ["sh", "-c", script]
    assert world.ok("tail", "-n", "all", "db") == "ready"
    _is_named(world, session, "spec.json")
    assert world.ok("kill", "db") == "1"
    assert not os.path.exists(f"/proc/{program}")
    assert world.json("info", session)["end_reason"] == "killed"


@pytest.mark.parametrize("how", DAMAGE)
def test_a_shell_without_a_good_spec_takes_commands(world: World, how: str) -> None:
    session = world.ok("spawn", "bash")
    assert world.ok("exec", session, "x=6; echo $x") == "6"
    DAMAGE[how](f"{world.state}/sessions/{session}/spec.json")
    _next_supervisor(world)
    assert world.ok("exec", session, "echo $((x * 7))") == "42"


def test_a_session_that_was_taken_over_without_its_spec_is_started_again_by_its_policy(world: World) -> None:
    session = world.ok("spawn", "--restart", "on-failure:2", "sh", "-c", "echo run; sleep 1000")
    until(lambda: b"run" in world.log(session))
    spec = f"{world.state}/sessions/{session}/spec.json"
    os.rename(spec, f"{world.folder}/away")
    _next_supervisor(world)
    program = world.json("info", session)["pid"]
    os.rename(f"{world.folder}/away", spec)
    os.kill(program, signal.SIGKILL)
    until(lambda: world.log(session).count(b"run") == 2)


def test_without_events_the_kernel_tells_what_runs(world: World) -> None:
    session = world.ok("spawn", "--no-pty", "sleep", "1000")
    supervisor = world.supervisor()
    with world.client() as client:
        client.stop_supervisor(leave=True)
    until(lambda: not os.path.exists(f"/proc/{supervisor}"))
    _empty(f"{world.state}/sessions/{session}/spec.json")
    for name in os.listdir(f"{world.state}/events"):
        os.unlink(f"{world.state}/events/{name}")
    (found,) = world.json("list")
    assert (found["id"], found["command"], found["backend"]) == (session, ["sleep", "1000"], "pipe")
    assert world.ok("kill", session) == "1"


@pytest.mark.parametrize("damage", [_empty, _flip], ids=["empty", "flipped"])
def test_an_ended_session_with_a_damaged_last_word_is_known_by_its_journals(
    world: World, damage: Callable[[str], None]
) -> None:
    session = world.ok("spawn", "--name", "job", "--wait", "sh", "-c", "echo done")
    ended = f"{world.state}/sessions/{session}/ended.json"
    until(lambda: os.path.exists(ended))
    supervisor = world.supervisor()
    damage(ended)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)
    (found,) = world.json("list", "-a")
    assert (found["id"], found["cols"], found["exit_code"]) == (session, 80, 0)
    _is_named(world, session, "ended.json")
    _empty(f"{world.state}/sessions/{session}/spec.json")
    assert world.ok("tail", "-n", "all", session) == "done"


def _next_supervisor(world: World) -> None:
    supervisor = world.supervisor()
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: world.supervisor() != supervisor)


def _is_named(world: World, session: str, name: str) -> None:
    verified = world.run("verify", "--json")
    findings = json.loads(verified.stdout)["findings"]
    assert verified.returncode == 1
    assert f"sessions/{session}/{name}" in [finding["path"] for finding in findings], findings
