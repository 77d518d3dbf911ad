"""The log is the truth: what a program wrote is in it, byte for byte, before its exit is told."""

from __future__ import annotations

import random

import pytest

from tests.programs import write_raw
from tests.world import World

UTF8 = "grüße, 日本語, 👩‍👩‍👧‍👦, e\u0301\n".encode()
AWKWARD = {
    "utf-8 split at every byte": (UTF8 * 20, 1),
    "nul bytes": (b"a\0b\0\0c" * 1000, 0),
    "invalid utf-8": (b"\xff\xfe\xc3(\xa0\xa1 \xf0\x28\x8c\x28" * 500, 7),
    "every byte": (bytes(range(256)) * 64, 0),
    "ten megabytes without a newline": (random.Random(1).randbytes(10 << 20).replace(b"\n", b"x"), 0),
    "nothing": (b"", 0),
    "no final newline": (b"first\nlast", 0),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_log_and_raw_tail_are_byte_exact(world: World, name: str) -> None:
    data, step = AWKWARD[name]
    path = f"{world.folder}/data"
    with open(path, "wb") as file:
        file.write(data)
    session = world.ok("spawn", "--wait", *write_raw(path, step=step))
    assert world.log(session) == data
    assert world.run("tail", "-n", "all", "--raw", session).stdout == data
    assert world.run("tail", "-f", "-n", "all", "--raw", session).stdout == data


def test_the_last_byte_of_five_hundred_fast_exits_is_in_the_log_before_the_exit_is_told(world: World) -> None:
    rnd = random.Random(3)
    with world.client() as client:
        for number in range(500):
            size = rnd.choice((1, 100, 4095, 4096, 4097, 9000))
            script = f"printf '%0{size}d' {number}; exit {number % 100}"
            ended = client.wait(client.spawn(["sh", "-c", script]).id)
            log = world.log(ended.id)
            assert (ended.exit_code, ended.output_open) == (number % 100, False)
            assert log == b"%0*d" % (size, number)
            assert ended.output.next_offset == len(log)


def test_fifty_sessions_pouring_at_once_keep_their_bytes_apart(world: World) -> None:
    with world.client() as client:
        ids = [client.spawn(["sh", "-c", f"seq -f '{n} %g' 2000; exit {n}"]).id for n in range(50)]
        ended = [client.wait(session) for session in ids]
    for number, session in enumerate(ended):
        assert session.exit_code == number
        assert world.log(session.id) == b"".join(b"%d %d\r\n" % (number, line) for line in range(1, 2001))


@pytest.mark.parametrize("count", [0, 1, 2, 10, 1000])
def test_tail_shows_the_last_lines(world: World, count: int) -> None:
    session = world.ok("spawn", "--wait", "sh", "-c", "seq 20000; printf end")
    lines = [b"%d" % line for line in range(1, 20001)] + [b"end"]
    assert world.run("tail", "-n", str(count), session).stdout == (b"\n".join(lines[-count:]) if count else b"")


def test_a_pipe_gets_newlines_as_the_program_wrote_them_and_a_json_reader_gets_offsets(world: World) -> None:
    session = world.ok("spawn", "--wait", "printf", r"a\nb\r\n\033[1mc\033[0m")
    assert world.run("tail", session).stdout == b"a\nb\r\n\x1b[1mc\x1b[0m"
    assert world.json("tail", session) == {
        "type": "output",
        "session": session,
        "offset": 0,
        "output": "a\r\nb\r\r\n\x1b[1mc\x1b[0m",
    }
