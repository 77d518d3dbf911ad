"""`search` as users have it: over real sessions, in a pipe and on a terminal, and ended in every way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from datetime import datetime
from typing import Any

import pexpect
import pytest

from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

HANGS = r"^(a+)+b$"  # on the line of _slow it would take longer than anybody lives


def _ended(world: World, name: str, script: str, *options: str) -> str:
    world.ok("spawn", "--wait", "--name", name, *options, "sh", "-c", script)
    return name


def _slow(world: World) -> None:
    _ended(world, "slow", f"echo aab; echo {'a' * 60}cb")


def _grep(text: bytes, *words: str) -> bytes:
    env = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
    return subprocess.run(["grep", "-a", *words], input=text, env=env, capture_output=True, check=False).stdout


def test_lines_are_those_that_grep_finds_in_what_tail_shows(world: World) -> None:
    world.ok("spawn", "--name", "work", "bash")
    for command in ("printf 'one\\ntwo\\n'", "echo three; echo one", "printf 'a\\0one\\xff no end'"):
        assert world.run("exec", "work", command).returncode == 0
    world.ok("wait", "work", "--for", "prompt")
    assert b"\x1b]6973;" in world.log(world.json("info", "work")["id"])
    text = world.run("tail", "-n", "all", "work").stdout
    for words in (
        ["one"],
        ["-n", "t.o"],
        ["-n", "-C1", "two"],
        ["-c", "o"],
        ["-F", "-i", "ONE"],
        ["-n", "-A", "0", "-B", "1", "o"],
    ):
        mine = world.run("search", *words, "work")
        assert mine.stdout == _grep(text, *(["-E"] if "-F" not in words else []), *words)
        assert (mine.returncode, mine.stderr) == (0, b"")


def test_all_sessions_are_searched_ended_ones_too_and_named(world: World) -> None:
    _ended(world, "first", "echo here; echo elsewhere")
    _ended(world, "second", "echo nothing")
    unnamed = world.ok("spawn", "--no-pty", "sh", "-c", "echo here; sleep 1000")
    until(lambda: b"here" in world.log(unnamed))
    assert world.ok("search", "here").splitlines() == ["first:here", "first:elsewhere", f"{unnamed[:8]}:here"]
    assert world.ok("search", "here", "first").splitlines() == ["here", "elsewhere"]
    assert world.ok("search", "-c", "here").splitlines() == ["first:2", "second:0", f"{unnamed[:8]}:1"]
    assert world.ok("search", "--max", "1", "-n", "here", "first", "second") == "first:1:here"
    assert world.ok("search", "here", "-", input=b"first\n", stdin=None).splitlines() == ["here", "elsewhere"]
    nobody = world.run("search", "here", "-", input=b"\n", stdin=None)
    assert (nobody.returncode, nobody.stdout) == (1, b"")


def test_sessions_are_chosen_by_manager_and_label(world: World) -> None:
    _ended(world, "first", "echo here", "-m", "orchestrator:a-1:b", "-l", "job=x")
    _ended(world, "second", "echo here", "-m", "orchestrator:a-12")
    assert world.ok("search", "here", "@orchestrator:a-1") == "first:here"
    assert world.ok("search", "here", "-m", "orchestrator:a-12") == "second:here"
    assert world.ok("search", "here", "-l", "job=x") == "first:here"


def test_objects_say_where_and_what(world: World) -> None:
    name = _ended(world, "first", r"printf 'one\nzwei \303\251\303\251 x\n\377 x\n'")
    session = world.json("info", name)["id"]
    objects = [json.loads(line) for line in world.ok("search", "--json", "x$|é").splitlines()]
    assert objects == [
        {
            "type": "match",
            "session": session,
            "name": name,
            "offset": 5,
            "line": 2,
            "text": "zwei éé x",
            "spans": [[5, 6], [6, 7], [8, 9]],
        },
        {
            "type": "match",
            "session": session,
            "name": name,
            "offset": 18,
            "line": 3,
            "text_b64": "/yB4",
            "spans": [[2, 3]],
        },
    ]
    assert world.ok("search", "--template", "{line}\\t{offset}", "one") == "1\t0"
    assert json.loads(world.ok("search", "--json", "-c", "x")) == {
        "type": "count",
        "session": session,
        "name": name,
        "count": 2,
    }
    quiet = world.run("search", "-q", "x")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["a["], "bad-pattern"),
        (["[[:alpha:]]"], "bad-pattern"),
        (["x", "nobody"], "no-such-session"),
        (["-F", "-E", "x"], "usage"),
        (["--since", "@12", "x"], "usage"),
        (["--max", "0", "x"], "usage"),
        ([], "usage"),
    ],
)
def test_any_error_is_a_two(world: World, words: list[str], code: str) -> None:
    _ended(world, "first", "echo x")
    done = world.run("search", "--json", *words)
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (2, b"", code)
    assert b"Traceback" not in world.run("search", *words).stderr


def test_nothing_found_is_a_one_and_starts_no_supervisor_where_there_is_no_session(world: World) -> None:
    done = world.run("search", "x")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert not os.path.exists(f"{world.state}/supervisor.sock")


def test_a_terminal_gets_colour_and_nothing_else_that_acts(world: World) -> None:
    _ended(world, "first", r"printf '\033]2;title\007\033[32mgreen here\033[0m \033[2Jx\033]52;c;eA==\007\n'")
    env = {**world.env, "TERM": "xterm-256color"}
    child = pexpect.spawn(ORCHCTL, ["search", "-n", "here"], env=env, timeout=DEADLINE_S)
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    assert child.exitstatus == 0
    shown: Any = child.before
    assert b"\x1b[1;31mhere\x1b[0m" in shown
    assert b"\x1b[32mgreen " in shown
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", shown) == b"first:1:green here x^[]52;c;eA==^G\r\n"
    assert b"\x1b" not in world.run("search", "-n", "gr").stdout.replace(
        b"\x1b]2;title\x07\x1b[32mgreen here\x1b[0m \x1b[2Jx\x1b]52;c;eA==\x07", b""
    )


def test_only_what_was_written_since_then_is_searched(world: World) -> None:
    session = world.ok(
        "spawn",
        "--no-pty",
        "--stdin=open",
        "sh",
        "-c",
        "printf 'old x\\nbegun '; read go; printf 'x\\nnew x\\n'; sleep 1000",
    )
    until(lambda: b"begun" in world.log(session))
    index = f"{world.state}/sessions/{session}/out/{0:020d}.idx"
    until(lambda: os.path.exists(index) and os.path.getsize(index) >= 32)
    written = time.time()
    until(lambda: time.time() > written + 0.5)  # bytes that come within a tenth of a second have one time
    since = datetime.fromtimestamp(written + 0.4).isoformat()
    assert world.run("search", "--since", since, "x", session).returncode == 1
    world.ok("send", session, "go")
    until(lambda: b"new" in world.log(session))
    assert world.ok("search", "-n", "--since", since, "x", session).splitlines() == ["2:begun x", "3:new x"]


def test_what_is_no_longer_kept_is_told(world: World) -> None:
    os.makedirs(world.state, mode=0o700)
    with open(f"{world.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "256K"\n')
    _ended(world, "much", "seq 200000; echo end")
    first = world.json("info", "much")["output"]["first_offset"]
    assert first > 0
    done = world.run("search", "-n", "^end", "much")
    assert done.stderr == b"orchctl: bytes 0 to %d of much are no longer kept\n" % (first - 1)
    text = world.run("tail", "-n", "all", "much").stdout
    assert (done.returncode, done.stdout) == (0, b"%d:end\n" % text.count(b"\n"))
    gap, match = (json.loads(line) for line in world.ok("search", "--json", "^end").splitlines())
    assert (gap["first"], gap["end"], match["line"]) == (0, first, text.count(b"\n"))


def test_findings_come_while_the_search_goes_on_and_ctrl_c_ends_it(world: World) -> None:
    _slow(world)
    search = world.start("search", HANGS, "slow")
    assert search.stdout is not None
    assert search.stdout.readline() == b"aab\n"
    (worker,) = _children(search.pid)
    assert search.poll() is None
    search.send_signal(signal.SIGINT)
    assert search.wait(DEADLINE_S) == 130
    until(lambda: not os.path.exists(f"/proc/{worker}"))
    search.stdout.close()


def test_a_killed_client_takes_its_worker_along(world: World) -> None:
    _slow(world)
    search = world.start("search", HANGS, "slow")
    assert search.stdout is not None
    assert search.stdout.readline() == b"aab\n"
    (worker,) = _children(search.pid)
    search.kill()
    search.wait(DEADLINE_S)
    until(lambda: worker not in processes_of(world.folder))
    search.stdout.close()


def test_a_closed_pipe_ends_it(world: World) -> None:
    _ended(world, "many", "seq 300000", "--no-pty")
    search = world.start("search", "1")
    assert search.stdout is not None
    assert search.stdout.readline() == b"many:1\n"
    search.stdout.close()
    assert search.wait(DEADLINE_S) == -signal.SIGPIPE


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
