"""Several people and programs at one session: one types at a time, everybody sees everything, nothing is mixed up."""

from __future__ import annotations

import json
import re
import sys
from functools import partial

import pytest

from orchctl import Client
from tests.attached import BEGIN, DETACH, END, NOTICE, TAKE, Person, attached, content, typewriter, until
from tests.world import World

HANDOVERS = 40
WAITING = """
import sys, time
try:
    print("waiting")
    time.sleep(1000)
except KeyboardInterrupt:
    print("caught")
    sys.exit(7)
"""


def holder(client: Client) -> str | None:
    lease = client.lease("s").lease
    return lease.holder if lease is not None else None


def newest(client: Client, *known: str) -> str:
    """The public name of the viewer that came last."""
    return next(viewer.name for viewer in client.lease("s").viewers if viewer.name not in known)


def is_there(client: Client, count: int) -> bool:
    return len(client.lease("s").viewers) == count


def same(path: str, wanted: bytes) -> bool:
    return content(path) == wanted


def hand_over(client: Client, typist: Person, other: Person, name: str) -> None:
    """One takes the lease; what the other types then is dropped, and it is told so."""
    typist.type(TAKE)
    until(lambda: holder(client) == name, typist, other)
    said = len(other.notices)
    other.type(b"!")
    until(lambda: any("1 bytes dropped; ctrl-\\ ctrl-t takes" in text for text in other.notices[said:]), typist, other)


def what_came_live(person: Person) -> bytes:
    """All that was seen between the first screen and the end, without what orchctl said."""
    body = NOTICE.sub(b"", person.seen.partition(BEGIN)[2])
    return body.rpartition(END)[0]


def test_two_hand_the_lease_over_many_times_while_output_pours(world: World) -> None:
    """Whoever has lost it types on meanwhile; that is dropped, and said."""
    keys = f"{world.folder}/keys"
    session = world.ok("spawn", "--name", "s", "sh", "-c", 'read go; exec "$@"', "sh", *typewriter(keys, pours=True))
    wanted = b""
    with world.client() as client, attached(world, "s") as one, attached(world, "s") as two:
        until(lambda: is_there(client, 2) and BEGIN in one.seen and BEGIN in two.seen, one, two)
        client.send("s", b"go\r")
        until(lambda: b"ready" in one.seen and b"ready" in two.seen, one, two)
        people = [one, two]
        names = list[str]()
        for person in people:
            person.type(TAKE)
            until(lambda: holder(client) not in (None, *names), one, two)
            names.append(str(holder(client)))
        for number in range(HANDOVERS):
            typist, other = people[number % 2], people[1 - number % 2]
            word = b"<%d:%d>" % (number % 2, number)
            wanted += word
            hand_over(client, typist, other, names[number % 2])
            typist.type(word)
            until(partial(same, keys, wanted), one, two)
        people[(HANDOVERS - 1) % 2].type(b"Q")
        assert one.end() == two.end() == 9
        log = world.log(session)
    assert content(keys) == wanted
    assert what_came_live(one) == log
    assert what_came_live(two) == log
    assert log.count(b" of many") > HANDOVERS


def test_who_loses_the_lease_is_told_by_whom_and_who_gets_it_back_too(world: World) -> None:
    keys = f"{world.folder}/keys"
    world.ok("spawn", "--name", "s", *typewriter(keys))
    with world.client() as client, attached(world, "s") as one:
        one.wait_for(b"ready")
        one.type(b"a")
        until(lambda: content(keys) == b"a", one)
        first = newest(client)
        token = "ab" * 16
        client.take_lease("s", viewer=token, ttl_s=600, force=True)
        until(lambda: any("took the lease" in text for text in one.notices), one)
        client.transfer_lease("s", viewer=token, to=first)
        until(lambda: any("the lease is yours now" in text for text in one.notices), one)
        one.type(b"b")
        until(lambda: content(keys) == b"ab", one)
        client.take_lease("s", viewer=token, ttl_s=600, force=True)
        one.type(b"c")
        until(lambda: any("1 bytes dropped" in text for text in one.notices), one)
        client.release_lease("s", viewer=token)
        until(lambda: any("your keys go through again" in text for text in one.notices), one)
        one.type(b"d")
        until(lambda: content(keys) == b"abd", one)
        one.type(DETACH)
        assert one.end() == 0


def test_take_takes_it_at_once(world: World) -> None:
    keys = f"{world.folder}/keys"
    world.ok("spawn", "--name", "s", *typewriter(keys))
    with world.client() as client, attached(world, "s") as one:
        one.wait_for(b"ready")
        one.type(b"a")
        until(lambda: content(keys) == b"a", one)
        first = holder(client)
        with attached(world, "--take", "s", size=(90, 20)) as two:
            until(lambda: holder(client) not in (None, first), one, two)
            until(lambda: any("took the lease" in text for text in one.notices), one, two)
            until(lambda: client.info("s").cols == 90, one, two)  # resizing goes with it
            two.type(DETACH)
            assert two.end() == 0
        until(lambda: holder(client) is None, one)
        one.type(b"b")
        until(lambda: content(keys) == b"ab", one)
        until(lambda: client.info("s").cols == 80, one)
        one.type(DETACH)
        assert one.end() == 0


def test_a_program_may_type_while_a_person_is_silent_and_not_while_one_types(world: World) -> None:
    world.ok("spawn", "--name", "s", "bash")
    with world.client() as client, attached(world, "s") as person:
        until(lambda: is_there(client, 1) and BEGIN in person.seen, person)
        assert world.ok("exec", "s", "echo $((40 + 2))") == "42"
        person.wait_for(b"42")
        assert holder(client) is None
        person.type(b": typing")
        person.wait_for(b": typing")
        refused = world.run("exec", "s", "--json", "echo UNWANTED")
        assert refused.returncode == 125
        said = json.loads(refused.stderr)
        assert said["code"] == "lease-held"
        assert re.search(r"user at pts/\d+ \(viewer [0-9a-f]{8}\)", said["message"])
        sent = world.run("send", "s", "UNWANTED")
        assert sent.returncode == 5
        person.type(b"\r" + DETACH)
        assert person.end() == 0
        assert world.ok("exec", "s", "echo $((40 + 3))") == "43"
        assert b"UNWANTED" not in world.log(client.info("s").id)


def test_a_persons_interrupt_reaches_the_command_of_a_program(world: World) -> None:
    world.ok("spawn", "--name", "s", "bash")
    with world.client() as client, attached(world, "s") as person:
        until(lambda: is_there(client, 1) and BEGIN in person.seen, person)
        program = (
            "import time\ntry: print('waiting'), time.sleep(1000)\nexcept KeyboardInterrupt: print('caught'), exit(7)"
        )
        running = world.start("exec", "s", sys.executable, "-u", "-c", program)
        person.wait_for(b"waiting\r\n")
        person.type(b"\x03")
        person.wait_for(b"caught")
        output, _ = running.communicate(timeout=60)
        assert b"caught" in output
        assert running.returncode == 7


def test_what_a_terminal_says_by_itself_takes_no_lease_and_comes_once(world: World) -> None:
    """Two terminals hear what is asked; the first to come answers, then whoever holds the lease, then who is left."""
    keys = f"{world.folder}/keys"
    world.ok("spawn", "--name", "s", *typewriter(keys))
    report = b"\x1b[?62;22c"
    with world.client() as client, attached(world, "s") as one:
        until(lambda: is_there(client, 1), one)
        with attached(world, "s") as two:
            until(lambda: is_there(client, 2) and BEGIN in one.seen and BEGIN in two.seen, one, two)
            two.type(report)
            two.type(report)
            one.type(report)
            until(lambda: same(keys, report), one, two)
            assert holder(client) is None
            one.type(b"a")
            until(lambda: same(keys, report + b"a"), one, two)
            two.type(report + b"x")
            until(lambda: any("1 bytes dropped" in text for text in two.notices), one, two)
            one.type(DETACH)
            assert one.end() == 0
            until(lambda: is_there(client, 1) and holder(client) is None, two)
            two.type(report)
            until(lambda: same(keys, report + b"a" + report), two)
            assert holder(client) is None
            two.type(DETACH)
            assert two.end() == 0


@pytest.mark.parametrize("keys", [b"\x1b[I", b"\x1b[O", b"\x1b[<35;5;5M"])
def test_a_focus_or_a_mouse_that_moves_takes_no_lease(world: World, keys: bytes) -> None:
    typed = f"{world.folder}/keys"
    world.ok("spawn", "--name", "s", *typewriter(typed))
    with world.client() as client, attached(world, "s") as person:
        person.wait_for(b"ready")
        person.type(keys)
        until(lambda: content(typed) == keys, person)
        assert holder(client) is None
        person.type(DETACH)
        assert person.end() == 0
