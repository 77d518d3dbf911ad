"""What the zygote says by hand is what the client reads."""

from __future__ import annotations

import socket
import tempfile

import pytest

from orchctl.client.connection import Connection
from orchctl.errors import SupervisorUnreachable
from orchctl.pair import degraded
from orchctl.protocol import codec, frames, messages


def test_the_apology_is_an_error_of_the_protocol() -> None:
    (frame,) = frames.Decoder().feed(degraded.frame("with status 70"))
    number, message = codec.decode(frame)
    assert number == 0
    assert isinstance(message, messages.Failed)
    assert codec.encode(0, message) == degraded.frame("with status 70")
    error = codec.error_of(message)
    assert (type(error), error.code) == (SupervisorUnreachable, "degraded")


def test_everybody_at_the_door_gets_it_whether_or_not_they_have_spoken() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/sock")
        listener.listen(8)
        listener.setblocking(False)
        clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for client in clients:
            client.connect(f"{folder}/sock")
        clients[0].sendall(b"x" * 100)
        clients[1].close()
        assert not degraded.answer(listener, "by signal 9")
        for client in (clients[0], clients[2]):
            with pytest.raises(SupervisorUnreachable, match="does not start: the last one ended by signal 9"):
                Connection(client)


@pytest.mark.parametrize(
    ("asked", "stops"),
    [
        (messages.StopSupervisor(), True),
        (messages.StopSupervisor(leave=True), True),
        (messages.StopSupervisor(kill=True), False),
        (messages.ListSessions(), False),
    ],
)
def test_the_one_thing_it_can_be_asked_for_is_to_stop_and_leave_the_sessions(
    asked: messages.Request, stops: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/sock")
        listener.listen(8)
        listener.setblocking(False)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{folder}/sock")
            ours = codec.Hello(protocol=codec.PROTOCOL, version="0", pid=1)
            client.sendall(codec.encode_hello(ours) + codec.encode(1, asked))
            assert degraded.answer(listener, "") == stops
            assert (client.recv(1 << 16) == b"") == stops


def test_garbage_at_the_door_is_answered_as_anything_else() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/sock")
        listener.listen(8)
        listener.setblocking(False)
        for said in (b"\0\0\0\5\1[1,2]", b"\xff" * 64, b"\0\0\x10\0\1" + b"[" * 4096, b"\0\0\0\0\1"):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(f"{folder}/sock")
                client.sendall(said)
                assert not degraded.answer(listener, "")
                assert b"degraded" in client.recv(1 << 16)
