"""What agents say, as events: in its place among the others, each byte once, and never journalled."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from orchctl import AsyncClient, Chunk, Selection
from tests.agents import kits
from tests.agents.stage import Stage
from tests.world import World, until

Event = dict[str, Any]


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    """The scripted harness, configured."""
    with kits.scripted(world) as kit:
        kit.prepare(world)
        yield Stage(world, kit)


def _lines(text: str | Iterable[bytes]) -> list[Event]:
    return [json.loads(line) for line in (text.splitlines() if isinstance(text, str) else text)]


def _events(stage: Stage, *words: str) -> list[Event]:
    return _lines(stage.world.ok("events", *words))


def _told(events: list[Event], start: int = 0) -> str:
    """The text of all output, after a look at its places."""
    pieces = [event for event in events if event["type"] == "output"]
    assert not pieces or pieces[0]["offset"] == start
    assert all(before["end"] == after["offset"] for before, after in itertools.pairwise(pieces))
    assert not any("seq" in piece for piece in pieces)
    return "".join(piece["text"] for piece in pieces)


def _transcript(stage: Stage, name: str = "it") -> str:
    return stage.world.run("tail", "-n", "all", name).stdout.decode()


def _gist(event: Event) -> str:
    """One word for each."""
    if event["type"] == "output":
        return str(event["text"])
    return " ".join([event["type"], *(str(event[name]) for name in ("state", "phase") if name in event)])


def test_what_an_agent_says_stands_between_what_it_does(stage: Stage) -> None:
    stage.spawn()
    stage.says("say before\ntool ls\nsay äfter")
    events = _events(stage, "it")
    assert [_gist(event) for event in events if event["type"] not in ("session.state", "checkpoint")] == [
        "> say before\n> tool ls\n> say äfter\n",
        "input",
        "turn started",
        "before\n[command: ls]\n",
        "tool started",
        "tool updated",
        "tool finished",
        "äfter\n",
        "turn finished",
    ]
    assert _told(events) == _transcript(stage)
    with open(f"{stage.world.state}/events/{min(os.listdir(f'{stage.world.state}/events'))}", "rb") as file:
        assert b'"output"' not in file.read().replace(b'"output":', b"")


def test_from_a_number_on_it_begins_where_the_event_before_that_left_it(stage: Stage) -> None:
    stage.spawn()
    stage.says("say one\ntool ls\nsay two")
    stage.says("say three")
    events = _events(stage, "it")
    for at, event in enumerate(events):
        if event["type"] in ("tool", "turn"):
            later = _events(stage, "--since", str(event["seq"]), "it")
            before = [one["offset"] for one in events[:at] if "offset" in one and "seq" in one]
            assert _told(later, start=before[-1]) == _transcript(stage).encode()[before[-1] :].decode()
    assert _events(stage, "--since", str(events[-1]["seq"] + 1), "it") == []


def test_types_choose_output_like_anything_else(stage: Stage) -> None:
    stage.spawn()
    stage.world.ok("spawn", "--name", "program", "sh", "-c", "echo hello; sleep 1000")
    until(lambda: stage.world.ok("tail", "program") == "hello")
    stage.says("say one")
    assert {event["type"] for event in _events(stage, "--type", "turn")} == {"turn"}
    assert {event["session"] for event in _events(stage) if event["type"] == "output"} == {
        stage.world.json("info", "it")["id"]
    }
    (of_program,) = _events(stage, "--type", "output", "program")
    assert (of_program["offset"], of_program["end"], "text" in of_program) == (0, 7, False)
    assert {event["type"] for event in _events(stage, "--type", "output")} == {"output"}


def test_whoever_follows_has_it_while_it_is_said_and_once_through_killed_supervisors(stage: Stage) -> None:
    stage.spawn()
    following = stage.world.start("events", "-f", "it")
    assert following.stdout is not None
    events: list[Event] = []
    asking = stage.world.start("exec", "it", "count 300 10\nask file\nsay over", stderr=subprocess.PIPE)
    kills = 0
    for line in following.stdout:
        events.append(json.loads(line))
        if events[-1]["type"] == "output" and len(events) > 10 * (kills + 1) and kills < 3:
            stage.kill_supervisor()
            kills += 1
        if events[-1]["type"] == "needs-input":
            stage.world.ok("approve", "it")
        if events[-1]["type"] == "turn" and events[-1]["phase"] == "finished":
            break
    following.send_signal(signal.SIGTERM)
    following.communicate()
    asking.communicate(timeout=60)
    assert (kills, asking.returncode) == (3, 0)
    assert _told(events) == _transcript(stage)
    numbers = [event["seq"] for event in events if "seq" in event]
    assert numbers == sorted(set(numbers))
    # it came in pieces, while it was said
    assert len([event for event in events if event["type"] == "output"]) > 10
    for event in events:
        if event["type"] != "output" and "offset" in event:
            before = [one["end"] for one in events[: events.index(event)] if one["type"] == "output"]
            assert before == [] or before[-1] == event["offset"]


def test_tail_as_json_is_the_events_of_the_same_part(stage: Stage) -> None:
    stage.spawn()
    stage.says("say one\nsay two")
    stage.says("tool ls\nsay three")
    whole = _lines(stage.world.ok("tail", "--json", "-n", "all", "it"))
    assert whole == _events(stage, "it")
    last = _lines(stage.world.ok("tail", "--json", "-n", "2", "it"))
    assert [_gist(event) for event in last] == [
        "[command: ls]\n",
        "tool started",
        "tool updated",
        "tool finished",
        "three\n",
        "turn finished",
        "checkpoint",
    ]
    start = len(_transcript(stage).encode()) - len("three\n")
    assert _gist(_lines(stage.world.ok("tail", "--json", "--since", f"@{start}", "it"))[0]) == "three\n"
    assert stage.world.run("tail", "--json", "--since", "@99999", "it").returncode == 2
    raw = _lines(stage.world.ok("tail", "--json", "--raw", "-n", "1", "it"))
    assert {"output"} == {event["type"] for event in raw}


def test_tail_follows_as_json_to_the_end_of_a_conversation_beside_programs(stage: Stage) -> None:
    team = "orchestrator:team-1"
    stage.spawn("it", "-m", team)
    stage.world.ok("spawn", "-m", team, "--name", "program", "sh", "-c", "echo hello; sleep 1000")
    following = stage.world.start("tail", "-f", "--json", "-n", "all", f"@{team}")
    ending = stage.world.start("tail", "-f", "--json", "--exit-status", "it", stderr=subprocess.PIPE)
    stage.says("say one")
    stage.spawn("late", "-m", team)
    stage.says("say two", "late")
    stage.world.ok("kill-by-manager", team)
    output, _ = following.communicate(timeout=60)
    assert following.returncode == 0
    _, errors = ending.communicate(timeout=60)
    plain = stage.world.run("tail", "--exit-status", "it")
    assert (ending.returncode, b"has not ended" in errors) == (plain.returncode, False), errors
    events = _lines(output.splitlines())
    ids = {name: stage.world.json("info", name)["id"] for name in ("it", "program", "late")}
    for name in ("it", "late"):
        own = [event for event in events if event["session"] == ids[name]]
        assert _told(own) == _transcript(stage, name)
        assert _gist(own[-1]) == "session.state closed"
    program = [event for event in events if event["session"] == ids["program"]]
    assert "".join(event["output"] for event in program) == "hello\r\n"


def test_a_program_in_python_has_the_same_of_several(stage: Stage) -> None:
    stage.spawn("it", "-m", "team")
    stage.world.ok("spawn", "-m", "team", "--name", "program", "sh", "-c", "echo hello; sleep 1000")
    stage.says("say one")

    async def use() -> tuple[list[Event], bytes]:
        events, program = list[Event](), b""
        async with AsyncClient(state_dir=stage.world.state) as client:
            outputs = await client.outputs(Selection(managers=("team",)), follow=True, stories=True)
            async for _, piece in outputs:
                if isinstance(piece, dict):
                    events.append(piece)
                    if _gist(piece) == "turn finished":
                        await client.kill_by_manager("team")
                elif isinstance(piece, Chunk):
                    program += piece.data
        return events, program

    events, program = asyncio.run(use())
    assert (_told(events), program) == (_transcript(stage), b"hello\r\n")
    assert _gist(events[-1]) == "session.state closed"


def test_what_is_no_longer_kept_is_a_gap_in_its_place(stage: Stage) -> None:
    stage.spawn()
    stage.says("say one")
    stage.world.ok("prune", "--output", "it")
    stage.says("say two")
    events = [event for event in _events(stage, "it") if event["type"] in ("gap", "output")]
    in_place = [event for event in events if "seq" not in event]
    assert [event["type"] for event in in_place][:2] == ["gap", "output"]
    assert (in_place[0]["first"], in_place[0]["end"]) == (0, in_place[1]["offset"])
    assert "two\n" in "".join(event.get("text", "") for event in in_place)
