"""A command and its result as everybody sees them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchctl.errors import PeerBroke
from orchctl.plain import from_plain, to_plain
from orchctl.session.command import Command, CommandStatus, Result

PROPERTY = settings(deadline=None, max_examples=100)

times = st.floats(0, 1e10)
numbers = st.integers(0, 1 << 50)
commands = st.builds(
    Command,
    session=st.text(max_size=5),
    id=st.text(max_size=5),
    number=numbers,
    text=st.binary(max_size=20).map(lambda data: data.decode("utf-8", "surrogateescape")),
    cwd=st.none() | st.text(max_size=5),
    started_at=times,
    ended_at=st.none() | times,
    duration_s=st.none() | times,
    exit_code=st.none() | st.integers(0, 255),
    status=st.sampled_from(CommandStatus),
    completion=st.none() | st.sampled_from(["marks", "prompt", "process"]),
    ran=st.booleans(),
    newlines=st.sampled_from(["mapped", "raw"]),
    start_offset=numbers,
    end_offset=st.none() | numbers,
    error=st.none() | st.text(max_size=5),
)


@PROPERTY
@given(commands)
def test_a_command_comes_back_from_json_as_it_was(command: Command) -> None:
    assert from_plain(Command, json.loads(json.dumps(to_plain(command)))) == command


@PROPERTY
@given(commands, st.binary(max_size=5))
def test_a_result_tells_what_its_command_tells(command: Command, output: bytes) -> None:
    result = Result(command=command, output=output)
    assert result.exit_code == command.exit_code
    assert result.status == command.status.value
    assert result.completion == command.completion
    assert result.duration_s == command.duration_s
    assert result.offsets == (command.start_offset, command.end_offset)
    assert (result.output, result.errors, result.truncated) == (output, b"", False)


def test_a_command_runs_until_somebody_says_how_it_ended() -> None:
    result = Result(command=Command(session="a", id="b", number=1, text="true"))
    assert (result.status, result.exit_code, result.offsets) == ("running", None, (0, None))


@pytest.mark.parametrize("missing", ["session", "id", "number", "text"])
def test_a_command_is_nothing_without_its_place_and_its_text(missing: str) -> None:
    plain = {"session": "a", "id": "b", "number": 1, "text": "true"}
    del plain[missing]
    with pytest.raises(PeerBroke, match=f"{missing} is missing"):
        from_plain(Command, plain)


def test_the_words_for_how_it_went_never_change() -> None:
    assert [status.value for status in CommandStatus] == ["running", "exited", "timeout", "error", "needs-input"]


def test_the_fields_of_a_command_never_lose_their_names() -> None:
    assert set(to_plain(Command(session="a", id="b", number=1, text=""))) >= {
        "session", "id", "number", "text", "who", "cwd", "started_at", "ended_at", "duration_s", "exit_code", "status",
        "completion", "ran", "newlines", "start_offset", "end_offset", "error",
    }  # fmt: skip
