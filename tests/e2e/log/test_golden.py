"""What an older version wrote opens for ever: a log and its journals, as they were when this format was laid down."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

import pytest

from tests.world import World

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "golden", "v1")
SHELL, PLAIN = "38e997b8-c150-4614-9bbd-d5bb095dc021", "30f8a9da-a06b-4018-bb4a-fb8b2f1bd402"


@pytest.fixture(params=["put away", "as it was left"])
def old(world: World, request: pytest.FixtureRequest) -> World:
    """The state directory of that version; also without the last words, as a crash would have left it."""
    shutil.copytree(GOLDEN, world.state)
    for folder, _, names in os.walk(world.state):
        os.chmod(folder, 0o700)
        if request.param != "put away" and "ended.json" in names:
            os.unlink(f"{folder}/ended.json")
    return world


def test_sessions_output_history_and_events_are_what_they_were(old: World) -> None:
    assert old.run("verify").returncode == 0
    assert [(one["id"], one["name"]) for one in old.json("list", "-a")] == [(SHELL, "shell"), (PLAIN, "plain")]
    shell, plain = old.json("info", "shell"), old.json("info", "plain")
    assert (shell["exit_code"], shell["end_reason"], shell["state"]) == (5, "exited", "closed")
    assert (plain["signal"], plain["end_reason"], plain["managed_by"]) == (9, "signaled", "orchestrator:golden-1")
    assert (shell["output"]["first_offset"], shell["output"]["kept_bytes"]) == (8192, 15779)
    raw = old.run("tail", "--raw", "-n", "all", "shell").stdout
    assert hashlib.sha256(raw).hexdigest() == "f10ca222aedaf97fd569648137b56ae0cff7e9ea6c3e5abe1ae3271cfb9ccda4"
    assert old.run("tail", "-n", "all", "plain").stdout == b"caf\xc3\xa9\xff\n"
    assert [(one["text"], one["exit_code"]) for one in old.json("history", "shell")] == [
        ("seq 1 4000", 0),
        ("echo one; echo two >&2; (exit 3)", 3),
    ]
    assert old.run("tail", "--command", "2", "shell").stdout == b"one\ntwo\n"
    events = [json.loads(line) for line in old.ok("events").splitlines()]
    assert [event["state"] for event in events if event["type"] == "session.state"] == [
        *("idle", "bootstrapping", "live", "closed"),
        *("idle", "live", "closed"),
    ]
    assert [event["exit_code"] for event in events if event.get("phase") == "finished"] == [0, 3, 0]
    assert old.run("tail", "-t", "-n", "1", "plain").stdout.startswith(b"2026-")


def test_it_goes_on_from_there(old: World) -> None:
    before = [json.loads(line)["seq"] for line in old.ok("events").splitlines()]
    old.ok("spawn", "--wait", "true")
    after = [json.loads(line)["seq"] for line in old.ok("events").splitlines()]
    assert after[: len(before)] == before
    assert after[len(before) :] == list(range(before[-1] + 1, before[-1] + 4))
    assert old.run("verify").returncode == 0
