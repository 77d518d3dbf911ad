"""Streams on the wire: credit is kept to the byte, a snapshot is followed by exactly the next byte."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from orchctl import AsyncClient
from orchctl.client import start
from orchctl.errors import BadInput, OrchctlError
from orchctl.paths import Root, prepare
from orchctl.protocol import frames
from orchctl.protocol.messages import Done, Failed, Message, StreamBegins, StreamEnds
from orchctl.session.stream import Chunk
from tests.programs import pour, pour_bytes
from tests.rawclient import HELLO, RawClient, children_of, control, decoded
from tests.world import DEADLINE_S, World, fresh_world, until

TOTAL = 300_000


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """One supervisor, and a session that has ended."""
    with fresh_world() as made:
        made.ok("spawn", "--wait", "--name", "poured", *pour(TOTAL, seed=5))
        yield made


class Stream:
    """A raw reader that counts what comes."""

    def __init__(self, world: World, **asked: Any) -> None:
        self.client = RawClient(world)
        self.client.say(HELLO)
        self.numbers = itertools.count(2)
        self.at = 1  # the supervisor's hello
        self.ask(1, kind="output.read", **asked)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.socket.close()

    def ask(self, number: int, **words: Any) -> None:
        self.client.say(control({"id": number, **words}))

    def frame(self) -> frames.Frame:
        self.at += 1
        return self.client.hear(self.at)[self.at - 1]

    def said(self) -> Message:
        return decoded(self.frame())[1]

    def ack(self, count: int, stream: int = 1) -> Message:
        """What is answered; nothing else may come meanwhile."""
        number = next(self.numbers)
        self.ask(number, kind="output.ack", stream=stream, count_bytes=count)
        found, answer = decoded(self.frame())
        assert found == number
        return answer

    def data(self, count: int) -> bytes:
        """Exactly so many bytes, in any number of frames."""
        found = b""
        while len(found) < count:
            frame = self.frame()
            assert isinstance(frame, frames.Data), frame
            found += frame.chunk.data
        assert len(found) == count
        return found

    def nothing_comes(self) -> None:
        """The stream rests: the supervisor answers other things, and of the stream nothing is there before it."""
        number = next(self.numbers)
        self.ask(number, kind="supervisor.status")
        assert decoded(self.frame())[0] == number


def test_no_more_than_the_credit_is_sent_until_it_is_acknowledged(shared: World) -> None:
    wanted = pour_bytes(TOTAL, seed=5)
    with Stream(shared, session="poured", credit_bytes=100_000) as stream:
        assert isinstance(stream.said(), StreamBegins)
        assert stream.data(100_000) == wanted[:100_000]
        stream.nothing_comes()
        assert stream.ack(1) == Done()
        assert stream.data(1) == wanted[100_000:100_001]
        stream.nothing_comes()
        assert stream.ack(100_000) == Done()
        assert stream.data(100_000) == wanted[100_001:200_001]
        stream.nothing_comes()
        assert stream.ack(99_999) == Done()
        assert stream.data(99_999) == wanted[200_001:]
        assert isinstance(stream.said(), StreamEnds)


@pytest.mark.parametrize("credit", [0, -1, -(1 << 62)])
def test_a_credit_of_nothing_or_less_is_refused(shared: World, credit: int) -> None:
    with Stream(shared, session="poured", credit_bytes=credit) as stream:
        refused = stream.said()
        assert isinstance(refused, Failed)
        assert (refused.code, refused.error) == ("bad-credit", "BadInput")
        stream.nothing_comes()
    with shared.client() as client, pytest.raises(BadInput) as caught:
        list(client.output("poured", credit_bytes=credit))
    assert caught.value.code == "bad-credit"


@pytest.mark.parametrize("count", [11, 1 << 62, 0, -1])
def test_what_was_never_sent_cannot_be_acknowledged_and_the_stream_goes_on(shared: World, count: int) -> None:
    with Stream(shared, session="poured", credit_bytes=10) as stream:
        stream.said()
        stream.data(10)
        refused = stream.ack(count)
        assert isinstance(refused, Failed)
        assert refused.code == "bad-ack"
        stream.nothing_comes()
        assert stream.ack(10) == Done()
        stream.data(10)


def test_a_stream_that_is_not_there_cannot_be_acknowledged(shared: World) -> None:
    with Stream(shared, session="poured", until_offset=10) as plain:
        plain.said()
        plain.data(10)
        assert isinstance(plain.said(), StreamEnds)
        for number in (1, 0, 77):  # without credit and over, nobody's, never asked for
            refused = plain.ack(1, stream=number)
            assert isinstance(refused, Failed)
            assert refused.code == "no-such-stream"
    with Stream(shared, session="poured", credit_bytes=10) as one, Stream(shared, session="nobody") as other:
        one.said()
        one.data(10)
        other.said()
        refused = other.ack(10, stream=1)  # of another connection
        assert isinstance(refused, Failed)
        assert refused.code == "no-such-stream"
        one.nothing_comes()


def test_the_number_of_a_stream_with_credit_is_taken_until_it_ends(shared: World) -> None:
    with Stream(shared, session="poured", credit_bytes=10) as stream:
        stream.said()
        stream.data(10)
        stream.ask(1, kind="output.read", session="poured", credit_bytes=10)
        refused = stream.said()
        assert isinstance(refused, Failed)
        assert refused.code == "number-in-use"
        assert stream.ack(10) == Done()
        stream.data(10)


@pytest.mark.parametrize("credit", [1, 7, 4096, 1 << 20])
def test_the_library_acknowledges_what_its_caller_took(shared: World, credit: int) -> None:
    until_offset = 200 if credit < 100 else TOTAL
    wanted = pour_bytes(TOTAL, seed=5)[:until_offset]
    with shared.client() as client:
        pieces = list(client.output("poured", credit_bytes=credit, until_offset=until_offset))
    chunks = [piece for piece in pieces if isinstance(piece, Chunk)]
    assert chunks == pieces
    assert max(len(chunk.data) for chunk in chunks) <= credit
    assert b"".join(chunk.data for chunk in chunks) == wanted

    async def read() -> bytes:
        async with AsyncClient(state_dir=shared.state) as other:
            stream = other.output("poured", credit_bytes=credit, until_offset=until_offset)
            return b"".join([piece.data async for piece in stream if isinstance(piece, Chunk)])

    assert asyncio.run(read()) == wanted


def test_a_follower_with_credit_goes_on_at_its_byte_when_the_supervisor_is_killed(world: World) -> None:
    total = 2_000_000
    session = world.ok("spawn", *pour(total, seed=8, bytes_per_s=1_000_000, exit_code=4))
    found, killed = b"", 0
    with world.client() as client:
        stream = client.output(session, follow=True, credit_bytes=10_000)
        for piece in stream:
            assert isinstance(piece, Chunk)
            assert piece.offset == len(found)
            assert len(piece.data) <= 10_000
            found += piece.data
            if killed < 4 and len(found) > total * (killed + 1) // 6:
                os.kill(world.supervisor(), signal.SIGKILL)
                killed += 1
        assert stream.session is not None
        assert stream.session.exit_code == 4
    assert killed == 4
    assert found == pour_bytes(total, seed=8) == world.log(session)


PAINTING = r"""
printf '\033]2;a title\007\033[31mred\033[0m first\n'
while read word; do printf 'said %s\n' "$word"; done
"""


def test_a_snapshot_is_followed_by_the_next_byte(world: World) -> None:
    session = world.ok("spawn", "--size", "30x6", "sh", "-c", PAINTING)
    until(lambda: world.log(session).endswith(b"first\r\n"))
    with world.client() as client:
        stream = client.output(session, snapshot=True, follow=True)
        screen = stream.screen()
        assert screen.offset == len(world.log(session))
        assert (screen.lines[0], screen.title, screen.cols, screen.rows) == ("red first", "a title", 30, 6)
        assert "\x1b[38;5;1mred" in screen.ansi
        assert (screen.cursor.x, screen.cursor.y, screen.alternate) == (0, 1, False)
        pieces = iter(stream)
        client.send(session, b"on\n")
        seen = b""
        while not seen.endswith(b"said on\r\n"):
            piece = next(pieces)
            assert isinstance(piece, Chunk)
            assert piece.offset == screen.offset + len(seen)
            seen += piece.data
        os.kill(world.supervisor(), signal.SIGKILL)
        client.send(session, b"and on\n\x04")
        seen += b"".join(piece.data for piece in pieces if isinstance(piece, Chunk))
        assert stream.screen() is screen
        assert world.log(session)[screen.offset :] == seen
        again = client.output(session, snapshot=True, credit_bytes=10)
        assert again.screen().lines[1:5] == ("on", "said on", "and on", "said and on")
        assert list(again) == []


def test_a_snapshot_while_output_pours_and_what_follows_are_the_log(world: World) -> None:
    total = 3_000_000
    session = world.ok("spawn", *pour(total, seed=9, bytes_per_s=2_000_000))

    async def look() -> tuple[int, bytes]:
        async with AsyncClient(state_dir=world.state) as client:
            stream = client.output(session, snapshot=True, follow=True, credit_bytes=50_000)
            screen = await stream.screen()
            return screen.offset, b"".join([piece.data async for piece in stream if isinstance(piece, Chunk)])

    offset, rest = asyncio.run(look())
    assert offset + len(rest) == total
    assert rest == pour_bytes(total, seed=9)[offset:]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"session": "poured", "offset": 0}, "usage"),
        ({"session": "poured", "lines": 3}, "usage"),
        ({"session": "poured", "since_unix_s": 0.0}, "usage"),
        ({"session": "poured", "since_input": True}, "usage"),
        ({"session": "nobody"}, "no-such-session"),
        ({"session": "pipes"}, "no-terminal"),
        ({"session": "huge"}, "too-large"),
    ],
)
def test_a_snapshot_that_cannot_be_made_says_why(shared: World, asked: dict[str, Any], code: str) -> None:
    if asked["session"] == "pipes":
        shared.ok("spawn", "--wait", "--name", "pipes", "--no-pty", "true")
    if asked["session"] == "huge":
        paint = "import sys; sys.stdout.write(''.join('\x1b[38;2;%d;0;0m\u2588' % (n % 251) for n in range(90000)))"
        shared.ok("spawn", "--wait", "--name", "huge", "--size", "300x300", sys.executable, "-c", paint)
    with Stream(shared, snapshot=True, **asked) as stream:
        refused = stream.said()
        assert isinstance(refused, Failed)
        assert refused.code == code
        stream.nothing_comes()


def test_a_stream_without_a_snapshot_has_no_screen(shared: World) -> None:
    with shared.client() as client, pytest.raises(BadInput, match="not asked for"):
        client.output("poured").screen()


def test_a_supervisor_without_the_emulator_says_how_to_get_it(world: World) -> None:
    os.mkdir(f"{world.folder}/hidden")
    with open(f"{world.folder}/hidden/pyghostty.py", "w", encoding="ascii") as file:
        file.write("raise ModuleNotFoundError(\"No module named 'pyghostty'\")\n")
    prepare(Root(world.state))
    argv = start.command_line(Root(world.state), "--foreground")
    env = {**world.env, "PYTHONPATH": f"{world.folder}/hidden"}
    with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            until(lambda: world.run("supervisor", "status").returncode == 0)
            session = world.ok("spawn", "--wait", "true")
            with world.client() as client, pytest.raises(OrchctlError, match="pip install 'pyghostty") as caught:
                client.output(session, snapshot=True).screen()
            assert caught.value.code == "missing-extra"
        finally:
            world.ok("supervisor", "stop")
            running.wait(DEADLINE_S)


def test_whoever_leaves_takes_the_worker_along(world: World) -> None:
    session = world.ok("spawn", "--wait", *pour(4_000_000, seed=1))
    supervisor = world.supervisor()
    for _ in range(5):
        with Stream(world, session=session, snapshot=True):
            until(lambda: children_of(supervisor) != [])
        until(lambda: children_of(supervisor) == [])
    assert world.supervisor() == supervisor
