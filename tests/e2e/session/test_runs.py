"""Runs: the same session and log, started again by hand or by its policy, once for each end, whoever was down."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.world import World, until


def test_a_session_is_restarted_with_the_same_id_and_log(world: World) -> None:
    session = world.ok("spawn", "--name", "s", "--", "sh", "-c", "echo run; sleep 1000")
    until(lambda: world.log(session) == b"run\r\n")
    before = world.json("info", "s")
    assert world.ok("restart", "--grace", "100ms", "s") == "run 2"
    after = world.json("info", "s")
    assert (after["id"], after["run"], after["state"]) == (session, 2, "live")
    assert after["pid"] != before["pid"]
    assert not os.path.exists(f"/proc/{before['pid']}")
    until(lambda: world.log(session) == b"run\r\n" * 2)
    world.ok("kill", "--grace", "0s", "s")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    assert world.ok("restart", "s") == "run 3"  # one that was over, too
    until(lambda: world.log(session) == b"run\r\n" * 3)
    events = [json.loads(line) for line in world.ok("events", "--type", "session.state", "s").splitlines()]
    assert [(event["run"], event["state"]) for event in events] == [
        (1, "idle"),
        (1, "live"),
        (1, "closed"),
        (2, "live"),
        (2, "closed"),
        (3, "live"),
    ]
    world.ok("supervisor", "stop", "--leave")
    assert world.json("info", "s")["run"] == 3
    world.ok("kill", "--grace", "0s", "s")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    assert world.run("verify").returncode == 0


def test_another_run_has_the_environment_of_the_first_and_none_of_it_stays_on_disk(world: World) -> None:
    script = "echo $SECRET-$WHO; read go"
    session = world.ok("spawn", "--name", "s", "-e", "SECRET=swordfish", "--", "sh", "-c", script)
    kept = f"{world.state}/sessions/{session}/env.json"
    for number in (2, 3):
        until(lambda: world.log(session).count(b"\n") == number - 1)  # noqa: B023
        assert not os.path.exists(kept)
        other = world.env | {"WHO": "somebody else", "SECRET": "another"}
        assert world.ok("restart", "--grace", "0s", "s", env=other) == f"run {number}"
    until(lambda: world.log(session) == b"swordfish-\r\n" * 3)
    assert not os.path.exists(kept)
    _, keeper = _program_and_keeper(world, "s")
    os.kill(keeper, signal.SIGKILL)  # the mover that takes its place knows it too
    until(lambda: world.json("info", "s")["degraded"])
    world.ok("restart", "--grace", "0s", "s")
    until(lambda: world.log(session) == b"swordfish-\r\n" * 4)
    world.ok("kill", "--grace", "0s", "s")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    files = [f"{top}/{name}" for top, _, names in os.walk(world.state) for name in names if not name.endswith(".seg")]
    for path in filter(os.path.isfile, files):
        with open(path, "rb") as file:
            assert b"swordfish" not in file.read(), path
    world.ok("restart", "s", env=world.env | {"WHO": "me"})  # nobody knows it any more
    until(lambda: world.log(session).endswith(b"\r\n-me\r\n"))


def test_a_policy_does_not_change_what_another_run_by_hand_has(world: World) -> None:
    world.ok(
        "spawn", "--name", "s", "--restart", "on-failure", "-e", "MARK=kept", "--", "sh", "-c", "echo $MARK; read go"
    )
    world.ok("restart", "--grace", "0s", "s")
    until(lambda: world.ok("tail", "s") == "kept\nkept")


def _program_and_keeper(world: World, session: str) -> tuple[int, int]:
    pid = world.json("info", session)["pid"]
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return pid, int(file.read().rpartition(")")[2].split()[1])


def test_a_shell_that_is_restarted_takes_commands_again(world: World) -> None:
    home = f"{world.folder}/home"
    os.mkdir(home)
    world.env |= {"HOME": home}
    world.ok("spawn", "--name", "w", "-w", home, "bash")
    assert world.ok("exec", "w", "x=1; echo $x$$") != ""
    world.ok("restart", "--grace", "0s", "w")
    assert world.ok("exec", "w", "echo [$x]") == "[]"
    assert [one["number"] for one in world.json("history", "w")] == [1, 2]


def test_a_policy_starts_it_again_until_it_is_content(world: World) -> None:
    tries = f"{world.folder}/tries"
    script = f"echo x >> {tries}; [ $(wc -l < {tries}) -ge 3 ] || exit 5; echo $MARK; exit 0"
    session = world.ok("spawn", "--restart", "on-failure", "-e", "MARK=kept", "--", "sh", "-c", script)
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    ended = world.json("info", session)
    assert (ended["run"], ended["exit_code"], ended["restart"]) == (3, 0, "on-failure")
    assert world.ok("tail", session) == "kept"
    assert not os.path.exists(f"{world.state}/sessions/{session}/env.json")
    limited = world.ok("spawn", "--restart", "on-failure:2", "--", "sh", "-c", "echo again; exit 9")
    until(lambda: os.path.exists(f"{world.state}/sessions/{limited}/ended.json"))
    assert (world.json("info", limited)["run"], world.log(limited)) == (3, b"again\r\n" * 3)


def test_a_kill_ends_it_for_good(world: World) -> None:
    session = world.ok("spawn", "--name", "s", "--restart", "always", "--", "sh", "-c", "exit 1")
    until(lambda: world.json("info", "s")["run"] >= 3)
    world.ok("kill", "s")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    runs = world.json("info", session)["run"]
    assert world.json("list") == []
    world.ok("supervisor", "stop")
    assert world.json("info", session)["run"] == runs


def test_an_end_while_no_supervisor_runs_is_followed_by_one_run_later(world: World) -> None:
    runs = f"{world.folder}/runs"
    session = world.ok("spawn", "--restart", "always", "--", "sh", "-c", f"echo $$ >> {runs}; sleep 1000")
    until(lambda: os.path.exists(runs) and os.path.getsize(runs))
    pid = world.json("info", session)["pid"]
    world.ok("supervisor", "stop", "--leave")
    os.kill(pid, signal.SIGKILL)
    until(lambda: b'"exit"' in world.journal(session))
    for _ in range(3):  # killed while it is at it
        os.kill(world.supervisor(), signal.SIGKILL)
    until(lambda: world.json("info", session)["run"] == 2 and world.json("info", session)["is_alive"])
    with open(runs, encoding="ascii") as file:
        assert len(file.readlines()) == 2


@pytest.mark.parametrize("policy", ["sometimes", "on-failure:0"])
def test_policies_that_are_none_are_refused(world: World, policy: str) -> None:
    refused = world.run("spawn", "--restart", policy, "true")
    assert refused.returncode == 2
    assert world.json("list", "-a") == []


def test_a_terminal_keeps_the_size_it_was_given_in_the_next_run(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "stty size; sleep 1000")
    world.ok("wait", session, "--for", "output=24 80")
    world.ok("resize", session, "100x30")
    world.ok("restart", session)
    world.ok("wait", session, "--for", "output=30 100")
    assert (world.json("info", session)["cols"], world.json("info", session)["rows"]) == (100, 30)
