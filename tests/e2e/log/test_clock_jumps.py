"""Clocks that are set, and machines that sleep: time limits, leases and what is kept are right all the same."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.agents import kits
from tests.clocks import Clocks
from tests.needs import needs
from tests.world import World, until

pytestmark = needs("gcc")
HOUR_S, DAY_S = 3600, 86400


@pytest.fixture
def clocks(world: World) -> Clocks:
    made = Clocks(world)
    made.start_supervisor()
    return made


def _replace_supervisor(world: World) -> None:
    before = world.supervisor()
    os.kill(before, signal.SIGKILL)
    until(lambda: world.supervisor() != before)


def _wait_for(world: World, session: str, text: bytes) -> None:
    until(lambda: text in world.log(session))


def _begun(world: World, session: str) -> None:
    until(lambda: b'"type":"begin"' in _commands(world, session))


def _commands(world: World, session: str) -> bytes:
    path = f"{world.state}/sessions/{session}/commands.jnl"
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def test_a_clock_that_jumps_ahead_ends_no_command_before_its_time(world: World, clocks: Clocks) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "true")
    running = world.start("exec", session, "--timeout", "300s", f"until [ -e {world.folder}/go ]; do sleep 0.1; done")
    until(lambda: _commands(world, session).count(b'"type":"begin"') == 2)
    clocks.set(real_s=HOUR_S)
    _replace_supervisor(world)
    assert world.ok("list", "-q") == session
    with open(f"{world.folder}/go", "w", encoding="ascii"):
        pass
    running.communicate(timeout=60)
    assert running.returncode == 0
    assert 0 <= world.json("history", session)[-1]["duration_s"] < HOUR_S


def test_a_clock_that_goes_back_keeps_no_command_past_its_time(world: World, clocks: Clocks) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "true")
    running = world.start("exec", session, "--timeout", "3s", "sleep 1000")
    until(lambda: _commands(world, session).count(b'"type":"begin"') == 2)
    clocks.set(real_s=-HOUR_S)
    _replace_supervisor(world)
    running.communicate(timeout=60)
    assert running.returncode == 124


def test_a_limit_on_record_of_an_older_version_still_counts(world: World, clocks: Clocks) -> None:
    session = world.ok("spawn", "bash")
    running = world.start("exec", session, "--timeout", "300s", "sleep 1000")
    _begun(world, session)
    record = json.loads(_commands(world, session).splitlines()[-1].partition(b" ")[2])
    assert record["boot"] == _boot_id()
    assert record["timeout_at"] - record["command"]["started_at"] == pytest.approx(300, abs=60)  # what those read
    assert world.ok("kill", session) == "1"
    running.communicate(timeout=60)


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


@pytest.mark.parametrize("replaced", [False, True], ids=["same-supervisor", "next-supervisor"])
def test_a_clock_that_jumps_ahead_takes_no_session_away(world: World, clocks: Clocks, replaced: bool) -> None:
    session = world.ok("spawn", "--wait", "true")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    until(lambda: os.path.exists(f"{world.state}/clock.json"))
    clocks.set(real_s=40 * DAY_S)
    if replaced:
        _replace_supervisor(world)
    assert world.json("prune", "--dry-run")["sessions"] == []
    assert [one["id"] for one in world.json("list", "-a")] == [session]
    clocks.set(real_s=40 * DAY_S, boot_s=2 * DAY_S)  # it is still so after two days: it is right
    assert world.json("prune", "--dry-run")["sessions"] == [session]


def test_a_lease_ends_while_the_machine_sleeps(world: World, clocks: Clocks) -> None:
    session = world.ok("spawn", "cat")
    world.ok("lease", "take", session, "--ttl", "10m")
    assert world.run("send", session, "refused").returncode == 5
    clocks.set(real_s=HOUR_S)  # not a second of it has passed
    assert world.run("send", session, "refused").returncode == 5
    clocks.set(real_s=HOUR_S, boot_s=HOUR_S)
    world.ok("send", session, "typed")
    until(lambda: b"typed" in world.log(session))


@pytest.mark.parametrize("pipe", [False, True], ids=["terminal", "pipe"])
def test_a_command_is_past_its_time_after_a_sleep_of_the_machine(world: World, clocks: Clocks, pipe: bool) -> None:
    session = world.ok("spawn", "bash")
    world.ok("exec", session, "true")
    options = ["--timeout", "1h", *(["--pipe"] if pipe else [])]
    running = world.start("exec", session, *options, "sleep 1000")
    until(lambda: _commands(world, session).count(b'"type":"begin"') == 2)
    clocks.set(real_s=2 * HOUR_S)  # not a second of it has passed
    assert world.ok("list", "-q") == session
    assert running.poll() is None
    clocks.set(real_s=2 * HOUR_S, boot_s=2 * HOUR_S)
    running.communicate(timeout=30)
    assert running.returncode == 124


@pytest.mark.parametrize(("option", "reason"), [("--timeout", "timeout"), ("--idle-timeout", "idle-timeout")])
def test_a_session_is_past_its_time_after_a_sleep_of_the_machine(
    world: World, clocks: Clocks, option: str, reason: str
) -> None:
    session = world.ok("spawn", option, "1h", "sleep", "1000")
    clocks.set(boot_s=2 * HOUR_S)
    until(lambda: b'"empty"' in world.journal(session), deadline_s=30)  # nobody wakes its pair by a question
    assert world.json("info", session)["end_reason"] == reason


def test_a_conversation_is_idle_while_the_machine_sleeps(world: World, clocks: Clocks) -> None:
    with kits.scripted(world) as kit:
        with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
            file.write(kit.config)
        session = world.ok("spawn", "--profile", kit.profile, "--idle-timeout", "1h")
        clocks.set(boot_s=2 * HOUR_S)
        until(lambda: world.json("info", session)["end_reason"] == "idle-timeout")


def test_output_is_in_its_order_whatever_the_clock_does(world: World, clocks: Clocks) -> None:
    session = world.ok("spawn", "sh", "-c", "while read line; do echo got $line; done")
    for number, real_s in enumerate((0, -DAY_S, 10 * 365 * DAY_S, -50 * 365 * DAY_S, 0)):
        clocks.set(real_s=real_s)
        world.ok("send", session, str(number))
        _wait_for(world, session, b"got %d" % number)
    lines = [line for line in world.ok("tail", "-n", "all", session).splitlines() if line.startswith("got")]
    assert lines == [f"got {number}" for number in range(5)]
    assert world.run("verify").returncode == 0
