"""System calls that do a part, are interrupted, or fail: every byte is where it belongs, and what failed is told."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter

import pytest

from tests.calls import Calls
from tests.needs import needs
from tests.programs import pour, pour_digest
from tests.world import World, until

pytestmark = needs("gcc")
KB = 1024
SIZE = 400 * KB


@pytest.fixture
def calls(world: World) -> Calls:
    world.keep_of_each_session("512K")  # 64 KiB a segment, so that there are some
    made = Calls(world)
    made.start_supervisor()
    return made


def _put(world: World, session: str, name: str) -> None:
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/{name}"), f"no {name}")


@pytest.mark.parametrize("pty", [True, False], ids=["terminal", "pipes"])
def test_output_is_whole_where_every_call_takes_a_part_or_is_interrupted(world: World, calls: Calls, pty: bool) -> None:
    calls.turn("write=short")
    program = pour(SIZE, seed=7, exit_code=5) if pty else ["sh", "-c", f"seq 1 60000 | tee {world.folder}/due; exit 5"]
    with world.client() as client:
        session = client.spawn(program, pty=pty).id
        assert client.wait(session).exit_code == 5
    digest = hashlib.sha256(world.log(session)).hexdigest()
    if pty:
        assert digest == pour_digest(SIZE, seed=7)
    else:
        with open(f"{world.folder}/due", "rb") as file:
            assert digest == hashlib.sha256(file.read()).hexdigest()
    _put(world, session, "ended.json")
    assert world.run("verify").returncode == 0
    assert world.run("audit", "--verify").returncode == 0


def test_input_and_commands_are_whole_where_every_call_takes_a_part_or_is_interrupted(
    world: World, calls: Calls
) -> None:
    calls.turn("write=short")
    script = f"stty raw -echo; echo ready; head -c 60000 > {world.folder}/typed; echo done; cat"
    with world.client() as client:
        reader = client.spawn(["sh", "-c", script]).id
        until(lambda: b"ready" in world.log(reader))
        typed = bytes(range(32, 112)) * 750
        client.send(reader, typed)
        until(lambda: b"done" in world.log(reader))
        with open(f"{world.folder}/typed", "rb") as file:
            assert file.read() == typed
        shell = client.spawn(["bash"]).id
        for number in range(4):
            result = client.exec(shell, f"seq 3000; (exit {number})", pipe=number == 3)
            assert (result.exit_code, result.output) == (number, b"".join(b"%d\n" % one for one in range(1, 3001)))
        assert [one.exit_code for one in client.history(shell)] == [0, 1, 2, 3]
        client.kill(reader, shell)
    assert world.run("verify").returncode == 0


def _open(gate: str) -> None:
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")


def test_a_segment_whose_sync_fails_is_suspect_and_is_never_synced_again(world: World, calls: Calls) -> None:
    gate, next_gate = f"{world.folder}/gate", f"{world.folder}/next"  # one each: the first writer may still be there
    os.mkfifo(gate)
    os.mkfifo(next_gate)
    with world.client() as client:
        script = f"read go < {gate}; echo one; read go < {next_gate}; echo two; sleep 1000"  # each word is one write
        session = client.spawn(["sh", "-c", script]).id
        calls.turn("segments=EIO")
        _open(gate)
        segment = f"{world.state}/sessions/{session}/out/{0:020d}.seg"
        until(lambda: segment in calls.failures)
        seals = f"{world.state}/sessions/{session}/seals.jnl"
        _put(world, session, "seals.jnl")
        calls.turn("")
        _open(next_gate)  # into a segment of its own
        until(lambda: world.log(session).endswith(b"two\r\n"))
        client.kill(session)
    _put(world, session, "ended.json")
    assert Counter(calls.failures)[segment] == 1
    with open(seals, encoding="ascii") as file:
        said = [json.loads(line.partition(" ")[2]) for line in file]
    assert [one["start"] for one in said if one["type"] == "suspect"] == [0]
    assert [one["start"] for one in said if one["type"] == "sealed"] == [len(b"one\r\n")]
    assert world.log(session) == b"one\r\ntwo\r\n"
    verified = world.run("verify")
    assert verified.returncode == 1
    assert session.encode() in verified.stdout + verified.stderr
    events = [json.loads(line) for line in world.ok("events", "--type", "error", session).splitlines()]
    assert [one["code"] for one in events] == ["suspect"]


def test_a_segment_that_cannot_be_begun_holds_the_program_up_and_loses_nothing(world: World, calls: Calls) -> None:
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    with world.client() as client:
        session = client.spawn(["sh", "-c", f"stty -opost; read go < {gate}; seq 1 40000; exit 4"]).id
        until(lambda: client.info(session).is_alive)
        calls.turn("open=ENOSPC")
        _open(gate)
        until(lambda: world.json("info", session)["stalled"])
        refused = world.run("spawn", "--json", "true")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "no-space")
        assert world.ok("list", "-q") == session  # nothing is half created
        calls.turn("")
        assert client.wait(session).exit_code == 4
    due = b"".join(b"%d\n" % number for number in range(1, 40001))
    assert world.log(session) == due
    _put(world, session, "ended.json")
    assert os.listdir(f"{world.state}/sessions") == [session]
    assert world.run("verify").returncode == 0
