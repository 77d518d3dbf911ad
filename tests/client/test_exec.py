"""A command's output through lost connections: what comes again is given out once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.exec import CommandStream, Options, collect
from orchctl.errors import PeerBroke
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Answer, CommandBegins, CommandEnds, ExecCommand
from orchctl.session.command import Command
from orchctl.session.stream import Chunk

COMMAND = Command(session="s", id="1", number=1, text="seq", start_offset=100, newlines="raw")


class Line:
    """Stands where a connection is: says what it was given, and then is lost."""

    def __init__(self, said: list[Answer | Data]) -> None:
        self._said: Iterator[Answer | Data] = iter(said)
        self.asked: ExecCommand | None = None

    def begin(self, asked: ExecCommand) -> int:
        self.asked = asked
        return 1

    def next(self, _: int) -> Answer | Data:
        for item in self._said:
            return item
        raise ConnectionLost("the supervisor is gone")

    def close(self) -> None:
        """Nothing is open."""


def output(offset: int, data: bytes) -> Data:
    return Data(1, Chunk(offset, data))


def stream(lines: list[Line]) -> CommandStream:
    waiting = iter(lines)
    return CommandStream(
        "s", "seq", Options(), "user", lambda: cast(Connection, cast(Any, next(waiting))), lambda _: None
    )


@pytest.mark.parametrize("again_from", [100, 103, 106])
def test_what_comes_again_after_a_lost_connection_is_given_out_once(again_from: int) -> None:
    log = b"abcdefghij"
    first = Line([CommandBegins(command=COMMAND), output(100, log[:4]), output(104, log[4:6])])
    again = output(again_from, log[again_from - 100 :])
    second = Line([CommandBegins(command=COMMAND), again, CommandEnds(command=COMMAND)])
    assert collect(stream([first, second])).output == log
    assert first.asked is not None
    assert second.asked is not None
    assert (second.asked.exec_id, second.asked.offset) == (first.asked.exec_id, 106)


def test_output_that_leaves_something_out_is_a_broken_peer() -> None:
    line = Line([CommandBegins(command=COMMAND), output(100, b"abcd"), output(105, b"f")])
    with pytest.raises(PeerBroke):
        collect(stream([line]))
