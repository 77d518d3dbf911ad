"""Events: each once, in order, whoever has to tell them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest

from orchctl import Client
from tests.world import DEADLINE_S, World, until

Event = dict[str, Any]


def told(world: World, *words: str) -> list[Event]:
    """What `events` prints."""
    return [json.loads(line) for line in world.ok("events", *words).splitlines()]


@pytest.fixture
def shell(world: World) -> str:
    """A bash with an empty home."""
    home = f"{world.folder}/home"
    os.mkdir(home)
    world.env |= {"HOME": home}
    return world.ok("spawn", "--name", "w", "-m", ":team", "-w", home, "bash")


def test_what_happens_to_a_session_is_told_in_order_and_can_be_chosen(world: World, shell: str) -> None:
    world.ok("exec", "w", "echo hi")
    assert world.run("exec", "w", "(exit 3)").returncode == 3
    other = world.ok("spawn", "--wait", "true")
    world.ok("send", "w", "text")
    world.ok("kill", "w")
    until(lambda: [event["state"] for event in told(world, "--type", "session.state", "w")][-1:] == ["closed"])
    events = told(world, "w")
    assert [event["type"] for event in events if event["type"] != "session.state"] == [
        *["command"] * 4,
        "input",
        "input",
    ]
    states = [event for event in events if event["type"] == "session.state"]
    assert [event["state"] for event in states] == ["idle", "bootstrapping", "live", "closed"]
    assert (states[0]["command"], states[-1]["end_reason"]) == (["bash"], "killed")
    ends = [event for event in events if event["type"] == "command" and event["phase"] == "finished"]
    assert [(event["text"], event["exit_code"]) for event in ends] == [("echo hi", 0), ("(exit 3)", 3)]
    assert {(event["session"], event["managed_by"], event["backend"], event["run"]) for event in events} == {
        (shell, "user:team", "pty", 1)
    }
    everything = told(world)
    assert [event["seq"] for event in everything] == sorted({event["seq"] for event in everything})
    assert {event["session"] for event in told(world, "@user:team")} == {shell}
    assert {event["session"] for event in everything} == {shell, other}
    assert told(world, "--since", str(everything[5]["seq"])) == everything[5:]
    assert told(world, "--since", "1h") == everything
    assert told(world, "--since", "0s") == []
    copied = world.run("events", "-q", "--type", "command", "--exec", f"cat >> {world.folder}/copy; false", "w")
    assert copied.returncode == 1
    with open(f"{world.folder}/copy", encoding="ascii") as file:
        assert [json.loads(line) for line in file] == [event for event in events if event["type"] == "command"]


@pytest.mark.parametrize(
    ("words", "code"), [(("--type", "nonsense"), 2), (("--since", "yesterday"), 2), (("nobody",), 3), (("@a b",), 2)]
)
def test_what_cannot_be_told_is_refused(world: World, words: tuple[str, ...], code: int) -> None:
    world.ok("supervisor", "start")
    refused = world.run("events", *words)
    assert refused.returncode == code, refused
    assert refused.stderr.startswith(b"orchctl: ")


def test_no_event_is_lost_or_told_twice_while_the_supervisor_is_killed_again_and_again(
    world: World, long_form: bool
) -> None:
    kills = 100 if long_form else 12
    world.ok("supervisor", "start")
    follower = world.start("events", "-f", "--type", "session.state")
    seen: list[Event] = []
    reader = threading.Thread(target=_collect, args=(follower, seen))
    reader.start()
    rnd = random.Random(4)
    started: list[str] = []
    with world.client() as client:
        for _ in range(kills):
            pid = world.supervisor()
            started += [client.spawn(["sh", "-c", f"exit {number}"]).id for number in range(rnd.randint(1, 4))]
            os.kill(pid, signal.SIGKILL)
        for session in started:
            client.wait(session)
    try:
        until(_all_closed(seen, started), "some were never told")
    finally:
        follower.send_signal(signal.SIGINT)
        follower.wait(DEADLINE_S)
        reader.join()
        assert follower.stdout is not None
        follower.stdout.close()
    for session in started:
        assert [event["state"] for event in seen if event["session"] == session] == ["idle", "live", "closed"]
    numbers = [event["seq"] for event in seen]
    assert numbers == sorted(set(numbers))
    again = [event for event in told(world) if event["type"] == "session.state"]
    assert again == seen
    assert world.run("verify").returncode == 0


def _collect(follower: subprocess.Popen[bytes], seen: list[Event]) -> None:
    assert follower.stdout is not None
    for line in follower.stdout:
        seen.append(json.loads(line))


def _all_closed(seen: list[Event], started: list[str]) -> Callable[[], bool]:
    return lambda: {event["session"] for event in list(seen) if event["state"] == "closed"} >= set(started)


def test_sessions_that_ended_without_a_supervisor_are_told_of_by_the_next_one(world: World) -> None:
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    session = world.ok("spawn", "--", "sh", "-c", f"read go < {gate}; exit 7")
    world.ok("supervisor", "stop", "--leave")
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: b'"exit"' in world.journal(session))
    events = told(world, session)
    assert [event["state"] for event in events] == ["idle", "live", "closed"]
    assert events[-1]["exit_code"] == 7


def test_the_chain_shows_what_was_changed(world: World) -> None:
    session = world.ok("spawn", "--wait", "true")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    with Client(state_dir=world.state) as client:
        head = client.status().chain_head
    assert head is not None
    world.ok("supervisor", "stop")
    (name,) = os.listdir(f"{world.state}/events")
    path = f"{world.state}/events/{name}"
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    with open(path, "wb") as file:
        file.writelines([*lines[:2], *lines[3:]])  # one event less, every line of it good
    found = world.run("verify", "--json")
    assert found.returncode == 1
    assert {one["kind"] for one in json.loads(found.stdout)["findings"]} == {"missing-events"}
