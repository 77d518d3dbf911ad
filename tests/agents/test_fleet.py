"""A mixed fleet of the real programs under one manager: two of each harness and six terminals, all at work at once.

`events -f` tells all of it as it happens, `kill-by-manager` ends it, and no process of it is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.agents import kits
from tests.agents.acp import kits as acp_kits
from tests.agents.claude import kit as claude_kit
from tests.agents.kits import Kit
from tests.agents.opencode.kit import opencode
from tests.agents.stage import Stage, server_pids
from tests.needs import needs
from tests.world import World, processes_of, until

FLEET = "orchestrator:fleet-9"
MAKERS = {"codex": kits.codex, "opencode": opencode, "claude": claude_kit.claude, "qwen": acp_kits.qwen}
AGENTS = tuple(f"{harness}{number}" for harness in MAKERS for number in range(2))
CUT_OFF = tuple(f"{harness}1" for harness in MAKERS)  # in the middle of a turn when all are ended
WAITING = "codex0"  # for a permission, at that moment
AT_IT = ("opencode0", "claude0", "qwen0")  # a command of theirs runs, and would for ever
SHELLS = tuple(f"shell{number}" for number in range(3))
PROGRAMS = tuple(f"program{number}" for number in range(3))
ALL = (*AGENTS, *SHELLS, *PROGRAMS)
SECONDS = 120.0  # two cores start five servers
SERVERS = 5  # codex, opencode and qwen have one each, claude has one for each session
KINDS = ("turn", "tool", "needs-input", "answered", "reasoning")
Event = dict[str, Any]

pytestmark = needs(*MAKERS)


class Listener:
    """One `events -f` for the whole fleet, from before it is there."""

    def __init__(self, world: World) -> None:
        self.events: list[Event] = []
        self._running = world.start("events", "-f", f"@{FLEET}")
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self._running.stdout is not None
        for line in self._running.stdout:
            self.events.append(json.loads(line))

    def of(self, session: str) -> list[Event]:
        """One session's story."""
        return [one for one in list(self.events) if one["session"] == session]

    def closed(self) -> int:
        """How many sessions are over."""
        return sum(one["type"] == "session.state" and one["state"] == "closed" for one in list(self.events))

    def end(self) -> None:
        """It would go on for ever."""
        self._running.terminate()
        self._running.wait(SECONDS)
        self._reading.join(SECONDS)
        assert self._running.stdout is not None
        self._running.stdout.close()


class Fleet:
    """What is asked of all of them."""

    def __init__(self, world: World, kit: Kit) -> None:
        self.world = world
        self.stage = Stage(world, kit)  # all of them understand the same steps
        self.ids: dict[str, str] = {}

    def spawn(self) -> None:
        """All at once."""
        started = {name: self.world.start(*self._words(name), stderr=subprocess.PIPE) for name in ALL}
        for name, running in started.items():
            said, errors = running.communicate(timeout=SECONDS)
            assert running.returncode == 0, (name, errors)
            self.ids[name] = said.decode().strip()

    def _words(self, name: str) -> tuple[str, ...]:
        os.makedirs(self.stage.folder(name))
        common = ("spawn", "-m", f"{FLEET}:{name}", "--name", name, "-w", self.stage.folder(name))
        if name in AGENTS:
            return (*common, "--profile", name[:-1])
        if name in SHELLS:
            return (*common, "--shell", "/bin/bash")
        return (*common, "sh", "-c", "n=0; while :; do echo $n; n=$((n+1)); sleep 0.2; done")

    def begin(self, names: tuple[str, ...], *steps: str) -> dict[str, subprocess.Popen[bytes]]:
        """The same turn with each of them."""
        prompt = self.stage.kit.steps(*steps)
        return {name: self.world.start("exec", name, prompt, stderr=subprocess.PIPE) for name in names}

    def asking(self, *names: str) -> dict[str, str]:
        """The request of each, once these ask, and nobody else."""
        for name in names:
            self.world.ok("wait", name, "--for", "needs-input", timeout=SECONDS)
        found = {one["name"]: one["request"] for one in self.world.json("pending")}
        assert set(found) == set(names)
        return found


@pytest.fixture
def fleet(world: World) -> Iterator[Fleet]:
    """All harnesses configured, each with its model."""
    with contextlib.ExitStack() as stack:
        made = {name: stack.enter_context(maker(world)) for name, maker in MAKERS.items()}
        configs = [kit.config.replace("[profiles.it", f"[profiles.{name}") for name, kit in made.items()]
        os.makedirs(world.state, mode=0o700, exist_ok=True)
        with open(f"{world.state}/config.toml", "w", encoding="utf-8") as file:
            file.write("".join(configs))
        yield Fleet(world, made["codex"])
        world.end()


def test_a_mixed_fleet_tells_its_story_in_order_and_is_ended_as_one(fleet: Fleet) -> None:
    world = fleet.world
    world.ok("supervisor", "start")
    listener = Listener(world)
    ours = family(processes_of(world.folder))  # what stays: the supervisor, its zygote, and who tells the story
    try:
        fleet.spawn()
        work(fleet)
        turns = cut_off_turns(fleet)
        before = family(processes_of(world.folder)) - ours
        assert len(server_pids(world)) == SERVERS
        assert {one for one, _ in before} >= {*server_pids(world), *for_ever(fleet)}
        assert len(before) >= SERVERS + len(PROGRAMS) + len(SHELLS) + 2 * (SERVERS + 6)  # keepers and movers too
        world.ok("config", "set", "harness.idle", "1s")
        assert world.ok("kill-by-manager", FLEET, timeout=SECONDS) == str(len(ALL))
        until(lambda: listener.closed() == len(ALL), "not all are told to be over")
        until(lambda: not before & living(), lambda: f"left: {before & living()}")
        until(lambda: {*processes_of(world.folder)} == {one for one, _ in ours}, "others are left")
        for running in turns.values():
            running.communicate(timeout=SECONDS)
    finally:
        listener.end()
    check(fleet, listener)


def work(fleet: Fleet) -> None:
    """Every agent waits for a permission at the same moment, while every shell runs a command."""
    go = f"{fleet.world.folder}/go"
    wait = f"until [ -e {go} ]; do sleep 0.05; done; echo over"
    commands = {name: fleet.world.start("exec", name, wait) for name in SHELLS}
    kit = fleet.stage.kit
    turns = fleet.begin(AGENTS, kit.think("of it"), kit.ask("file"), kit.count(30, 10), kit.say("all done"))
    asking = fleet.asking(*AGENTS)
    assert [fleet.stage.touched("file", name) for name in AGENTS] == [0] * len(AGENTS)
    for name, request in asking.items():
        fleet.world.ok("approve", name, "--request", request)
    for name, running in turns.items():
        said, errors = running.communicate(timeout=SECONDS)
        assert running.returncode == 0, (name, errors)
        words = said.decode().split()
        assert [one for one in words if one.isdigit()] == [str(number) for number in range(30)], name
        assert words[-2:] == ["all", "done"], name
        assert fleet.stage.touched("file", name) == 1
    with open(go, "w", encoding="ascii"):
        pass
    for running in commands.values():
        said, _ = running.communicate(timeout=SECONDS)
        assert (running.returncode, said) == (0, b"over\n")


def cut_off_turns(fleet: Fleet) -> dict[str, subprocess.Popen[bytes]]:
    """One of each harness in the middle of what it says, others in that of a command or of a permission."""
    kit = fleet.stage.kit
    turns = fleet.begin((WAITING,), kit.ask("other")) | fleet.begin(
        AT_IT, kit.tool("echo begun >> file; tail -f /dev/null")
    )
    fleet.asking(WAITING, *AT_IT)
    for name in AT_IT:
        fleet.world.ok("approve", name)
    turns |= fleet.begin(CUT_OFF, kit.stay())
    for name in CUT_OFF:
        fleet.world.ok("wait", name, "--for", r"output=\.\.", timeout=SECONDS)
    until(lambda: len(for_ever(fleet)) == len(AT_IT), lambda: f"only {for_ever(fleet)} run", SECONDS)
    fleet.asking(WAITING)
    assert all(fleet.stage.agent(name)["busy"] for name in turns)
    return turns


def for_ever(fleet: Fleet) -> set[int]:
    """The commands that agents have begun and that go on."""
    found = set()
    for pid, _ in family(processes_of(fleet.world.folder)):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if file.read() == b"tail\0-f\0/dev/null\0":
                found.add(pid)
    return found


def check(fleet: Fleet, listener: Listener) -> None:
    """What was told as it happened is all that is kept, and each session's part is a story."""
    heard = [one for one in listener.events if one["type"] != "output"]  # which is cut as it comes, and has no number
    assert all(one["seq"] < other["seq"] for one, other in pairwise(heard))
    kept = [json.loads(line) for line in fleet.world.ok("events", f"@{FLEET}").splitlines()]
    assert heard == [one for one in kept if one["type"] != "output"]
    assert {one["session"] for one in kept} == set(fleet.ids.values())
    for name, session in fleet.ids.items():
        told = listener.of(session)
        assert {one["managed_by"] for one in told} == {f"{FLEET}:{name}"}
        states = [one["state"] for one in told if one["type"] == "session.state"]
        set_up = [] if name in PROGRAMS else ["bootstrapping"]  # a plain program has nothing to be set up
        assert states == ["idle", *set_up, "live", "closed"], name
        assert (told[0]["type"], told[-1]["type"]) == ("session.state", "session.state")
        assert told[-1]["end_reason"] == "killed", name
        if name in AGENTS:
            check_agent(name, told)
            check_words(fleet, name, told)
        if name in SHELLS:
            assert [one["phase"] for one in told if one["type"] == "command"] == ["started", "finished"]


def check_agent(name: str, told: list[Event]) -> None:
    """Its first turn with all that was in it, and its second, which was cut off."""
    live = next(at for at, one in enumerate(told) if one.get("state") == "live")
    first = [one for one in told[live + 1 : at_end(told, 1) + 1] if one["type"] in KINDS]
    assert (first[0]["type"], first[0]["phase"]) == ("turn", "started"), name
    assert (first[-1]["type"], first[-1]["end"]) == ("turn", "completed"), name
    order = [next(at for at, one in enumerate(first) if one["type"] == kind) for kind in ("needs-input", "answered")]
    finished = [at for at, one in enumerate(first) if one["type"] == "tool" and one["phase"] == "finished"]
    assert [*order, *finished] == sorted([*order, *finished]), name
    assert len(finished) == 1
    assert first[finished[0]]["ok"] is True
    assert sum(one["type"] == "needs-input" for one in first) == 1
    assert "of it" in "".join(one["text"] for one in first if one["type"] == "reasoning"), name
    second = [one for one in told[at_end(told, 1) + 1 :] if one["type"] in KINDS]
    ends = [(one["phase"], one.get("end")) for one in second if one["type"] == "turn"]
    assert ends == [("started", None), ("finished", "interrupted")], name
    replies = [one["reply"] for one in second if one["type"] == "answered"]
    assert (len(replies), "withdrawn" in replies) == (int(name not in CUT_OFF), name == WAITING), name


def check_words(fleet: Fleet, name: str, told: list[Event]) -> None:
    """All that it said is told too, once, and in the turns in which it did."""
    pieces = [one for one in told if one["type"] == "output"]
    assert pieces[0]["offset"] == 0
    assert all(one["end"] == other["offset"] for one, other in pairwise(pieces)), name
    said = "".join(one["text"] for one in pieces)
    assert said.encode() == fleet.world.run("tail", "-n", "all", name).stdout, name
    first = "".join(one["text"] for one in told[: at_end(told, 1)] if one["type"] == "output")
    assert "all done" in first, name


def at_end(told: list[Event], number: int) -> int:
    """Where that turn ends."""
    ends = [at for at, one in enumerate(told) if one["type"] == "turn" and one["phase"] == "finished"]
    return ends[number - 1]


def family(pids: list[int]) -> set[tuple[int, int]]:
    """These processes and all that descend from them, whatever their environment: each with when it began."""
    every = table()
    found = set(pids)
    while more := {pid for pid, (parent, _) in every.items() if parent in found} - found:
        found |= more
    return {(pid, every[pid][1]) for pid in found if pid in every}


def living() -> set[tuple[int, int]]:
    """All of the machine."""
    return {(pid, began) for pid, (_, began) in table().items()}


def table() -> dict[int, tuple[int, int]]:
    """Of each process that is no zombie: its parent, and when it began."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            if fields[0] != b"Z":
                found[int(entry)] = (int(fields[1]), int(fields[19]))
    return found
