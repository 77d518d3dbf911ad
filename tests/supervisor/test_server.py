"""A client that breaks the rules is told so and costs itself its connection, and nobody else anything."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Iterator

import pytest

from orchctl.client.connection import Connection
from orchctl.client.start import connect
from orchctl.errors import LimitReached
from orchctl.paths import Root
from orchctl.protocol import codec
from orchctl.protocol import frames as framing
from tests.needs import needs
from tests.rawclient import HELLO, RawClient, busy_share, control, decoded, memory_kib, open_files, usual_files
from tests.world import World, fresh_world, until


@pytest.fixture(scope="module")
def busy() -> Iterator[World]:
    """One supervisor for all of these: what one of them does to it, the next would notice."""
    with fresh_world() as made:
        made.ok("spawn", "--name", "bystander", "sleep", "1000")
        yield made
        assert made.json("info", "bystander")["is_alive"] is True


CONNECTIONS, RESERVED = 256, 16
LIST = {"id": 3, "kind": "session.list"}
TOLD = {  # what is said, and the codes of the errors that come back before the answer to LIST, if there is one
    "a length of nothing": (HELLO + struct.pack(">IB", 0, 1), ["bad-frame"]),
    "not json": (HELLO + framing.control_frame(b"{"), ["bad-frame"]),
    "json that is no object": (HELLO + framing.control_frame(b"[1]"), ["bad-frame"]),
    "deep json": (HELLO + framing.control_frame(b'{"a":' * 5000 + b"1" + b"}" * 5000), ["bad-frame"]),
    "a list deeper than anything": (HELLO + framing.control_frame(b"[" * 1_000_000), ["bad-frame"]),
    "a key twice": (HELLO + framing.control_frame(b'{"id":1,"kind":"session.list","id":2}'), ["bad-frame"]),
    "65 keys": (HELLO + control({"id": 1, "kind": "session.list", **{str(n): n for n in range(65)}}), ["bad-frame"]),
    "not a number": (HELLO + framing.control_frame(b'{"id":1,"kind":"done","x":NaN}'), ["bad-frame"]),
    "a huge number": (HELLO + framing.control_frame(b'{"id":1,"kind":"done","x":1' + b"0" * 99 + b"}"), ["bad-frame"]),
    "half a character": (HELLO + control({"id": 1, "kind": "session.get", "session": "\ud800"}), ["bad-frame"]),
    "not utf-8": (HELLO + framing.control_frame(b'{"id":1,"kind":"\xff"}'), ["bad-frame"]),
    "a nul byte": (HELLO + control({"id": 1, "kind": "session.get", "session": "a\0"}), ["nul-byte"]),
    "output from a client": (HELLO + framing.data_head(1, 0, 3) + b"abc", ["bad-frame"]),
    "a negative number": (HELLO + control({"id": -1, "kind": "session.list"}), ["bad-message"]),
    "a field of the wrong type": (HELLO + control({"id": 1, "kind": "session.get", "session": [1]}), ["bad-message"]),
    "a request that is an answer": (HELLO + control({"id": 1, "kind": "done"}), ["bad-message"]),
    "a request that is too large": (HELLO + control({"id": 1, "kind": "done", "x": "y" * 1_000_000}), ["too-large"]),
}
ENDED = {  # what makes the supervisor hang up, and the code of its last words
    "a length of a gigabyte": (HELLO + struct.pack(">IB", 1 << 30, 1), "bad-frame"),
    "the largest length": (HELLO + struct.pack(">IB", (1 << 32) - 1, 1), "bad-frame"),
    "one byte too many": (HELLO + struct.pack(">IB", (1 << 20) + 1, 1), "bad-frame"),
    "one byte of output too many": (HELLO + struct.pack(">IB", (1 << 16) + 17, 2), "bad-frame"),
    "an unknown kind of frame": (HELLO + struct.pack(">IB", 1, 9) + b"x", "bad-frame"),
    "output without its header": (HELLO + struct.pack(">IB", 3, 2) + b"abc", "bad-frame"),
    "a gigabyte before hello": (struct.pack(">IB", 1 << 30, 1), "bad-frame"),
    "a long hello": (struct.pack(">IB", (1 << 14) + 1, 1), "bad-frame"),
    "no hello": (control({"id": 1, "kind": "session.list"}), "bad-message"),
    "output before hello": (framing.data_head(1, 0, 3) + b"abc", "bad-frame"),
    "http": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "bad-frame"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_bad_message_is_answered_with_its_reason_and_the_connection_goes_on(busy: World, name: str) -> None:
    data, codes = TOLD[name]
    with RawClient(busy) as client:
        client.say(data + control(LIST))
        said = [decoded(frame) for frame in client.hear(2 + len(codes))[1:]]
    assert [getattr(message, "code", None) for number, message in said if number != 3] == codes
    assert [len(getattr(message, "sessions", ())) for number, message in said if number == 3] == [1]


@pytest.mark.parametrize("name", ENDED)
def test_a_bad_frame_ends_the_connection_with_its_reason(busy: World, name: str) -> None:
    data, code = ENDED[name]
    with RawClient(busy) as client:
        client.say(data)
        assert client.last_words().code == code


@pytest.mark.parametrize("data", [b"", HELLO[:7], HELLO, HELLO + HELLO[:9]], ids=["nothing", "half", "hello", "more"])
def test_a_client_that_goes_away_changes_nothing(busy: World, data: bytes) -> None:
    pid, before = busy.supervisor(), busy.json("list")
    with RawClient(busy) as client:
        client.say(data)
        client.socket.shutdown(socket.SHUT_WR)
        client.hear_out()
    assert busy.supervisor() == pid
    assert [one["id"] for one in busy.json("list")] == [one["id"] for one in before]


@pytest.mark.parametrize("verb", ["__class__", "a.b.c", "../x", "session.spawn.__init__", "HANDLERS", "done", "", None])
def test_a_verb_that_is_not_in_the_table_is_a_typed_error_and_the_connection_goes_on(
    busy: World, verb: str | None
) -> None:
    with RawClient(busy) as client:
        client.say(HELLO + control({"id": 5, "kind": verb}) + control({"id": 6, "kind": "session.list"}))
        kinds = dict(decoded(frame) for frame in client.hear(3)[1:])
    assert getattr(kinds[5], "code", None) == ("bad-message" if verb == "done" else "unknown-verb")
    assert len(getattr(kinds[6], "sessions", ())) == 1


def test_many_requests_at_once_on_one_connection_are_all_answered(busy: World) -> None:
    with RawClient(busy) as client:
        client.say(HELLO + b"".join(control({"id": n, "kind": "supervisor.status"}) for n in range(1, 301)))
        assert sorted(decoded(frame)[0] for frame in client.hear(301)[1:]) == list(range(1, 301))


def test_requests_whose_answers_nobody_reads_are_not_taken_without_end(busy: World) -> None:
    pid = busy.supervisor()
    before = memory_kib(pid)
    with RawClient(busy) as client:
        client.say(HELLO)
        client.socket.settimeout(2)
        request, sent = control({"id": 1, "kind": "session.list", "x": "y" * 1000}), 0
        with contextlib.suppress(TimeoutError):
            while sent < 64 << 20:
                sent += client.socket.send(request * 50)
        assert sent < 16 << 20
        assert memory_kib(pid) - before < 32 << 10
        assert len(busy.json("list")) == 1


def test_connections_past_the_limit_are_refused_with_a_reason_and_others_work(busy: World) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(RawClient(busy)) for _ in range(CONNECTIONS + RESERVED)]
        assert all(client.hears(b"protocol") for client in held)  # they have five seconds to say hello themselves
        with pytest.raises(LimitReached, match="256 connections") as caught:
            Connection(connect(Root(busy.state)))
        assert caught.value.code == "too-many-connections"
        done = busy.run("list", "--json")
        assert (done.returncode, json.loads(done.stderr)["code"]) == (6, "too-many-connections")
    until(lambda: busy.run("list").returncode == 0)


def test_who_has_not_said_hello_has_no_more_than_64_kib_of_the_supervisor(busy: World) -> None:
    pid = busy.supervisor()
    long_hello = struct.pack(">IB", framing.HELLO_LIMIT_BYTES, 1) + b"{" + b" " * (framing.HELLO_LIMIT_BYTES - 2)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(RawClient(busy)) for _ in range(200)]
        assert all(client.hears(b"protocol") for client in clients)
        before = memory_kib(pid)
        for client in clients:
            client.say(long_hello)  # all but its last byte
        until(lambda: busy_share(pid, 0.1) < 0.5)
        assert memory_kib(pid) - before < 200 * 64
        for client in clients:
            client.say(b"}" * 150_000)
        assert {client.last_words().code for client in clients} <= {
            "bad-message",
            "bad-frame",
            "no-hello",
        }  # or too late
        assert memory_kib(pid) - before < 200 * 64


def test_a_peer_of_another_protocol_is_told_apart_but_may_still_stop_the_supervisor(busy: World) -> None:
    with RawClient(busy) as client:
        client.say(control({"protocol": 99, "future": True}) + control({"id": 1, "kind": "session.list"}))
        frames = client.hear(2)
    assert codec.decode_hello(frames[0]).pid == busy.supervisor()
    assert len(getattr(decoded(frames[1])[1], "sessions", ())) == 1


@pytest.mark.parametrize("greeted", [False, True], ids=["before hello", "after hello"])
@needs("root")
def test_descriptors_sent_by_a_client_are_never_taken(busy: World, greeted: bool) -> None:
    pid = busy.supervisor()
    with RawClient(busy) as client, open(os.devnull, "rb") as null:
        if greeted:
            client.say(HELLO)
        client.hear(1)
        before, most = usual_files(pid), 0
        for number in range(1, 201):
            word = control({"id": number, "kind": "supervisor.status"}) if greeted else HELLO[number - 1 : number]
            if not word:
                break
            socket.send_fds(client.socket, [word], [null.fileno()] * 253)
            if greeted:
                client.hear(1 + number)
            most = max(most, open_files(pid))
    assert most <= before + 2  # a client of another test may be on its way out
    until(lambda: open_files(pid) <= before)


def test_what_is_long_is_told_in_parts(busy: World) -> None:
    words = ["x" * 100_000] * 8
    for _ in range(3):
        busy.ok("spawn", "--wait", "true", *words)
    assert [len(one["command"]) for one in busy.json("list", "-a")][-3:] == [9, 9, 9]
    assert busy.json("info", "@last")["command"] == ["true", *words]
    busy.ok("prune", "@last")
