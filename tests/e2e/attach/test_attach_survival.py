"""Processes of ours killed under somebody who is attached: nothing typed or shown is lost or doubled."""

from __future__ import annotations

import os
import signal

from tests.attached import BEGIN, DETACH, END, NOTICE, Person, attached, content, typewriter, until
from tests.world import World

KILLS = 6


def what_came_live(person: Person) -> bytes:
    body = NOTICE.sub(b"", person.seen.partition(BEGIN)[2])
    return body.rpartition(END)[0]


def kill_mover(world: World) -> None:
    """The process beside the program below its keeper."""
    program = int(world.json("info", "s")["pid"])
    keeper = int(content(f"/proc/{program}/stat").rpartition(b")")[2].split()[1])
    children = content(f"/proc/{keeper}/task/{keeper}/children").split()
    for pid in {int(child) for child in children} - {program}:
        os.kill(pid, signal.SIGKILL)


def test_a_killed_supervisor_costs_neither_a_key_nor_a_byte(world: World) -> None:
    keys = f"{world.folder}/keys"
    session = world.ok("spawn", "--name", "s", "sh", "-c", 'read go; exec "$@"', "sh", *typewriter(keys, pours=True))
    wanted = b""
    with attached(world, "s") as person:
        until(lambda: BEGIN in person.seen, person)
        person.type(b"go\r")
        person.wait_for(b"ready")
        for number in range(KILLS):
            status = world.json("supervisor", "status")
            pids = [status["pid"]] if number < KILLS - 1 else [status["zygote"], status["pid"]]
            for part in range(10):
                word = b"<%d.%d>" % (number, part)
                person.type(word)
                wanted += word
                if part == 4:
                    for pid in pids:
                        os.kill(pid, signal.SIGKILL)
            until(lambda: content(keys) == wanted, person)  # noqa: B023 - waited for here
        person.type(b"Q")
        assert person.end() == 9
    assert content(keys) == wanted
    assert what_came_live(person) == world.log(session)


def test_a_killed_mover_costs_neither_a_key_nor_a_byte(world: World) -> None:
    keys = f"{world.folder}/keys"
    session = world.ok("spawn", "--name", "s", "sh", "-c", 'read go; exec "$@"', "sh", *typewriter(keys, pours=True))
    wanted = b""
    with world.client() as client, attached(world, "s") as person:
        until(lambda: BEGIN in person.seen, person)
        person.type(b"go\r")
        person.wait_for(b"ready")
        for number in range(KILLS):
            word = b"<%d>" % number
            person.type(word)
            wanted += word
            until(lambda: content(keys) == wanted, person)  # noqa: B023 - waited for here
            client.terminal("s")  # answered by the mover after all that it has typed
            kill_mover(world)
        person.type(b"Q")
        assert person.end() == 9
    assert content(keys) == wanted
    assert what_came_live(person) == world.log(session)


def test_one_can_leave_while_no_supervisor_answers(world: World) -> None:
    keys = f"{world.folder}/keys"
    world.ok("spawn", "--name", "s", *typewriter(keys))
    supervisor = world.json("supervisor", "status")["pid"]
    with attached(world, "s") as person:
        person.wait_for(b"ready")
        os.kill(supervisor, signal.SIGSTOP)
        try:
            person.type(b"x" + DETACH)
            until(lambda: b"1 bytes that were typed last did not arrive" in person.seen, person)
        finally:
            os.kill(supervisor, signal.SIGCONT)
        assert person.end() == 0
