"""Messages on the wire: every one comes back as it was, and nothing else comes in."""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput, OrchctlError, PeerBroke
from orchctl.protocol import codec, messages
from orchctl.protocol.codec import Hello
from orchctl.protocol.frames import Control, Data, Decoder
from orchctl.session.command import CommandWait
from orchctl.session.stream import Chunk

PROPERTY = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
MESSAGES: tuple[type[Any], ...] = typing.get_args(messages.Message)

system_text = st.binary(max_size=12).map(lambda data: data.decode("utf-8", "surrogateescape")) | st.text(max_size=8)
numbers = st.integers(0, (1 << 32) - 1)
scalars: dict[Any, st.SearchStrategy[Any]] = {
    str: system_text,
    int: st.integers(-(1 << 63), (1 << 64) - 1),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    types.NoneType: st.none(),
}


def test_every_message_is_had_by_its_name_and_of_its_own_module() -> None:
    assert {one.__name__ for one in MESSAGES} == set(messages.__all__) - {"Request", "Answer", "Message"}
    assert all(getattr(messages, one.__name__) is one for one in MESSAGES)
    with pytest.raises(AttributeError):
        _ = messages.Nothing


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that a field with this type may have."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return st.one_of(*map(values_of, args))
    if origin is tuple:
        return st.lists(values_of(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(args[0]), values_of(args[1]), max_size=3)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        known = {field.name: values_of(hints[field.name]) for field in dataclasses.fields(hint)}
        return st.builds(typing.cast("type[Any]", hint), **known)
    if issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    return scalars[hint]


def received(data: bytes) -> Control:
    (frame,) = Decoder().feed(data)
    assert isinstance(frame, Control)
    return frame


def control(data: Any) -> Control:
    return Control(json.dumps(data).encode())


@pytest.mark.parametrize("kind", MESSAGES)
@PROPERTY
@given(st.data(), numbers)
def test_every_message_comes_back_as_it_was(kind: type[Any], data: st.DataObject, number: int) -> None:
    message = data.draw(values_of(kind))
    assert codec.decode(received(codec.encode(number, message))) == (number, message)


@pytest.mark.parametrize("kind", MESSAGES)
@PROPERTY
@given(st.data())
def test_fields_of_a_newer_build_are_ignored(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(values_of(kind))
    plain = json.loads(received(codec.encode(1, message)).payload)
    assert codec.decode(control(plain | {"from the future": [1, {"a": None}]})) == (1, message)


@pytest.mark.parametrize("kind", [kind for kind in MESSAGES if dataclasses.fields(kind)])
@PROPERTY
@given(st.data())
def test_a_missing_field_or_one_of_the_wrong_type_is_refused(kind: type[Any], data: st.DataObject) -> None:
    plain = json.loads(received(codec.encode(1, data.draw(values_of(kind)))).payload)
    for field in dataclasses.fields(kind):
        with pytest.raises(PeerBroke) as caught:
            codec.decode(control(plain | {field.name: [{}]}))
        assert caught.value.code == "bad-message"
        if field.default is field.default_factory is dataclasses.MISSING:
            with pytest.raises(PeerBroke, match="is missing"):
                codec.decode(control({name: value for name, value in plain.items() if name != field.name}))


def test_every_message_has_a_kind_of_its_own() -> None:
    assert len({kind.kind for kind in MESSAGES}) == len(MESSAGES)
    assert {"id", "kind"}.isdisjoint(field.name for kind in MESSAGES for field in dataclasses.fields(kind))


def test_bytes_that_are_not_text_survive() -> None:
    name = b"caf\xe9 \xff".decode("utf-8", "surrogateescape")
    _, message = codec.decode(received(codec.encode(1, messages.GetSession(session=name))))
    assert isinstance(message, messages.GetSession)
    assert message.session.encode("utf-8", "surrogateescape") == b"caf\xe9 \xff"


def test_a_message_looks_as_it_has_always_looked() -> None:
    payload = b'{"id":7,"kind":"session.get","session":"web","own_manager":"user","env":false}'
    assert received(codec.encode(7, messages.GetSession(session="web"))).payload == payload
    least = b'{"id":7,"kind":"session.get","session":"web"}'
    assert codec.decode(Control(least)) == (7, messages.GetSession(session="web"))


def test_a_command_is_asked_for_as_it_has_always_been() -> None:
    payload = (
        b'{"id":8,"kind":"command.exec","session":"web","exec_id":"0badcafe","own_manager":"user","text":"ls","argv":[],'
        b'"spooled":false,"stdin":"null","env":{},"cwd":null,"apart":false,"record":true,"detach":false,"offset":null,'
        b'"timeout_s":null,"kill_after_s":2.0,"wait_prompt_s":null,"viewer":"","lease_wait_s":0.0,"once":null,"wait_input":true,'
        b'"tell_waits":false}'
    )
    asked = messages.ExecCommand(session="web", exec_id="0badcafe", text="ls")
    assert received(codec.encode(8, asked)).payload == payload
    least = b'{"id":8,"kind":"command.exec","session":"web","exec_id":"0badcafe","text":"ls"}'
    assert codec.decode(Control(least)) == (8, asked)


def test_the_kinds_of_the_messages_about_commands_never_change() -> None:
    assert {kind.kind for kind in MESSAGES} >= {
        "command.exec", "command.spool", "command.detach", "command.history", "command.begins", "command.ends",
        "commands", "session.wait-for", "fired", "command.interrupt", "command.interrupted", "command.waits",
    }  # fmt: skip


def test_a_command_is_interrupted_and_waits_in_these_words() -> None:
    asked = messages.InterruptCommand(session="web", exec_id="0badcafe")
    words = b'"kind":"command.interrupt","session":"web","exec_id":"0badcafe","own_manager":"user","detach":false}'
    assert received(codec.encode(8, asked)).payload == b'{"id":8,' + words
    waits = messages.CommandWaits(wait=CommandWait(what="command", number=5, text="make", running_s=43.0, ahead=1))
    words = b'{"what":"command","number":5,"text":"make","running_s":43.0,"ahead":1,"reason":""}}'
    assert received(codec.encode(8, waits)).payload == b'{"id":8,"kind":"command.waits","wait":' + words


@PROPERTY
@given(st.binary(max_size=60))
def test_payloads_of_any_kind_are_messages_or_refused(payload: bytes) -> None:
    for decode in (codec.decode, codec.decode_hello):
        with pytest.raises(PeerBroke):
            decode(Control(payload))


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"[]", b"null", b"1", b"{", b"\xff{}", b'{"id":NaN}', b'{"id":Infinity}', b'{"id":1}{}'),
        pytest.param(b"[" * 100_000, id="very deep list"),
        pytest.param(b'{"a":' * 100_000, id="very deep object"),
    ],
)
def test_a_control_frame_that_is_not_one_json_object_is_refused(payload: bytes) -> None:
    with pytest.raises(PeerBroke) as caught:
        codec.decode(Control(payload))
    assert caught.value.code == "bad-frame"


@pytest.mark.parametrize("seconds", [b"1e999", b"-1e999", pytest.param(b"1" + b"0" * 400, id="401 digits")])
def test_a_number_that_no_fraction_can_hold_is_refused(seconds: bytes) -> None:
    with pytest.raises(PeerBroke):
        codec.decode(Control(b'{"id":1,"kind":"manager.kill","manager":"a","grace_s":' + seconds + b"}"))


@pytest.mark.parametrize("grace_s", [float("inf"), float("nan")])
def test_a_number_that_json_does_not_know_is_never_sent(grace_s: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        codec.encode(1, messages.StopSupervisor(grace_s=grace_s))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_an_object_may_be_sixteen_deep_and_no_deeper(opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    nested = [json.loads(opening * depth + "1" + closing * depth) for depth in (15, 16)]
    assert codec.decode(control({"id": 1, "kind": "done", "extra": nested[0]})) == (1, messages.Done())
    with pytest.raises(PeerBroke, match="at most 16 deep"):
        codec.decode(control({"id": 1, "kind": "done", "extra": nested[1]}))


@pytest.mark.parametrize("number", [None, -1, 1 << 32, 1.0, "1", True, [1]])
def test_a_message_needs_a_request_number_of_32_bits(number: Any) -> None:
    with pytest.raises(PeerBroke, match="without a request number"):
        codec.decode(control({"id": number, "kind": "done"}))


@pytest.mark.parametrize("kind", [None, 1, [], "", "session.fly"])
def test_an_unknown_verb_is_told_apart_so_that_it_can_be_answered(kind: Any) -> None:
    with pytest.raises(codec.UnknownKind) as caught:
        codec.decode(control({"id": 9, "kind": kind}))
    assert (caught.value.number, caught.value.code) == (9, "unknown-verb")
    back = codec.error_of(codec.failed(caught.value))
    assert isinstance(back, PeerBroke)
    assert back.code == "unknown-verb"


def test_output_where_a_message_is_due_is_refused() -> None:
    for decode in (codec.decode, codec.decode_hello):
        with pytest.raises(PeerBroke, match="data frame") as caught:
            decode(Data(1, Chunk(0, b"{}")))
        assert caught.value.code == "bad-frame"


@PROPERTY
@given(values_of(Hello))
def test_a_hello_comes_back_as_it_was(hello: Hello) -> None:
    assert codec.decode_hello(received(codec.encode_hello(hello))) == hello


def test_a_hello_says_at_least_its_protocol() -> None:
    assert codec.decode_hello(control({"protocol": 99, "mood": "good"})) == Hello(protocol=99)
    with pytest.raises(PeerBroke, match=r"Hello\.protocol is missing"):
        codec.decode_hello(control({"version": "1"}))


@pytest.mark.parametrize("error", [BadInput("no", code="bad-size"), PeerBroke("what?"), OrchctlError("oh")])
def test_an_error_arrives_as_it_was_sent(error: OrchctlError) -> None:
    _, message = codec.decode(received(codec.encode(1, codec.failed(error))))
    assert isinstance(message, messages.Failed)
    back = codec.error_of(message)
    assert (type(back), back.code, back.message) == (type(error), error.code, error.message)
