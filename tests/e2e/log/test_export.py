"""`export`: recordings that other programs read, of live and of ended sessions."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from typing import Any

import pexpect
import pytest

from orchctl.terminal.views import MarkView, TextView
from tests.needs import needs
from tests.world import DEADLINE_S, World, until

SCRIPT = r"printf 'one\n\303'; sleep 0.4; printf '\251\n\033[32mgreen\033[0m\n'; read go; printf 'two \377\n'"


@pytest.fixture
def recorded(world: World) -> str:
    """A session with pauses, a character cut in two, a resize, and bytes that are no UTF-8; ended."""
    session = world.ok("spawn", "--name", "s", "--size", "60x10", "sh", "-c", SCRIPT)
    until(lambda: b"green" in world.log(session))
    world.ok("resize", "s", "70x20")
    world.ok("send", "s", "go")
    world.ok("wait", "s")
    return session


def _export(world: World, shape: str, session: str = "s") -> bytes:
    done = world.run("export", session, "--as", shape)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def _cast(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    head, *events = (json.loads(line) for line in data.splitlines())
    return head, events


def test_raw_is_the_log_and_text_is_what_tail_shows(world: World, recorded: str) -> None:
    assert _export(world, "raw") == world.log(recorded)
    assert _export(world, "text") == world.run("tail", "-n", "all", "s").stdout
    view = TextView()
    assert _export(world, "text") == view.feed(world.log(recorded)) + view.end()


def test_lines_of_json_hold_every_byte_with_its_place_and_time(world: World, recorded: str) -> None:
    objects = [json.loads(line) for line in _export(world, "jsonl").splitlines()]
    chunks = [one for one in objects if one["type"] == "output"]
    at, times = 0, []
    for one in chunks:
        data = _bytes(one)
        assert (one["offset"], one["session"]) == (at, recorded)
        assert world.log(recorded)[at : at + len(data)] == data
        at += len(data)
        times.append(one["time"])
    assert at == len(world.log(recorded))
    assert times == sorted(times)
    sizes = [(one["cols"], one["rows"]) for one in objects if one["type"] == "resize"]
    assert sizes == [(60, 10), (70, 20)]
    offset = next(one["offset"] for one in objects if one["type"] == "resize" and one["cols"] == 70)
    assert b"green" in world.log(recorded)[:offset]
    assert b"two" in world.log(recorded)[offset:]


def _bytes(one: dict[str, Any]) -> bytes:
    import base64

    return one["output"].encode() if "output" in one else base64.b64decode(one["output_b64"])


def test_a_cast_has_times_resizes_and_whole_characters(world: World, recorded: str) -> None:
    head, events = _cast(_export(world, "asciicast"))
    assert (head["version"], head["width"], head["height"], head["title"]) == (2, 60, 10, "s")
    assert [event[2] for event in events if event[1] == "r"] == ["70x20"]
    times = [event[0] for event in events]
    assert times == sorted(times)
    assert times[0] == 0
    assert times[-1] > 0.3
    text = "".join(event[2] for event in events if event[1] == "o")
    assert text == world.log(recorded).decode(errors="replace")
    assert "é" in text


@needs("asciinema")
def test_asciinema_plays_it(world: World, recorded: str) -> None:
    path = f"{world.folder}/s.cast"
    told = json.loads(world.ok("export", "s", "--as", "asciicast", "-o", path, "--json"))
    assert (told["file"], told["bytes"], told["gaps"]) == (path, os.path.getsize(path), [])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert sorted(os.listdir(world.folder)) == ["s.cast", "state"]
    env = {"PATH": "/usr/bin:/bin", "HOME": world.folder, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    for words in (["cat", path], ["play", "--speed", "1000", path]):
        child = pexpect.spawn("/usr/bin/asciinema", words, env=env, timeout=DEADLINE_S, dimensions=(20, 70))
        child.expect(pexpect.EOF)
        child.wait()
        child.close()
        assert child.exitstatus == 0, child.before
        said: Any = child.before
        assert [part for part in ("one", "é", "\x1b[32mgreen\x1b[0m", "two") if part.encode() not in said] == []


def test_marks_are_cut_from_casts_and_text(world: World) -> None:
    world.ok("spawn", "--name", "s", "bash")
    world.ok("wait", "s", "--for", "prompt")
    world.ok("send", "s", "echo shown")
    world.ok("expect", "s", "\rshown\n")
    world.ok("wait", "s", "--for", "prompt")
    raw = _export(world, "raw")
    view = MarkView()
    assert b"\x1b]6973;" in raw
    _, events = _cast(_export(world, "asciicast"))
    assert "".join(event[2] for event in events) == (view.feed(raw) + view.end()).decode()
    assert b"\x1b]6973;" not in _export(world, "text")


def test_both_streams_of_a_session_without_a_terminal_are_told_apart(world: World) -> None:
    world.ok("spawn", "--wait", "--no-pty", "--name", "s", "sh", "-c", "echo out; sleep 0.3; echo err >&2")
    objects = [json.loads(line) for line in _export(world, "jsonl").splitlines()]
    assert [(one["stream"], one["output"]) for one in objects] == [("out", "out\n"), ("err", "err\n")]
    assert _export(world, "text") == _export(world, "raw") == b"out\nerr\n"
    _, events = _cast(_export(world, "asciicast"))
    assert "".join(event[2] for event in events) == "out\r\nerr\r\n"


def test_what_is_missing_is_told(world: World) -> None:
    os.makedirs(world.state, mode=0o700)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "256K"\n')
    world.ok("spawn", "--wait", "--name", "s", "sh", "-c", "seq 200000")
    first = world.json("info", "s")["output"]["first_offset"]
    for shape in ("raw", "text", "jsonl", "asciicast"):
        done = world.run("export", "s", "--as", shape)
        assert (done.returncode, done.stderr) == (0, b"orchctl: bytes 0 to %d are no longer kept\n" % (first - 1))
        assert b"200000" in done.stdout
    told = json.loads(world.ok("export", "s", "--as", "raw", "-o", f"{world.folder}/raw", "--json"))
    assert told["gaps"] == [[0, first]]


def test_a_session_that_wrote_nothing_gives_a_cast_without_events(world: World) -> None:
    world.ok("spawn", "--wait", "--name", "s", "true")
    head, events = _cast(_export(world, "asciicast"))
    assert (head["width"], head["height"], events) == (80, 24, [])


def test_what_cannot_be_done_says_so_and_leaves_no_file(world: World, recorded: str) -> None:
    path = f"{world.folder}/there"
    with open(path, "w", encoding="ascii") as file:
        file.write("old")
    for words, status, code in (
        (["nobody", "--as", "raw", "-o", path], 3, "no-such-session"),
        (["s", "--as", "raw", "-o", f"{world.folder}/no/such"], 1, "os-error"),
        (["s", "--as", "raw"], 2, "usage"),
        (["s", "-o", path], 2, "usage"),
        (["s", "--as", "gif", "-o", path], 2, "usage"),
    ):
        done = world.run("export", "--json", *words)
        assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (status, b"", code)
    with open(path, encoding="ascii") as file:
        assert file.read() == "old"
    assert sorted(os.listdir(world.folder)) == ["state", "there"]
    world.ok("export", "s", "--as", "raw", "-o", path)
    assert subprocess.run(["cat", path], capture_output=True, check=True).stdout == world.log(recorded)
    assert world.run("export", "s", "--as", "raw", "-o", "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
