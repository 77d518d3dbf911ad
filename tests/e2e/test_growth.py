"""Many short sessions leave nothing: no process, no descriptor, no memory that grows with their number."""

from __future__ import annotations

import os

from orchctl import Client
from tests.needs import needs
from tests.world import World, processes_of, until

KB = 1024
SLACK_FDS = 2  # a worker thread or a sync may be under way at the moment of looking


@needs("root")
def test_hundreds_of_short_sessions_leave_no_process_no_descriptor_and_no_memory(world: World, long_form: bool) -> None:
    few, some, many = (20, 1000, 10_000) if long_form else (20, 100, 300)
    status = world.json("supervisor", "start")
    ours = {"supervisor": status["pid"], "zygote": status["zygote"]}
    with world.client() as client:
        _run(client, range(few))
        _settle(ours)
        descriptors = {name: _descriptors(pid) for name, pid in ours.items()}
        _run(client, range(few, some))
        _settle(ours)
        memory = {name: _resident_kb(pid) for name, pid in ours.items()}
        _run(client, range(some, many))
        _settle(ours)
    for name, pid in ours.items():
        until(lambda name=name, pid=pid: abs(_descriptors(pid) - descriptors[name]) <= SLACK_FDS, name)  # type: ignore[misc]
        grown = _resident_kb(pid)
        assert grown <= memory[name] * 1.2 + 4 * KB, (name, memory[name], grown)
    assert sorted(processes_of(world.folder)) == sorted(ours.values())
    assert world.json("supervisor", "status")["pid"] == ours["supervisor"]


def _run(client: Client, numbers: range) -> None:
    """One after the other, each with an exit code of its own."""
    for number in numbers:
        code = number % 256
        session = client.spawn(["sh", "-c", f"exit {code}"])
        ended = client.wait(session.id)
        assert (ended.exit_code, ended.end_reason) == (code, "exited"), (number, ended)


def _settle(ours: dict[str, int]) -> None:
    """Until no pair is left, and no zombie of one."""
    until(lambda: _children(ours["zygote"]) == [ours["supervisor"]], "keepers are left")
    assert _children(ours["supervisor"]) == []


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _resident_kb(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
