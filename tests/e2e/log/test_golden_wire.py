"""What the recorded version said on its sockets is understood, and gets the same answers from the present code."""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import codec, frames, pairs, zygotes
from tests.golden.player import Player
from tests.golden.readings import says_at_least
from tests.golden.recorder import Entry, Recorder, client_frame, pair_lines, read
from tests.golden.terminals import CONFIG
from tests.world import World, fresh_world, until

WIRE = Path(__file__).parents[2] / "golden" / "v2" / "wire"
AGENT = Path(__file__).parents[2] / "agents" / "acp" / "agent.py"
SCENES = ("sessions", "output", "shell", "leases", "agents", "events", "supervisor")
PAIRS = ("pair", "older-pair")
# messages that the recorded version did not have
SINCE = {"command.interrupt", "command.interrupted", "command.waits", "stream.command"}
PAIR_SINCE = {"V", "D", "v", "d", "C"}  # the same of a pair
CONSTRUCTED = {"N": b""}  # what a supervisor says only when a disk fails


def entries(name: str) -> list[Entry]:
    return read((WIRE / f"{name}.txt").read_text())


def controls(side: str) -> list[dict[str, Any]]:
    found = [client_frame(one.text) for name in SCENES for one in entries(name) if one.side == side]
    return [one.object() for one in found if isinstance(one, frames.Control)]


def pair_frames() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """Side, kind, payload and what it means."""
    for one in [one for name in PAIRS for one in entries(name) if one.side != "x"]:
        kind, payload, said = one.text.split(" ", 2)
        yield one.side, kind, bytes.fromhex(payload.strip("-")), json.loads(said)


def test_every_message_is_recorded() -> None:
    assert {
        one["kind"] for one in controls(">") if one.get("kind") != "no.such-verb" and "kind" in one
    } == codec.REQUESTS - SINCE
    assert {one["kind"] for one in controls("<") if "kind" in one} == codec.ANSWERS - SINCE
    channels = {
        frame.channel for name in SCENES for one in entries(name) if isinstance(frame := _frame(one), frames.Data)
    }
    assert channels == {0, 1, 2}


def _frame(entry: Entry) -> frames.Frame | None:
    return client_frame(entry.text) if entry.side != "x" else None


@pytest.mark.parametrize("scene", SCENES)
def test_every_recorded_frame_means_what_it_meant(scene: str) -> None:
    for entry in entries(scene):
        frame = _frame(entry)
        if isinstance(frame, frames.Data):
            assert codec.decode_data(frames.encode(frame)) == (frame.stream, frame.channel, frame.offset, frame.raw)
        elif frame is not None and "kind" not in frame.object():
            assert says_at_least(codec.decode_hello(frames.encode(frame)), frame.object())
        elif frame is not None and frame.object()["kind"] != "no.such-verb":
            data = frames.encode(frame)
            assert says_at_least(codec.decode(data), frame.object())
            (again,) = frames.split(bytearray(codec.encode(data)))
            assert isinstance(again, frames.Control)
            assert says_at_least(again.object(), frame.object())


@pytest.fixture(scope="module")
def served() -> Iterator[World]:
    """A supervisor for all scenes but its own end."""
    with fresh_world() as world:
        serve(world)
        yield world


def serve(world: World) -> None:
    for folder in (world.state, f"{world.folder}/work", f"{world.folder}/home", f"{world.folder}/agent"):
        Path(folder).mkdir(mode=0o700)
    profile = f'harness = "acp"\nargv = {json.dumps([sys.executable, str(AGENT)])}\n'
    env = f'env = {{ACP_HOME = "{world.folder}/agent"}}\n'
    Path(f"{world.state}/config.toml").write_text(f"{CONFIG}[profiles.agent]\n{profile}{env}")
    world.ok("supervisor", "start")


@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene != "supervisor"])
def test_recorded_requests_get_answers_of_the_recorded_kind(served: World, scene: str) -> None:
    _play(served, scene)


def test_a_recorded_client_can_replace_and_stop_a_supervisor(world: World) -> None:
    serve(world)
    _play(world, "supervisor")


def _play(world: World, scene: str) -> None:
    player = Player(world.state, world.folder)
    player.play(entries(scene))
    assert player.wrong == []
    data = {
        (one.connection, frame.stream, frame.channel)
        for one in entries(scene)
        if isinstance(frame := _frame(one), frames.Data)
    }
    assert set(player.data) >= data


def test_every_frame_of_the_pair_protocol_is_recorded() -> None:
    kinds = {kind for _, kind, _, _ in pair_frames()} | set(CONSTRUCTED)
    assert kinds == codec.PAIR_KINDS - PAIR_SINCE == set(pairs.FIELDS) - PAIR_SINCE
    assert {side for side, kind, _, _ in pair_frames() if kind.isupper()} == {">"}
    assert {side for side, kind, _, _ in pair_frames() if kind.islower()} == {"<"}


def test_every_recorded_frame_of_a_pair_means_what_it_meant() -> None:
    for _, kind, payload, said in pair_frames():
        assert pairs.meaning(kind, payload) == said
        data = frames.pair_frame(kind, payload)
        assert codec.decode_pair(data) == (kind, payload)
        assert codec.encode_pair(kind, payload) == data


class OldSupervisor:
    """Speaks to a pair in recorded frames."""

    def __init__(self, world: World, session: str) -> None:
        self.socket: socket.socket = frames.connected(f"{world.state}/sessions/{session}/pair.sock")
        self._buffer = bytearray()
        self.heard: list[tuple[str, bytes]] = []

    def until(self, kind: str) -> dict[str, Any]:
        """The next frame of that kind."""
        while True:
            for number, (found, payload) in enumerate(self.heard):
                if found == kind:
                    del self.heard[: number + 1]
                    return pairs.meaning(kind, payload)
            data = self.socket.recv(1 << 16)
            assert data, f"the pair hung up before it said {kind}"
            self._buffer += data
            self.heard += frames.split_pair(self._buffer)

    def say(self, kind: str, payload: bytes) -> None:
        self.socket.sendall(frames.pair_frame(kind, payload))


def test_a_pair_does_what_a_recorded_supervisor_tells_it(world: World) -> None:
    session = world.ok("spawn", "--", "bash", "--norc", "-i")
    told = {kind: payload for _, kind, payload, _ in pair_frames()} | CONSTRUCTED
    shapes = {kind: said for _, kind, _, said in pair_frames()}
    old = OldSupervisor(world, session)
    assert says_at_least(sorted(old.until("h")["json"]), sorted(shapes["h"]["json"]))
    order = [kind for kind in "WLAXQERONHTFUIZS" if kind in told]
    assert set(order) | {"K", "P"} == {kind for kind in told if kind.isupper()}
    old.say("P", struct.pack(">I", 1))
    old.until("j")
    old.say("P", struct.pack(">I", 0))
    for kind in order:
        payload = struct.pack(">Q", 0) if kind == "W" else told[kind]
        if kind == "X":
            payload = struct.pack(">QI", (1 << 63) - 1, 0)  # nothing is as young as that: only count
        old.say(kind, payload)
        if kind in pairs.ANSWERS:
            answer = old.until(pairs.ANSWERS[kind])
            recorded = shapes[pairs.ANSWERS[kind]]
            assert answer.keys() >= recorded.keys()
            if isinstance(recorded.get("json"), dict):
                assert answer["json"].keys() >= recorded["json"].keys()
    resized = {"type": "resized", **shapes["R"]}
    records = [json.loads(line[9:]) for line in world.journal(session).decode().splitlines()]
    assert any(says_at_least(record, resized) for record in records)
    old.say("K", struct.pack(">d", 0.0))
    until(lambda: world.json("info", session)["state"] == "closed")
    old.socket.close()


def test_a_supervisor_speaks_with_a_pair_of_the_first_version(world: World) -> None:
    """One that has no features: it hears the input without an epoch."""
    session = world.ok("spawn", "--", "cat")
    hello = next(payload for _, kind, payload, _ in pair_frames() if kind == "h")
    assert re.search(rb'"features"', hello)
    path = f"{world.state}/sessions/{session}/pair.sock"
    recorder = Recorder(path, pair_lines, lambda _, data: data.replace(b'"fence"', b'"other"'))
    try:
        world.ok("supervisor", "stop", "--leave")
        world.ok("send", session, "typed")
        until(lambda: world.log(session).endswith(b"typed\r\n" * 2))
        said = {entry.text[0] for entry in recorder.take() if entry.side == ">"}
        assert "I" in said
        assert not {"U", "F"} & said
        world.ok("kill", session)
    finally:
        recorder.close()


@pytest.mark.parametrize("name", zygotes.ACTS)
def test_zygote_and_supervisor_say_what_was_recorded(world: World, name: str) -> None:
    recorded = json.loads((WIRE / "zygote.json").read_text())
    ground = zygotes.Ground(world.state, world.env)
    try:
        assert zygotes.ACTS[name](ground) == recorded[name]
    finally:
        ground.close()


def test_every_word_of_the_zygotes_channel_is_recorded() -> None:
    recorded = json.loads((WIRE / "zygote.json").read_text())
    assert set(recorded) == set(zygotes.ACTS)
    words = {line.split()[1] for lines in recorded.values() for line in lines}
    assert words >= {"spawn", "ready", "stop", "retire", "zygote", "go", "back", "able", "up", "serving", "gone"}
