"""A client that misbehaves costs itself its connection and nobody else anything."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct

import pytest

from orchctl.client.connection import Connection
from orchctl.client.start import connect
from orchctl.errors import OrchctlError
from orchctl.protocol import codec, framing
from orchctl.protocol.hello import Hello
from orchctl.settings import Root
from tests.world import World, until


def _raw(world: World) -> socket.socket:
    connection = connect(Root(world.state))
    connection.settimeout(30)
    return connection


def _control(data: object) -> bytes:
    return framing.control_frame(json.dumps(data).encode())


def _frames(connection: socket.socket) -> list[framing.Frame]:
    decoder, found = framing.Decoder(), []
    with contextlib.suppress(OSError):
        while data := connection.recv(65536):
            found += list(decoder.feed(data))
    return found


HELLO = codec.encode_hello(Hello(protocol=1))
BAD = {
    "nothing at all": b"",
    "half a hello": HELLO[:7],
    "a length of a gigabyte": struct.pack(">IB", 1 << 30, 1),
    "an unknown kind of frame": HELLO + struct.pack(">IB", 1, 9) + b"x",
    "not json": HELLO + framing.control_frame(b"{"),
    "json that is no object": HELLO + framing.control_frame(b"[1]"),
    "deep json": HELLO + framing.control_frame(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "not a number": HELLO + framing.control_frame(b'{"id":1,"kind":"session.kill","sessions":[],"grace_s":NaN}'),
    "no hello": _control({"id": 1, "kind": "session.list"}),
    "output from a client": HELLO + framing.data_head(1, 0, 3) + b"abc",
    "a negative number": HELLO + _control({"id": -1, "kind": "session.list"}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bytes_are_answered_or_refused_and_the_supervisor_goes_on(world: World, name: str) -> None:
    pid = world.supervisor()
    with _raw(world) as connection:
        connection.sendall(BAD[name])
        connection.shutdown(socket.SHUT_WR)
        _frames(connection)
    assert world.supervisor() == pid
    with world.client() as client:
        assert client.wait(client.spawn(["true"]).id).exit_code == 0


@pytest.mark.parametrize("verb", ["__class__", "a.b.c", "../x", "session.spawn.__init__", "done", ""])
def test_a_verb_that_is_not_in_the_table_is_a_typed_error_and_the_connection_goes_on(world: World, verb: str) -> None:
    world.supervisor()
    with _raw(world) as connection:
        connection.sendall(HELLO + _control({"id": 5, "kind": verb}) + _control({"id": 6, "kind": "session.list"}))
        decoder, frames = framing.Decoder(), list[framing.Frame]()
        while len(frames) < 3:
            frames += list(decoder.feed(connection.recv(65536)))
        kinds = dict(codec.decode(frame) for frame in frames[1:])
    assert getattr(kinds[5], "code", None) in ("unknown-verb", "bad-message")
    assert getattr(kinds[6], "sessions", None) == ()


def test_many_requests_at_once_on_one_connection_are_all_answered(world: World) -> None:
    world.supervisor()
    with _raw(world) as connection:
        connection.sendall(HELLO + b"".join(_control({"id": n, "kind": "supervisor.status"}) for n in range(1, 301)))
        decoder, frames = framing.Decoder(), list[framing.Frame]()
        while len(frames) < 301:
            frames += list(decoder.feed(connection.recv(65536)))
    assert sorted(codec.decode(frame)[0] for frame in frames[1:]) == list(range(1, 301))


def test_connections_past_the_limit_are_refused_with_a_reason_and_others_work(world: World) -> None:
    world.supervisor()
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(contextlib.closing(Connection(_raw(world)))) for _ in range(250)]
        refused = list[str]()
        for _ in range(20):
            try:
                stack.enter_context(contextlib.closing(Connection(_raw(world))))
            except OrchctlError as error:
                refused.append(error.code)
        assert len(refused) >= 13
        assert set(refused) == {"too-many-connections"}
        assert held[0].hello.protocol == 1
    assert world.json("supervisor", "status")["running"] is True


def test_a_peer_of_another_protocol_is_told_apart_but_may_still_stop_the_supervisor(world: World) -> None:
    world.supervisor()
    with _raw(world) as connection:
        connection.sendall(_control({"protocol": 99, "future": True}) + _control({"id": 1, "kind": "session.list"}))
        frames = list[framing.Frame]()
        decoder = framing.Decoder()
        while len(frames) < 2:
            frames += list(decoder.feed(connection.recv(65536)))
    assert codec.decode_hello(frames[0]).pid == world.supervisor()
    assert getattr(codec.decode(frames[1])[1], "sessions", None) == ()


def test_descriptors_sent_by_a_client_are_not_kept(world: World) -> None:
    pid = world.supervisor()
    before = len(os.listdir(f"/proc/{pid}/fd"))
    with _raw(world) as connection, open(os.devnull, "rb") as null, contextlib.suppress(OSError):
        for _ in range(20):
            socket.send_fds(connection, [b"\0"], [null.fileno()] * 50)
        connection.shutdown(socket.SHUT_WR)
        _frames(connection)
    assert world.supervisor() == pid
    until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before)


def test_a_follower_that_never_reads_costs_the_session_nothing(world: World) -> None:
    session = world.ok("spawn", "sh", "-c", "head -c 5000000 /dev/zero; exit 3")
    with _raw(world) as stuck:
        stuck.sendall(HELLO + _control({"id": 1, "kind": "output.read", "session": session, "follow": True}))
        with world.client() as client:
            assert client.wait(session).exit_code == 3
            assert sum(len(piece.data) for piece in client.output(session) if hasattr(piece, "data")) == 5_000_000
