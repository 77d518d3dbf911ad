"""Typing: all of it, once, in order, or an error that says how much."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest

from orchctl import OrchctlError
from tests.world import World, until

_COUNT = "import sys, tty; tty.setraw(0); print('ready', end='', flush=True); n = int(sys.argv[1])\n"
_COUNT += "data = sys.stdin.buffer.read(n); import hashlib; print(hashlib.sha256(data).hexdigest(), end='', flush=True)"


def test_what_is_sent_is_typed_with_enter_after_it(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", 'read a; read b; printf \'[%s][%s]\' "$a" "$b"')
    world.ok("send", session, "first", "line")
    world.ok("send", session, "--no-enter", "sec")
    world.ok("send", session, "--no-enter", "ond\r")
    with world.client() as client:
        client.wait(session)
    assert world.log(session).endswith(b"[first line][second]")


def test_a_megabyte_arrives_whole_in_a_program_that_reads(world: World) -> None:
    import hashlib
    import random

    data = random.Random(5).randbytes(1 << 20)
    session = world.ok("spawn", sys.executable, "-c", _COUNT, str(len(data)))
    until(lambda: world.log(session) == b"ready")
    with world.client() as client:
        client.send(session, data)
        client.wait(session)
    assert world.log(session) == b"ready" + hashlib.sha256(data).hexdigest().encode()


def test_a_line_that_the_terminal_would_cut_is_refused_whole(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "read line; printf ${#line}")
    done = world.run("send", session, "--json", "x" * 4096)
    assert (done.returncode, json.loads(done.stderr)["code"]) == (5, "line-too-long")
    world.ok("send", session, "x" * 4000)
    with world.client() as client:
        client.wait(session)
    assert world.log(session).endswith(b"\n4000")


def test_input_that_nobody_reads_is_an_error_that_says_how_much_was_typed(world: World) -> None:
    session = world.ok("spawn", sys.executable, "-c", "import tty, time; tty.setraw(0); print('r'); time.sleep(1000)")
    until(lambda: b"r" in world.log(session))
    with world.client() as client, pytest.raises(OrchctlError, match="of 200000 bytes were typed") as failed:
        client.send(session, b"x" * 200_000)
    assert failed.value.code == "input-blocked"


def test_the_same_once_is_typed_once(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "stty -echo; echo ready; cat")
    until(lambda: b"ready" in world.log(session))
    with world.client() as client:
        for _ in range(3):
            client.send(session, b"pay\r", once="order-1")
        client.send(session, b"done\r")
    until(lambda: world.log(session).endswith(b"done\r\n"))
    assert world.log(session) == b"ready\r\npay\r\ndone\r\n"


def test_what_is_sent_while_the_supervisor_is_killed_is_typed_exactly_once(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "stty -echo; echo ready; cat")
    until(lambda: b"ready" in world.log(session))

    def kill_ten_times() -> None:
        for _ in range(10):
            pid = world.supervisor()
            threading.Event().wait(0.05)
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_ten_times)
    killer.start()
    sent = 0
    with world.client() as client:
        while killer.is_alive():
            client.send(session, b"%d\r" % sent)
            sent += 1
    killer.join()
    until(lambda: world.log(session).endswith(b"%d\r\n" % (sent - 1)))
    assert world.log(session) == b"ready\r\n" + b"".join(b"%d\r\n" % number for number in range(sent))


def test_sending_to_an_ended_session_is_refused(world: World) -> None:
    session = world.ok("spawn", "--name", "gone", "--wait", "true")
    for text in ("gone", session):
        done = world.run("send", text, "--json", "hello")
        assert (done.returncode, json.loads(done.stderr)["code"]) == (3, "session-ended")
