"""Sessions without a terminal: one log of both streams, in the order the kernel gave them, and each to be had alone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import sys

from tests.world import World, until

INTERLEAVE = """
import os, random, sys
rnd = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    stream = rnd.choice((1, 2))
    data = rnd.randbytes(rnd.randint(1, 3000))
    while data:
        data = data[os.write(stream, data):]
    if rnd.random() < 0.3:
        sys.stdin.buffer.read(0)
sys.exit(7)
"""


def _expected(seed: int, count: int) -> dict[int, bytes]:
    rnd, found = random.Random(seed), {1: b"", 2: b""}
    for _ in range(count):
        stream = rnd.choice((1, 2))
        found[stream] += rnd.randbytes(rnd.randint(1, 3000))
        rnd.random()
    return found


def test_stdout_and_stderr_are_exact_together_and_apart(world: World) -> None:
    session = world.ok("spawn", "--no-pty", "--", sys.executable, "-c", INTERLEAVE, "3", "400")
    with world.client() as client:
        assert client.wait(session).exit_code == 7
    expected = _expected(3, 400)
    assert world.run("tail", "-n", "all", "--stream", "out", session).stdout == expected[1]
    assert world.run("tail", "-n", "all", "--stream", "err", session).stdout == expected[2]
    everything = world.run("tail", "-n", "all", session).stdout
    assert everything == world.log(session)
    assert len(everything) == len(expected[1]) + len(expected[2])
    view = world.json("info", session)
    assert (view["backend"], view["cols"], view["rows"]) == ("pipe", None, None)


def test_the_program_has_no_terminal_and_can_be_written_to(world: World) -> None:
    script = "tty; [ -t 1 ] || echo no; read -r line; printf 'got %s\\r\\n' \"$line\"; exit 4"
    session = world.ok("spawn", "--no-pty", "--stdin=open", "--", "sh", "-c", script)
    world.ok("send", session, "some words")
    done = world.run("tail", "-f", "-n", "all", "--exit-status", session)
    assert (done.returncode, done.stdout) == (4, b"not a tty\nno\ngot some words\r\n")
    refused = world.run("resize", session, "80x24")
    assert refused.returncode == 3


def test_it_can_be_interrupted_and_killed_and_has_no_size(world: World) -> None:
    world.ok("spawn", "--name", "p", "--no-pty", "--", "sh", "-c", "trap 'echo int' INT; while :; do sleep 0.1; done")
    refused = world.run("resize", "p", "80x24", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (5, "no-terminal")
    pid = world.json("info", "p")["pid"]
    until(lambda: _handles(pid, signal.SIGINT))
    world.ok("interrupt", "p")
    until(lambda: world.run("tail", "-n", "1", "p").stdout == b"int\n")
    assert world.ok("kill", "--grace", "200ms", "p") == "1"
    assert not os.path.exists(f"/proc/{pid}")


def _handles(pid: int, number: int) -> bool:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        (mask,) = [line.split()[1] for line in file if line.startswith("SigCgt")]
    return bool(int(mask, 16) & 1 << (number - 1))


def test_much_output_survives_killed_movers(world: World) -> None:
    total = 40 << 20
    code = f"""
import os, random, sys
rnd, sent = random.Random(9), 0
sys.stdin.readline()
while sent < {total}:
    data = rnd.randbytes(min(65536, {total} - sent))
    sent += len(data)
    while data:
        data = data[os.write(1, data):]
"""
    session = world.ok("spawn", "--no-pty", "--stdin=open", "--", sys.executable, "-c", code)
    child = world.json("info", session)["pid"]
    with open(f"/proc/{child}/stat", encoding="ascii") as file:
        keeper = int(file.read().rpartition(")")[2].split()[1])
    world.ok("send", session, "go")
    killed: set[int] = set()
    while os.path.exists(f"/proc/{child}") and len(killed) < 15:
        try:
            with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
                movers = {int(word) for word in file.read().split()} - {child} - killed
        except FileNotFoundError:
            break
        for mover in movers:
            with contextlib.suppress(ProcessLookupError):  # all is written, and it has ended
                os.kill(mover, signal.SIGKILL)
            killed.add(mover)
    with world.client() as client:
        assert client.wait(session).exit_code == 0
    rnd, sent, digest = random.Random(9), 0, hashlib.sha256()
    while sent < total:
        data = rnd.randbytes(min(65536, total - sent))
        sent += len(data)
        digest.update(data)
    assert hashlib.sha256(world.log(session)).hexdigest() == digest.hexdigest()
    assert killed
