"""docs/PROTOCOL.md has every message and every field, every limit and state, and its bytes are right."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from orchctl import errors
from orchctl.protocol import codec
from orchctl.protocol import frames as framing
from orchctl.protocol.codec import Hello
from orchctl.session.run import TRANSITIONS
from orchctl.supervisor import server
from tests.generate import protocol_doc
from tests.generate.protocol_doc import ANSWERED_BY, ANSWERS, DOCUMENT, REQUESTS

TEXT = DOCUMENT.read_text()


def test_the_tables_are_those_of_the_code() -> None:
    assert protocol_doc.document(TEXT) == TEXT, "run 'python -m tests.generate'"


@pytest.mark.parametrize("kind", [*REQUESTS, *ANSWERS], ids=lambda kind: kind.kind)
def test_every_message_and_each_of_its_fields_is_there(kind: type) -> None:
    section = TEXT.partition(f"#### `{kind.kind}`\n")[2].partition("####")[0]  # type: ignore[attr-defined]
    for field in dataclasses.fields(kind):
        assert f"| `{field.name}` |" in section


def test_every_request_says_how_it_is_answered_and_only_with_what_there_is() -> None:
    assert set(ANSWERED_BY) == set(REQUESTS)
    named = {word for words in ANSWERED_BY.values() for word in re.findall(r"`([a-z.]+)`", words)}
    assert named - {"closed"} == {answer.kind for answer in ANSWERS} - {"failed"}


def test_limits_features_errors_and_states_are_there() -> None:
    for name, value in protocol_doc.limits():
        assert str(value) in TEXT, name
    for value in (server.CONNECTIONS, server.CALLS_AT_ONCE, codec.DEPTH_LIMIT, codec.KEY_LIMIT):
        assert str(value) in TEXT
    assert f"{server.HELLO_S:.0f} seconds" in TEXT
    for feature in codec.FEATURES:
        assert f"`{feature}`" in TEXT
    for error in errors._tree(errors.OrchctlError):
        if error.__module__ == "orchctl.errors" and error is not errors.ProtocolMismatch:  # which only clients raise
            assert f"`{error.__name__}`" in TEXT
            assert f"`{error.code}`" in TEXT or f"| {error.exit_status} |" in TEXT
    for state in {state for state, _ in TRANSITIONS} | set(TRANSITIONS.values()):
        assert f"`{state.value}`" in TEXT


def test_the_bytes_of_the_example_are_frames() -> None:
    blocks = re.findall(r"```\n([→←] (?:[0-9a-f]{2} ).*?)```", TEXT, re.DOTALL)
    frames = [frame for block in blocks for frame in framing.Decoder().feed(_bytes(block))]
    greeting, data = frames
    assert codec.decode_hello(greeting) == Hello(protocol=1)
    assert isinstance(data, framing.Data)
    assert (data.stream, data.channel, data.chunk.offset, data.chunk.data) == (2, 0, 0, b"hello, w")


def test_the_messages_of_the_example_can_be_read() -> None:
    said = re.findall(r"^→ (\{\"id\".*?\})$", TEXT, re.DOTALL | re.MULTILINE)
    assert len(said) == 4
    for words in said:
        codec.decode(framing.Control(json.dumps(json.loads(words)).encode()))


def _bytes(block: str) -> bytes:
    return b"".join(bytes.fromhex(found) for found in re.findall(r"(?m)^[→← ] ((?:[0-9a-f]{2} ?)+)", _joined(block)))


def _joined(block: str) -> str:
    """Groups of bytes are set apart by two spaces; what follows more of them is words."""
    return "\n".join(re.sub(r"(?<=[0-9a-f]{2})  (?=[0-9a-f]{2}( |$))", " ", line) for line in block.splitlines())
