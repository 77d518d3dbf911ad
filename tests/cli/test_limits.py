"""Limits as a user meets them: refused with a reason, told, shown, and nothing of the refused session is made."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchctl.errors import LimitReached
from tests.world import World, until

AGENT = "orchestrator:coordinator-001"


def _row(world: World, manager: str | None, kind: str, *words: str) -> dict[str, object]:
    done = world.run("limits", *words, "--json")
    (row,) = [one for one in json.loads(done.stdout) if (one["manager"], one["limit"]) == (manager, kind)]
    return dict(row)


def test_a_session_past_the_limit_is_refused_and_nothing_of_it_is_made(world: World) -> None:
    world.ok("config", "set", f"limits.{AGENT}.sessions", "2")
    for name in (AGENT, f"{AGENT}:codegen"):
        world.ok("spawn", "-m", name, "--", "sleep", "1000")
    there = sorted(os.listdir(f"{world.state}/sessions"))
    refused = world.run("spawn", "-m", f"{AGENT}:tests", "--json", "--", "sleep", "1000")
    assert refused.returncode == 6
    error = json.loads(refused.stderr)
    assert error["code"] == "limit-reached"
    assert f"'sessions' of 2 live sessions for {AGENT} and below" in error["message"]
    assert refused.stdout == b""
    assert sorted(os.listdir(f"{world.state}/sessions")) == there
    assert world.run("spawn", "--wait", "-m", AGENT, "--", "true").returncode == 125
    (first, _) = [json.loads(line) for line in world.ok("events", "--type", "limit").splitlines()]
    assert {name: first[name] for name in ("session", "who", "limit", "owner", "value", "used")} == {
        "session": None,
        "who": f"{AGENT}:tests",
        "limit": "sessions",
        "owner": AGENT,
        "value": 2,
        "used": 2,
    }
    world.ok("spawn", "-m", "orchestrator:coordinator-0012", "--", "sleep", "1000")
    world.ok("kill", "--grace", "0s", there[0])
    world.ok("spawn", "-m", f"{AGENT}:tests", "--", "sleep", "1000")


def test_however_many_ask_at_once_no_more_than_the_limit_start(world: World) -> None:
    world.ok("config", "set", "limits.total", "5")
    world.supervisor()
    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda _: world.run("spawn", "--", "sleep", "1000").returncode, range(12)))
    assert sorted(done) == [0] * 5 + [6] * 7
    assert len(world.json("list")) == 5


def test_the_library_gets_the_same_error(world: World) -> None:
    world.ok("config", "set", "limits.user.sessions", "0")
    with world.client() as client, pytest.raises(LimitReached) as caught:
        client.spawn(["true"])
    assert (caught.value.code, caught.value.exit_status) == ("limit-reached", 6)


def test_output_is_limited_also_that_of_ended_sessions(world: World) -> None:
    world.ok("config", "set", "limits.user.log", "2000")
    session = world.ok("spawn", "--wait", "--", "seq", "1", "1000")
    until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
    refused = world.run("spawn", "-m", "user:a", "--", "true")
    assert refused.returncode == 6
    assert b"the limit 'log' of 2.0K" in refused.stderr
    assert _row(world, "user", "log")["used"] == len(world.log(session))
    world.ok("prune", session)
    world.ok("spawn", "--wait", "-m", "user:a", "--", "true")


def test_time_and_idle_time_are_bounds_and_defaults(world: World) -> None:
    world.ok("config", "set", "limits.time", "1h")
    world.ok("config", "set", "limits.user:a.time", "500ms")
    world.ok("config", "set", "limits.user:b.idle", "500ms")
    for asked, expected in (((), 3600.0), (("--timeout", "5m"), 300.0), (("--timeout", "2d"), 3600.0)):
        session = world.ok("spawn", *asked, "--", "sleep", "1000")
        assert world.json("info", session)["timeout_s"] == expected
    for name, reason in (("user:a", "timeout"), ("user:b", "idle-timeout")):
        done = world.run("spawn", "--wait", "--json", "-m", name, "--timeout", "1h", "--", "sleep", "1000")
        assert done.returncode == 124
        assert json.loads(done.stdout)["end_reason"] == reason


def test_an_ended_session_comes_back_only_where_there_is_room(world: World) -> None:
    world.ok("config", "set", "limits.sessions", "1")
    session = world.ok("spawn", "--wait", "--", "true")
    other = world.ok("spawn", "--", "sleep", "1000")
    assert world.run("restart", session).returncode == 6
    world.ok("restart", "--grace", "0s", other)
    assert len(world.json("list")) == 1


def test_a_changed_limit_holds_at_once_and_what_runs_goes_on(world: World) -> None:
    for number in (3, 1):
        world.ok("config", "set", "limits.sessions", str(number))
        if number == 3:
            for _ in range(3):
                world.ok("spawn", "--", "sleep", "1000")
        assert world.run("spawn", "--", "true").returncode == 6
    assert len(world.json("list")) == 3
    world.ok("config", "set", "limits.sessions", "none")
    world.ok("spawn", "--wait", "--", "true")


def test_limits_and_their_use_are_shown_with_and_without_a_supervisor(world: World) -> None:
    assert world.json("limits") == [
        {"manager": None, "limit": "total", "value": None, "used": 0, "origin": "default", "line": None}
    ]
    assert not os.path.exists(world.state)
    world.ok("config", "set", f"limits.{AGENT}.sessions", "2")
    world.ok("config", "set", "limits.idle", "1h")
    for name in (AGENT, f"{AGENT}:a", "user"):
        world.ok("spawn", "-m", name, "--", "sleep", "1000")
    world.ok("spawn", "--wait", "--", "echo", "four")
    for running in (True, False):
        assert world.run("supervisor", "status").returncode == int(not running)
        assert _row(world, AGENT, "sessions") == {
            "manager": AGENT,
            "limit": "sessions",
            "value": 2,
            "used": 2,
            "origin": "file",
            "line": 2,
        }
        assert _row(world, None, "total")["used"] == 3
        assert (_row(world, "user", "sessions")["value"], _row(world, "user", "sessions")["used"]) == (200, 1)
        assert _row(world, "user", "log")["used"] == 6
        assert _row(world, "user", "idle", "user:x")["value"] == 3600.0
        if running:
            world.ok("supervisor", "stop", "--leave")
    done = world.run("limits")
    assert done.returncode == 1
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert lines[0] == ["MANAGER", "LIMIT", "VALUE", "USED", "ORIGIN"]
    assert [AGENT, "sessions", "2", "2", "config.toml:2"] in lines
    assert ["user", "idle", "1h", "-", "config.toml:5"] in lines
    assert world.run("limits", "user").returncode == 0
    assert world.run("limits", "a::b").returncode == 2
    assert world.run("supervisor", "status").returncode == 1
