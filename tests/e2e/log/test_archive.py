"""Ended sessions cost a start nothing, and damage to them costs nobody else anything."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from orchctl.plain import to_plain
from orchctl.session.model import EndReason, Session, State
from tests.world import World, fresh_world, until


@pytest.fixture
def in_memory() -> Iterator[World]:
    """A state directory where tens of thousands of files are made and removed in no time."""
    with fresh_world("/dev/shm" if os.path.isdir("/dev/shm") else None) as made:
        yield made


def test_ten_thousand_ended_sessions_are_not_looked_at_before_somebody_asks(in_memory: World) -> None:
    world, count = in_memory, 10_000
    for number in range(count):
        session = f"{number:08x}-0000-4000-8000-000000000000"
        folder = f"{world.state}/sessions/{session}"
        os.makedirs(folder, mode=0o700)
        ended = Session(
            id=session, name="old", created_at=number, state=State.CLOSED, exit_code=0, end_reason=EndReason.EXITED
        )
        for name, text in (("ended.json", json.dumps(to_plain(ended))), ("spec.json", "{"), ("run.jnl", "garbage")):
            with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                file.write(text)
    for folder, _, _ in os.walk(world.state):
        os.chmod(folder, 0o700)
    assert world.json("list") == []
    live = world.ok("spawn", "--name", "new", "--", "sleep", "1000")
    assert [one["id"] for one in world.json("list")] == [live]
    assert world.json("info", "new")["id"] == live
    everything = world.json("list", "-a")
    assert len(everything) == count + 1
    refused = world.run("info", "old", "--json")  # the newest of that name; what it was is damaged
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (3, "damaged-session")
    assert f"{count - 1:08x}" in json.loads(refused.stderr)["message"]


def test_an_ended_session_is_found_by_the_next_supervisor_in_every_way(world: World) -> None:
    first = world.ok("spawn", "--name", "twice", "--", "sh", "-c", "echo one; exit 3")
    second = world.ok("spawn", "--name", "other", "--", "sh", "-c", "echo two")
    for session in (first, second):
        world.run("wait", session)
        until(lambda session=session: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))  # type: ignore[misc]
    world.ok("supervisor", "stop")
    for text in (first, first[:8], "twice"):
        assert world.json("info", text)["exit_code"] == 3
        assert world.ok("tail", text) == "one"
    assert world.json("info", "@last")["id"] == second
    assert [one["id"] for one in world.json("list", "-a")] == [first, second]
    assert world.run("wait", "twice").returncode == 3
    assert world.run("send", "twice", "x").returncode == 3
    live = world.ok("spawn", "--name", "twice", "--", "sleep", "1000")
    assert world.json("info", "twice")["id"] == live


Damage = Callable[[str], None]


def _truncate(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def _flip(path: str) -> None:
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        data[len(data) // 2] ^= 4
        file.seek(0)
        file.write(data)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A state directory with two sessions of several segments and some commands, at rest."""
    kept = str(tmp_path_factory.mktemp("original") / "state")
    with fresh_world() as made:
        os.makedirs(made.state, mode=0o700)
        made.env |= {"HOME": made.folder}
        with open(f"{made.state}/config.toml", "w", encoding="ascii") as file:
            file.write('[retention]\nsession = "64K"\n')
        for name in ("a", "b"):
            made.ok("spawn", "--name", name, "-w", "/", "bash")
            made.ok("exec", name, f"seq 1000 3000; echo {name}")
            made.ok("kill", name)
        until(lambda: len([1 for root, _, names in os.walk(made.state) if "ended.json" in names]) == 2)
        made.ok("supervisor", "stop")
        shutil.copytree(made.state, kept, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
    return kept


@pytest.mark.parametrize(
    ("what", "how"),
    [
        (what, how)
        for what in ("segment", "run.jnl", "commands.jnl", "spec.json", "seals.jnl", "events", "ended.json")
        for how in ("truncated", "bit-flipped", "deleted", "swapped")
        if (what, how) != ("events", "swapped")  # there is only one journal of events
    ],
)
def test_damage_is_named_and_crashes_nothing(world: World, original: str, what: str, how: str) -> None:
    shutil.copytree(original, world.state)
    for folder, _, _ in os.walk(world.state):
        os.chmod(folder, 0o700)
    assert world.run("verify").returncode == 0
    sessions = sorted(os.listdir(f"{world.state}/sessions"))
    one, other = (_file(world, session, what) for session in sessions)
    if how == "swapped":
        other = f"{os.path.dirname(one)}/{sorted(_segments(one))[1]}" if what == "segment" else other
        os.rename(one, f"{one}.x")
        os.rename(other, one)
        os.rename(f"{one}.x", other)
    else:
        {"truncated": _truncate, "bit-flipped": _flip, "deleted": os.unlink}[how](one)
    found = world.run("verify", "--json")
    findings = json.loads(found.stdout)["findings"]
    if (what, how) not in UNSEEN:
        assert found.returncode == 1
        place = (
            f"sessions/{sessions[0]}/out"
            if (what, how) == ("seals.jnl", "swapped")
            else os.path.relpath(one, world.state)
        )
        assert any(finding["path"].startswith(place) for finding in findings), findings
    for words in (["list", "-a"], ["info", sessions[0]], ["tail", "-n", "all", sessions[0]], ["history", sessions[0]]):
        done = world.run(*words)
        assert done.returncode in (0, 3), done
        assert b"Traceback" not in done.stderr
    if how != "swapped":
        assert b"\n3000\n" in world.run("tail", "-n", "all", sessions[1]).stdout
    assert world.ok("spawn", "--follow", "--", "echo", "alive") == "alive"
    with open(f"{world.state}/supervisor.log", encoding="utf-8") as file:
        assert "Traceback" not in file.read()


# What is over is known from the journals too; of events that are gone from the end only a head noted elsewhere tells.
UNSEEN = {
    ("events", "deleted"),
    ("ended.json", "deleted"),
    ("events", "truncated"),
}


def _file(world: World, session: str, what: str) -> str:
    if what == "events":
        folder = f"{world.state}/events"
        return f"{folder}/{sorted(os.listdir(folder))[0]}"
    folder = f"{world.state}/sessions/{session}"
    return f"{folder}/out/{sorted(_segments(f'{folder}/out/x'))[0]}" if what == "segment" else f"{folder}/{what}"


def _segments(beside: str) -> list[str]:
    return [name for name in os.listdir(os.path.dirname(beside)) if name.endswith(".seg")]
