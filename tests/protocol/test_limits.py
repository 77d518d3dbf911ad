"""What no message may be, however it is spelled: refused before anybody acts on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput, LimitReached, PeerBroke
from orchctl.protocol import codec, frames, messages
from orchctl.protocol.frames import REQUEST_LIMIT_BYTES, Control, Decoder

PROPERTY = settings(deadline=None, max_examples=200)


def spawn(**fields: Any) -> messages.SpawnSession:
    return messages.SpawnSession(**{"session_id": "x", "command": ("true",), "cwd": "/", "env": {}, **fields})


def payload_of(request: messages.Request) -> bytes:
    (frame,) = Decoder().feed(codec.encode_request(1, request))
    assert isinstance(frame, Control)
    return frame.payload


def refused(payload: bytes, why: str) -> None:
    with pytest.raises(PeerBroke, match=why) as caught:
        codec.decode(Control(payload))
    assert caught.value.code == "bad-frame"


@pytest.mark.parametrize(
    "payload",
    [
        b'{"id":1,"kind":"done","id":1}',
        b'{"id":1,"kind":"done","x":{"a":1,"a":2}}',
        b'{"id":1,"kind":"done","\\u0069d":2}',
    ],
    ids=["outside", "inside", "spelled in two ways"],
)
def test_a_key_that_comes_twice_is_refused(payload: bytes) -> None:
    refused(payload, "a key twice")


def test_a_message_has_at_most_64_fields_and_so_has_any_object_in_it() -> None:
    many = {f"k{number}": number for number in range(62)}
    assert codec.decode(Control(json.dumps({"id": 1, "kind": "done", **many}).encode())) == (1, messages.Done())
    refused(json.dumps({"id": 1, "kind": "done", **many, "one": 0}).encode(), "65 keys")
    inner = {f"k{number}": number for number in range(65)}
    refused(json.dumps({"id": 1, "kind": "done", "extra": inner}).encode(), "65 keys")
    texts = dict.fromkeys(inner, "text")
    refused(json.dumps({"id": 1, "kind": "done", **texts}).encode(), "67 keys")


def test_an_environment_may_have_any_number_of_names() -> None:
    env = {f"NAME_{number}": "value" for number in range(5000)}
    assert codec.decode(Control(payload_of(spawn(env=env)))) == (1, spawn(env=env))
    wrong = json.loads(payload_of(spawn(env=env)))
    wrong["env"]["NAME_7"] = 7
    refused(json.dumps(wrong).encode(), "5000 keys; at most 64, unless it maps text to text")


@pytest.mark.parametrize("number", [1 << 64, -(1 << 63) - 1, 10**30, 10**4000])
def test_a_number_of_more_than_64_bits_is_refused_wherever_it_stands(number: int) -> None:
    digits = b"1" + b"0" * 4000 if number == 10**4000 else str(number).encode()
    refused(b'{"id":1,"kind":"done","extra":[' + digits + b"]}", "64 bits")
    refused(b'{"id":' + digits + b',"kind":"done"}', "64 bits")


@pytest.mark.parametrize("digits", [b"1e999", b"-1e999", b"1.0e400"])
def test_a_fraction_that_is_infinite_is_refused_wherever_it_stands(digits: bytes) -> None:
    refused(b'{"id":1,"kind":"done","extra":' + digits + b"}", "too large")


@pytest.mark.parametrize("half", ["\\ud800", "\\udc00", "\\udc7f", "\\udd00", "\\udfff", "\\uDBFF", "\\ude00\\ud83d"])
@pytest.mark.parametrize(
    "place", ['{"id":1,"kind":"session.get","session":"%s"}', '{"id":1,"kind":"done","x":[{"%s":1}]}']
)
def test_half_a_character_is_refused_wherever_it_stands(place: str, half: str) -> None:
    refused((place % half).encode(), "half a character")


def test_whole_characters_and_bytes_that_are_not_text_pass() -> None:
    payload = b'{"id":1,"kind":"session.get","session":"\\ud83d\\ude00 \\udcff \\\\ud800"}'
    _, message = codec.decode(Control(payload))
    assert message == messages.GetSession(session="😀 \udcff \\ud800")


@PROPERTY
@given(st.text(st.characters(codec=None), max_size=20))
def test_a_text_arrives_if_and_only_if_the_operating_system_could_have_it(text: str) -> None:
    payload = json.dumps({"id": 1, "kind": "session.get", "session": text}).encode()
    whole = json.loads(json.dumps(text))  # two halves side by side are one character
    try:
        whole.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        refused(payload, "half a character")
    else:
        assert codec.decode(Control(payload))[1] == messages.GetSession(session=whole)


@pytest.mark.parametrize(
    "payload", [b'{"id":1,"kind":"don\xff"}', b'{"id":1,"kind":"\xed\xa0\x80"}', b'{"id":1,"kind":"\xc0\x80"}']
)
def test_bytes_that_are_not_utf_8_are_refused(payload: bytes) -> None:
    refused(payload, "not JSON")


@pytest.mark.parametrize("field", ["command", "cwd", "env", "name"])
def test_a_nul_byte_is_refused_on_both_ends(field: str) -> None:
    value: Any = {"command": ("a\0b",), "env": {"A\0": "x"}}.get(field, "a\0b")
    with pytest.raises(BadInput, match="NUL") as caught:
        codec.encode_request(1, spawn(**{field: value}))
    assert caught.value.code == "nul-byte"
    (frame,) = Decoder().feed(codec.encode(1, spawn(**{field: value})))
    assert isinstance(frame, Control)
    with pytest.raises(BadInput, match="NUL"):
        codec.check_request(frame.payload)


@PROPERTY
@given(st.text(st.sampled_from('\\\\u0\0a"'), max_size=12))
def test_a_nul_byte_is_told_from_what_looks_like_one(text: str) -> None:
    request = messages.GetSession(session=text)
    if "\0" not in text:
        assert codec.decode(Control(payload_of(request))) == (1, request)
        return
    with pytest.raises(BadInput, match="NUL"):
        codec.encode_request(1, request)


def test_a_request_leaves_room_for_the_answer_that_repeats_it() -> None:
    room = REQUEST_LIMIT_BYTES - len(payload_of(spawn(command=("",))))
    fits = payload_of(spawn(command=("x" * room,)))
    assert len(fits) == REQUEST_LIMIT_BYTES < frames.CONTROL_LIMIT_BYTES
    codec.check_request(fits)
    with pytest.raises(LimitReached, match="at most 983040") as caught:
        codec.encode_request(1, spawn(command=("x" * (room + 1),)))
    assert (caught.value.code, caught.value.exit_status) == ("too-large", 6)


def test_the_size_of_a_value_is_what_it_takes_in_a_message() -> None:
    assert codec.size_of({"a": "\udcff"}) == len(b'{"a":"\\udcff"}')


def test_until_hello_a_frame_is_small_and_afterwards_it_is_not() -> None:
    decoder = Decoder(control_limit_bytes=frames.HELLO_LIMIT_BYTES)
    (first,) = decoder.feed(frames.control_frame(b"x" * frames.HELLO_LIMIT_BYTES))
    assert first == Control(b"x" * frames.HELLO_LIMIT_BYTES)
    with pytest.raises(PeerBroke, match=f"at most {frames.HELLO_LIMIT_BYTES}"):
        list(decoder.feed(frames.control_frame(b"x" * (frames.HELLO_LIMIT_BYTES + 1))[:5]))
    decoder = Decoder(control_limit_bytes=frames.HELLO_LIMIT_BYTES)
    both = frames.control_frame(b"hello") + frames.control_frame(b"x" * 100_000)
    feeding = decoder.feed(both)
    assert next(feeding) == Control(b"hello")
    del feeding
    decoder.trust()
    assert list(decoder.feed(b"")) == [Control(b"x" * 100_000)]
