"""The stdin of sessions: handed over with its end, /dev/null, or open for `send` and `send --eof`."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import random
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.e2e.lifecycle.test_crash_points import _killed_at, _was_hit
from tests.needs import needs
from tests.world import ORCHCTL, World, until

LARGE = 50 << 20
PIPES_OR_NOT = pytest.mark.parametrize("kind", [["--no-pty"], []], ids=["pipes", "terminal"])
# Reads its stdin in pieces, slowly at first, and says how much there was and what it was.
DIGEST = """
import hashlib, os, sys
seen, size = hashlib.sha256(), 0
while data := os.read(0, 1 << 16):
    seen.update(data)
    size += len(data)
print(size, seen.hexdigest())
"""


def _code(world: World, *words: str, **options: Any) -> tuple[int, str]:
    """The exit code, and the stable code of the error."""
    done = world.run(words[0], "--json", *words[1:], **options)
    return done.returncode, json.loads(done.stderr)["code"]


def _stdin_of(world: World, session: str) -> str:
    """What the kernel says the program's stdin is."""
    return os.readlink(f"/proc/{world.json('info', session)['pid']}/fd/0")


# handed over


@PIPES_OR_NOT
def test_a_program_reads_the_callers_stdin_and_its_end(world: World, kind: list[str]) -> None:
    done = world.run("spawn", *kind, "--stdin", "--follow", "cat", input=b"one\ntwo", stdin=None)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"one\ntwo", b"")


def test_every_byte_arrives_as_it_was_on_pipes(world: World) -> None:
    data = bytes(range(256)) * 40 + b"\x04\x03\x00\r\n"
    done = world.run("spawn", "--no-pty", "--stdin", "--follow", "cat", input=data, stdin=None)
    assert done.stdout == data


@PIPES_OR_NOT
def test_a_large_stdin_arrives_whole_while_supervisors_are_killed(world: World, kind: list[str]) -> None:
    """A writer that never waits, three killed supervisors on the way, and the digest that the writer had."""
    data = random.Random(6973).randbytes(1 << 20)
    pieces, whole = LARGE >> 20, hashlib.sha256()
    running = world.start(
        "spawn", *kind, "--stdin", "--wait", "--", sys.executable, "-c", DIGEST, stdin=subprocess.PIPE
    )
    assert running.stdin is not None
    assert running.stdout is not None
    session = ""
    for number in range(pieces):
        whole.update(data)
        running.stdin.write(data)
        if number == 2:  # more than pipes hold: somebody reads
            session = running.stdout.readline().decode().strip()
        if number in (5, 20, 35):
            os.kill(world.supervisor(), signal.SIGKILL)
    running.stdin.close()
    assert running.wait(60) == 0
    running.stdout.close()
    assert world.log(session).decode().split() == [str(LARGE), whole.hexdigest()]


@needs("strace", "root")
@pytest.mark.parametrize(("call", "when"), [("rename", 1), ("rename", 2), ("sendmsg", 1), ("sendmsg", 2)])
def test_a_supervisor_killed_while_it_hands_over_costs_no_byte(world: World, call: str, when: int) -> None:
    """Before the session is on disk, before its stdin is on its way to the keeper, before the fork is asked for."""
    data = random.Random(when).randbytes(1 << 20)
    with _killed_at(world, world.supervisor(), call, when) as trace:
        program = [sys.executable, "-c", DIGEST]
        done = world.run("spawn", "--no-pty", "--stdin", "--follow", "--", *program, input=data, stdin=None)
        assert _was_hit(trace)
    assert (done.returncode, done.stdout.decode().split()) == (0, [str(1 << 20), hashlib.sha256(data).hexdigest()])
    assert len(world.json("list", "-a")) == 1


@needs("strace", "root")
@pytest.mark.parametrize(("process", "call"), [("mover", "sendto"), ("mover", "dup3"), ("keeper", "dup3")])
def test_a_process_killed_while_it_ends_the_input_leaves_it_to_the_next(world: World, process: str, call: str) -> None:
    session = world.ok("spawn", "--no-pty", "--stdin=open", "cat")
    world.ok("send", session, "all of it")
    with _killed_at(world, _pair(world, session)[process], call, 1) as trace:
        world.ok("send", session, "--eof")
        assert world.run("wait", session).returncode in ((0,) if process == "mover" else (0, 125))
        assert _was_hit(trace)
    assert world.log(session) == b"all of it\n"


def test_the_caller_reads_nothing_of_what_it_hands_over(world: World, tmp_path: Any) -> None:
    """A file goes over at the place where it is, and what the program leaves of it is there for the next."""
    path = tmp_path / "lines"
    path.write_bytes(b"first\nsecond\nthird\n")
    script = f'read skipped; {ORCHCTL} spawn --no-pty --stdin --wait sh -c "read line" >/dev/null; cat'
    with path.open("rb") as file:
        done = _run_in_shell(world, script, stdin=file)
    assert (done.returncode, done.stdout) == (0, b"third\n")


def test_without_waiting_the_caller_leaves_and_the_program_reads_on(world: World) -> None:
    """The id is there as soon as the stdin is the program's; who writes to it needs nobody of ours."""
    read, write = os.pipe()
    try:
        session = world.ok("spawn", "--no-pty", "--stdin", "cat", stdin=read)
        os.close(read)
        os.write(write, b"late\n")
        until(lambda: world.log(session) == b"late\n")
        assert world.json("info", session)["is_alive"] is True
    finally:
        os.close(write)
    assert world.run("wait", session).returncode == 0


def test_who_writes_hears_at_once_that_nobody_reads_any_more(world: World) -> None:
    """The caller waits for the session, but holds nothing of its stdin."""
    read, write = os.pipe()
    running = world.start("spawn", "--no-pty", "--stdin", "--wait", "sh", "-c", "exec <&-; exec sleep 1000", stdin=read)
    os.close(read)

    def pour() -> None:
        try:
            while True:
                os.write(write, bytes(1 << 16))
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=pour)
    writer.start()
    writer.join(60)
    alive = writer.is_alive()
    assert running.stdout is not None
    world.ok("kill", running.stdout.readline().decode().strip())
    running.stdout.close()
    running.wait(60)
    os.close(write)
    assert not alive


def test_a_shell_takes_a_stdin_for_a_script(world: World) -> None:
    done = world.run("spawn", "--stdin", "--follow", "bash", input=b"echo $((6 * 7))\nexit 3\n", stdin=None)
    assert (done.returncode, done.stdout) == (3, b"42\n")


def test_the_terminal_is_still_there_beside_a_stdin(world: World) -> None:
    """What a program asks a person for comes from its controlling terminal, as in `sudo sh <script`."""
    script = "cat; read answer </dev/tty; echo got $answer"
    session = world.ok("spawn", "--stdin", "sh", "-c", script, input=b"piped\n", stdin=None)
    until(lambda: b"piped" in world.log(session))
    world.ok("send", session, "typed")
    assert world.run("wait", session).returncode == 0
    assert world.log(session) == b"piped\r\ntyped\r\ngot typed\r\n"


def test_a_closed_stdin_is_an_empty_one(world: World) -> None:
    done = _run_in_shell(world, f"{ORCHCTL} spawn --stdin --follow cat <&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_socket_can_be_handed_over(world: World) -> None:
    """As sshd and inetd give one."""
    import socket

    ours, theirs = socket.socketpair()
    running = world.start("spawn", "--no-pty", "--stdin", "--follow", "cat", stdin=theirs)
    theirs.close()
    ours.sendall(b"by socket")
    ours.close()
    assert running.communicate(timeout=60)[0] == b"by socket"


def test_a_terminal_is_not_handed_over(world: World) -> None:
    master, slave = pty.openpty()
    try:
        assert _code(world, "spawn", "--stdin", "cat", stdin=slave) == (2, "bad-stdin")
    finally:
        os.close(master)
        os.close(slave)
    assert world.json("list", "-a") == []


def test_another_run_reads_dev_null_instead(world: World) -> None:
    session = world.ok("spawn", "--no-pty", "--stdin", "--wait", "cat", input=b"once\n", stdin=None)
    world.ok("restart", session)
    assert world.run("wait", session).returncode == 0
    assert world.log(session) == b"once\n"
    assert world.json("info", session)["stdin"] == "null"


def test_a_program_that_cannot_be_started_takes_no_stdin(world: World) -> None:
    assert _code(world, "spawn", "--stdin", "no-such-program", input=b"x", stdin=None)[0] == 127
    assert world.json("list", "-a") == []


# /dev/null, or open


@pytest.mark.parametrize(
    ("words", "ci", "null"),
    [
        (["--no-pty", "sleep", "1000"], False, True),
        (["--no-pty", "--stdin=open", "sleep", "1000"], False, False),
        (["sleep", "1000"], False, False),
        (["sleep", "1000"], True, False),  # nobody waits for it
        (["--wait", "sleep", "1000"], True, True),
        (["--follow", "sleep", "1000"], True, True),
        (["--wait", "sleep", "1000"], False, False),
        (["--wait", "--stdin=open", "sleep", "1000"], True, False),
        (["--wait", "bash", "--norc"], True, False),
    ],
)
def test_which_sessions_read_dev_null(world: World, words: list[str], ci: bool, null: bool) -> None:
    running = world.start("spawn", "--name", "s", *words, env=world.env | ({"CI": "true"} if ci else {}))
    until(lambda: world.look("info", "s").returncode == 0)
    until(lambda: world.json("info", "s")["pid"] is not None)
    found = _stdin_of(world, "s")
    assert (found == "/dev/null") == null, found
    assert world.json("info", "s")["stdin"] == ("null" if null else "open")
    world.ok("kill", "s")
    running.communicate(timeout=60)


def test_a_program_in_a_ci_job_ends_instead_of_waiting_for_somebody(world: World) -> None:
    done = world.run("spawn", "--follow", "sh", "-c", "read x || echo nobody", env=world.env | {"CI": "1"})
    assert (done.returncode, done.stdout) == (0, b"nobody\n")


def test_a_value_of_the_option_is_joined_to_it(world: World) -> None:
    """The word after it is COMMAND, and COMMAND's own options are its own."""
    done = world.run("spawn", "--no-pty", "--stdin", "--follow", "echo", "--stdin=x", input=b"", stdin=None)
    assert done.stdout == b"--stdin=x\n"
    assert _code(world, "spawn", "--stdin=x", "cat") == (2, "usage")
    assert _code(world, "spawn", "--stdin", "--stdin=open", "cat") == (2, "usage")
    assert _code(world, "spawn", "--stdin", "--attach", "cat") == (125, "usage")


# send --eof


def test_the_input_of_a_session_on_pipes_is_ended(world: World) -> None:
    session = world.ok("spawn", "--no-pty", "--stdin=open", "sort")
    world.ok("send", session, "pear")
    world.ok("send", session, "--stdin", "--eof", input=b"apple\nfig\n", stdin=None)
    assert world.run("wait", session).returncode == 0
    assert world.log(session) == b"apple\nfig\npear\n"


def test_what_was_sent_before_the_end_is_read_before_it(world: World) -> None:
    """More than a pipe holds, to a program that begins to read late."""
    data = bytes(range(256)) * 4000
    session = world.ok("spawn", "--no-pty", "--stdin=open", "--", sys.executable, "-c", DIGEST)
    world.ok("send", session, "--stdin", "--eof", input=data, stdin=None)
    assert world.run("wait", session).returncode == 0
    assert world.log(session).decode().split() == [str(len(data)), hashlib.sha256(data).hexdigest()]


@pytest.mark.parametrize("killed", ["mover", "keeper", "supervisor"])
def test_the_input_is_ended_whoever_was_killed(world: World, killed: str) -> None:
    session = world.ok("spawn", "--no-pty", "--stdin=open", "cat")
    world.ok("send", session, "before")
    pid = world.supervisor() if killed == "supervisor" else _pair(world, session)[killed]
    os.kill(pid, signal.SIGKILL)
    world.ok("send", session, "after", "--eof")
    done = world.run("wait", session)
    assert done.returncode == 0, done
    assert world.log(session) == b"before\nafter\n"


@pytest.mark.parametrize("killed", ["mover", "keeper"])
def test_the_end_of_input_outlives_who_made_it(world: World, tmp_path: Any, killed: str) -> None:
    """A program that reads late finds the end, and nobody else can write to it."""
    script = "while [ ! -e go ]; do sleep 0.1; done; cat"
    world.ok("spawn", "--name", "s", "--no-pty", "-w", str(tmp_path), "--stdin=open", "sh", "-c", script)
    world.ok("send", "s", "all", "--eof")
    os.kill(_pair(world, "s")[killed], signal.SIGKILL)
    assert _code(world, "send", "s", "more") == (5, "input-ended")
    (tmp_path / "go").touch()
    assert world.run("wait", "s").returncode == 0
    assert world.log(world.json("info", "s")["id"]) == b"all\n"


def test_an_end_that_is_asked_for_again_by_its_name_is_done_once(world: World) -> None:
    world.ok("spawn", "--name", "s", "--no-pty", "--stdin=open", "sleep", "1000")
    world.ok("send", "s", "--eof", "--once", "x")
    world.ok("send", "s", "--eof", "--once", "x")
    os.kill(world.supervisor(), signal.SIGKILL)
    world.ok("send", "s", "--eof", "--once", "x")
    assert _code(world, "send", "s", "--eof", "--once", "y") == (5, "input-ended")
    assert world.journal(world.json("info", "s")["id"]).count(b'"input-ended"') == 1


def test_where_no_input_ends_it_is_said_what_to_do(world: World) -> None:
    world.ok("spawn", "--name", "terminal", "cat")
    world.ok("spawn", "--name", "null", "--no-pty", "sleep", "1000")
    assert _code(world, "send", "terminal", "--eof") == (5, "has-terminal")
    assert b"send terminal --key C-d" in world.run("send", "terminal", "--eof").stderr
    for words in (["--eof"], ["text"]):
        assert _code(world, "send", "null", *words) == (5, "input-ended")
    assert b"--stdin=open" in world.run("send", "null", "text").stderr
    world.ok("send", "terminal", "--key", "C-d")
    assert world.run("wait", "terminal").returncode == 0


def test_the_lease_guards_the_end_of_input_too(world: World) -> None:
    world.ok("spawn", "--name", "s", "--no-pty", "--stdin=open", "cat")
    token = world.ok("lease", "take", "s")
    assert _code(world, "send", "s", "--eof") == (5, "lease-held")
    world.ok("send", "s", "--eof", "--lease", token)
    assert world.run("wait", "s").returncode == 0


def test_no_descriptor_is_left_in_a_supervisor(world: World) -> None:
    """Of sessions that are there, of those that could not be started, and of requests that name none."""
    pid = world.supervisor()
    world.run("spawn", "--stdin", "--wait", "cat", input=b"", stdin=None)
    before = len(os.listdir(f"/proc/{pid}/fd")) if os.access(f"/proc/{pid}/fd", os.R_OK) else None
    for words in (["cat"], ["no-such-program"], ["-w", "/no/such/folder", "cat"]):
        for _ in range(3):
            world.run("spawn", "--no-pty", "--stdin", "--wait", *words, input=b"", stdin=None)
    if before is not None:
        until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before)
    assert world.supervisor() == pid


def _run_in_shell(world: World, script: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    options = {"env": world.env, "capture_output": True, "timeout": 60, **options}
    return subprocess.run(["sh", "-c", script], check=False, **options)


def _pair(world: World, session: str) -> dict[str, int]:
    """The two processes of a session, by their parents."""
    child = world.json("info", session)["pid"]
    keeper = _parent(child)
    others = [pid for pid in _children(keeper) if pid != child]
    assert len(others) == 1
    return {"keeper": keeper, "mover": others[0]}


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _children(pid: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if _parent(int(name)) == pid:
                    found.append(int(name))
            except OSError:
                continue
    return found
