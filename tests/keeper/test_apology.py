"""What the zygote says by hand is what the client reads."""

from __future__ import annotations

import socket
import tempfile

import pytest

from orchctl.client.connection import Connection
from orchctl.errors import SupervisorUnreachable
from orchctl.keeper import apology
from orchctl.protocol import codec, framing, messages


def test_the_apology_is_an_error_of_the_protocol() -> None:
    (frame,) = framing.Decoder().feed(apology.FRAME)
    number, message = codec.decode(frame)
    assert number == 0
    assert isinstance(message, messages.Failed)
    assert codec.encode(0, message) == apology.FRAME
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
        apology.answer(listener)
        for client in (clients[0], clients[2]):
            with pytest.raises(SupervisorUnreachable, match="does not start"):
                Connection(client)
