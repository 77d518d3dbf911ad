"""Many short sessions leave nothing: no process, no descriptor, no memory that grows with their number."""

from __future__ import annotations

import os

from orchctl import Client
from tests.needs import needs
from tests.world import DEADLINE_S, World, processes_of, until

KB = 1024
SLACK_FDS = 2  # a worker thread or a sync may be under way at the moment of looking


@needs("root")
def test_hundreds_of_short_sessions_leave_no_process_no_descriptor_and_no_memory(world: World, long_form: bool) -> None:
    few, some, many = (20, 1000, 10_000) if long_form else (20, 100, 300)
    status = world.json("supervisor", "start")
    ours = {"supervisor": status["pid"], "zygote": status["zygote"]}
    with world.client() as client:
        _run(client, range(few))
        _settle(world, ours)
        descriptors = {name: _descriptors(pid) for name, pid in ours.items()}
        _run(client, range(few, some))
        _settle(world, ours)
        memory = {name: _own_kb(pid) for name, pid in ours.items()}
        _run(client, range(some, many))
        _settle(world, ours)
    for name, pid in ours.items():
        until(lambda name=name, pid=pid: abs(_descriptors(pid) - descriptors[name]) <= SLACK_FDS, name)  # type: ignore[misc]
        grown = _own_kb(pid)
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


def _settle(world: World, ours: dict[str, int]) -> None:
    """Until no pair is left, and no zombie of one, and every session is put away: it is synced first, and a disk that
    is busy takes its time while the supervisor holds all of them.
    """
    until(lambda: _children(ours["zygote"]) == [ours["supervisor"]], "keepers are left")
    sessions = f"{world.state}/sessions"
    done = set[str]()

    def _is_put_away(name: str) -> bool:
        if name not in done and os.path.exists(f"{sessions}/{name}/ended.json"):
            done.add(name)
        return name in done

    until(lambda: all(_is_put_away(name) for name in os.listdir(sessions)), "not put away", 5 * DEADLINE_S)
    assert _children(ours["supervisor"]) == []


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _own_kb(pid: int) -> int:
    """What it has allocated, in memory or swapped out; pages of files are the kernel's, to take away and give again."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "VmSwap:")))
