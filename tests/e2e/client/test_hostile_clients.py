"""Clients that never read, never greet, come in hundreds, or die in the middle: nobody else notices."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.errors import BadInput
from orchctl.session.stream import Chunk
from orchctl.terminal.views import RawView
from tests.needs import needs
from tests.programs import pour, pour_digest
from tests.protocol.test_fuzz import edits, mutated
from tests.rawclient import HELLO, RawClient, busy_share, control, decoded, memory_kib, open_files, usual_files
from tests.world import DEADLINE_S, World, fresh_world, until

TOTAL = 12_000_000
SPAWNED = "0badcafe-0000-4000-8000-000000000000"
FLAT_KIB = 24 << 10  # far less than what is on its way, and more than an allocator's mood


@pytest.fixture(scope="module")
def busy() -> Iterator[World]:
    """One supervisor for those that must not harm it."""
    with fresh_world() as made:
        made.ok("spawn", "--name", "bystander", "sh", "-c", "echo up; exec sleep 1000")
        yield made
        assert made.json("info", "bystander")["is_alive"] is True
        assert made.run("spawn", "--wait", "sh", "-c", "exit 9").returncode == 9
        with open(f"{made.state}/supervisor.log", encoding="utf-8") as log:
            assert "Traceback" not in log.read()  # a client's mistake is a line, and no riddle


def digest_of(world: World, session: str) -> str:
    """Of all its output, followed to its end."""
    digest = hashlib.sha256()
    with world.client() as client:
        for piece in client.output(session, follow=True):
            assert isinstance(piece, Chunk)
            digest.update(RawView().feed(piece.data))
    return digest.hexdigest()


def test_followers_that_never_read_cost_nobody_anything(busy: World) -> None:
    pid = busy.supervisor()
    session = busy.ok("spawn", *pour(TOTAL, seed=1, exit_code=3))
    before = memory_kib(pid)
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stuck = stack.enter_context(RawClient(busy))
            stuck.say(HELLO + control({"id": 1, "kind": "output.read", "session": session, "follow": True}))
        assert digest_of(busy, session) == pour_digest(TOTAL, seed=1)
        with busy.client() as client:
            assert client.wait(session).exit_code == 3
        assert memory_kib(pid) - before < FLAT_KIB
        until(lambda: busy_share(pid, 0.5) < 0.5)  # else it goes round and round


@needs("root")
def test_who_is_put_out_and_does_not_read_is_not_waited_for(busy: World) -> None:
    pid = busy.supervisor()
    session = busy.ok("spawn", "--no-pty", "head", "-c", "3000000", "/dev/zero")
    busy.ok("wait", session)
    before = usual_files(pid)
    with RawClient(busy) as stuck:
        stuck.say(HELLO + control({"id": 1, "kind": "output.read", "session": session, "follow": True}))
        until(lambda: open_files(pid) > before)
        stuck.say(b"\xff" * 5)
        until(lambda: open_files(pid) <= before)  # its socket is still open here, and full


def test_a_stopped_follower_costs_nothing_and_misses_nothing_when_it_goes_on(busy: World) -> None:
    pid = busy.supervisor()
    session = busy.ok("spawn", *pour(TOTAL, seed=2, bytes_per_s=6_000_000))
    with open(f"{busy.folder}/stopped", "wb") as copy:
        follower = busy.start("tail", "-f", "-n", "all", "--raw", session, stdout=copy)
    until(lambda: os.path.getsize(f"{busy.folder}/stopped") > 0)
    follower.send_signal(signal.SIGSTOP)
    before = memory_kib(pid)
    assert digest_of(busy, session) == pour_digest(TOTAL, seed=2)
    assert memory_kib(pid) - before < FLAT_KIB
    assert os.path.getsize(f"{busy.folder}/stopped") < TOTAL
    follower.send_signal(signal.SIGCONT)
    assert follower.wait(DEADLINE_S) == 0
    with open(f"{busy.folder}/stopped", "rb") as copy:
        assert hashlib.sha256(copy.read()).hexdigest() == pour_digest(TOTAL, seed=2)


@needs("root")
def test_who_does_not_say_hello_in_five_seconds_is_told_and_put_out(busy: World) -> None:
    pid = busy.supervisor()
    before, began = usual_files(pid), time.monotonic()
    with RawClient(busy) as silent, RawClient(busy) as half, RawClient(busy) as dripping:
        half.say(HELLO[: len(HELLO) // 2])
        for byte in HELLO[:6]:  # a byte now and then buys no time
            dripping.say(bytes([byte]))
            assert busy.ok("list", "-q")
        for client in (silent, half, dripping):
            assert client.last_words().code == "no-hello"
        assert time.monotonic() - began > 4.9
    until(lambda: open_files(pid) <= before)


@needs("root")
def test_three_hundred_connections_at_once(busy: World) -> None:
    pid = busy.supervisor()
    before, memory = usual_files(pid), memory_kib(pid)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(RawClient(busy)) for _ in range(300)]
        for client in clients:
            client.say(HELLO + control({"id": 1, "kind": "session.list"}))
        refused = [client for client in clients if client.hears(b"too-many-connections")]
        assert len(refused) <= 300 - 256 - 16
        assert {decoded(client.hear(2)[1])[1].kind for client in clients if client not in refused} == {"sessions"}
        until(lambda: busy_share(pid, 0.5) < 0.5)  # else it goes round and round
        assert memory_kib(pid) - memory < FLAT_KIB
    until(lambda: open_files(pid) <= before)
    assert busy.ok("list", "-q")


@needs("root")
def test_hundreds_that_ask_nothing_keep_nobody_from_anything(busy: World) -> None:
    before = usual_files(busy.supervisor())
    with contextlib.ExitStack() as stack:
        early = stack.enter_context(busy.client())
        (bystander,) = early.list()
        for _ in range(256 + 16):
            idle = stack.enter_context(RawClient(busy))
            idle.say(HELLO)
            assert idle.hear(1)
        until(lambda: busy.look("spawn", "--name", "late", "sleep", "1000").returncode == 0)  # not in the first second
        assert busy.ok("kill", "late") == "1"
        assert [one.id for one in early.list()] == [bystander.id]  # on the oldest of them was hung up, and it is back
    until(lambda: open_files(busy.supervisor()) <= before)


@needs("root")
def test_hundreds_of_followers_keep_nobody_from_ending_them(busy: World) -> None:
    before = usual_files(busy.supervisor())
    session = busy.ok("spawn", "sleep", "1000")
    with contextlib.ExitStack() as stack:
        for _ in range(256):
            follower = stack.enter_context(RawClient(busy))
            follower.say(HELLO + control({"id": 1, "kind": "output.read", "session": session, "follow": True}))
            assert len(follower.hear(2)) == 2
        refused = busy.run("spawn", "true")
        assert refused.returncode == 6
        assert b"256 connections are open already" in refused.stderr
        assert session in busy.ok("list", "-q")
        assert busy.ok("kill", session) == "1"
    until(lambda: open_files(busy.supervisor()) <= before)


@needs("root")
def test_a_supervisor_without_descriptors_says_so_and_recovers(busy: World) -> None:
    pid = busy.supervisor()
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as stack:
        stack.callback(resource.prlimit, pid, resource.RLIMIT_NOFILE, usual)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (usual_files(pid) + 6, usual[1]))
        clients = [stack.enter_context(RawClient(busy)) for _ in range(30)]
        for client in clients:
            client.say(HELLO)  # else those that were let in would be put out after a while
        refused = [client for client in clients if client.hears(b"too-many-files")]
        assert len(refused) > 20
        until(lambda: busy_share(pid, 0.5) < 0.5)  # else it goes round and round
        done = busy.run("list")
        assert (done.returncode, done.stderr) == (6, b"orchctl: the supervisor has no descriptor left\n")
        for client in clients[:-1]:
            client.socket.close()
        clients[-1].hear_out()
        spawned = busy.run("spawn", "true")
        assert (spawned.returncode == 0) == (spawned.stderr == b"")
        assert b"Traceback" not in spawned.stderr
    assert busy.supervisor() == pid
    assert busy.run("spawn", "--wait", "sh", "-c", "exit 4").returncode == 4


@pytest.mark.parametrize("words", [["tail", "-f"], ["wait"], ["wait", "--for", "quiet=1h"]], ids=" ".join)
@needs("root")
def test_a_client_killed_while_it_waits_leaves_nothing(busy: World, words: list[str]) -> None:
    pid = busy.supervisor()
    before = usual_files(pid)
    waiting = busy.start(words[0], "bystander", *words[1:])
    until(lambda: open_files(pid) > before)
    waiting.kill()
    waiting.communicate(timeout=DEADLINE_S)
    until(lambda: open_files(pid) <= before)
    until(lambda: busy_share(pid, 0.5) < 0.5)  # else it goes round and round


@pytest.mark.parametrize("after_s", [0.15, 0.25, 0.4])
def test_a_client_killed_in_the_middle_of_typing_has_typed_a_beginning(busy: World, after_s: float) -> None:
    copy = f"{busy.folder}/typed-{after_s}"
    session = busy.ok("spawn", "sh", "-c", f"stty raw -echo; echo ready; exec cat > {copy}")
    busy.ok("wait", session, "--for", "output=ready")
    words = ["".join(f"{number:07d}" for number in range(at, at + 10_000)) for at in range(0, 90_000, 10_000)]
    with busy.client() as client:
        typing = busy.start("send", session, "--no-enter", *words)
        time.sleep(after_s)  # any moment is as good
        typing.kill()
        typing.communicate(timeout=DEADLINE_S)
        client.send(session, b"\nthe next one\n")
    wanted = " ".join(words)

    def whole() -> bool:
        with open(copy, encoding="ascii") as file:
            return file.read().endswith("\nthe next one\n")

    until(whole)
    with open(copy, encoding="ascii") as file:
        assert wanted.startswith(file.read().removesuffix("\nthe next one\n"))


def test_a_client_killed_in_exec_takes_its_command_along_and_the_shell_is_free(busy: World) -> None:
    busy.ok("spawn", "--name", "shell", "bash")
    running = busy.start("exec", "shell", "echo begun; sleep 1000")
    assert running.stdout is not None
    assert running.stdout.readline() == b"begun\n"
    running.kill()
    running.communicate(timeout=DEADLINE_S)
    assert busy.ok("exec", "shell", "--wait-prompt", "60s", "echo free") == "free"
    (first, _) = busy.json("history", "shell")
    assert (first["exit_code"], first["status"]) == (124, "timeout")


def test_of_a_storm_of_sizes_the_last_one_stays(busy: World) -> None:
    looking = "trap 'n=$((n+1))' WINCH; while :; do stty size; sleep 0.05; done"
    session = busy.ok("spawn", "sh", "-c", looking)
    with busy.client() as client:
        for number in range(1, 500):
            client.control(session, "resize", size=(number, 65536 - number))
        for bad in ((0, 0), (0, 24), (80, 65536), (-1, -1)):
            with pytest.raises(BadInput, match=r"to (65535x)?65535"):
                client.control(session, "resize", size=bad)
        client.control(session, "resize", size=(65535, 65535))
        client.wait_for_output(session, "65535 65535", timeout_s=DEADLINE_S)
        client.control(session, "resize", size=(101, 37))
        client.wait_for_output(session, "37 101", timeout_s=DEADLINE_S)
        assert (client.info(session).cols, client.info(session).rows) == (101, 37)
        client.kill(session)


BASES = [
    control({"id": 1, "kind": "session.list", "ended_too": True}),
    control({"id": 2, "kind": "session.get", "session": "bystander"}),
    control({"id": 3, "kind": "output.read", "session": "bystander", "follow": False, "lines": 3}),
    control({"id": 4, "kind": "session.wait-for", "session": "bystander", "conditions": ["exit"]}),
    control({"id": 5, "kind": "input.send", "session": "bystander", "data_b64": "YQ==", "once": "x"}),
    control({"id": 6, "kind": "events.read", "follow": False}),
    control({"id": 7, "kind": "command.exec", "session": "bystander", "exec_id": "0badcafe", "text": "true"}),
    control({"id": 8, "kind": "session.control", "session": "bystander", "action": "resize", "cols": 9, "rows": 9}),
    control({"id": 9, "kind": "session.kill", "sessions": ["nobody"], "grace_s": 1}),
    control({"id": 10, "kind": "session.spawn", "session_id": SPAWNED, "command": ["true"], "cwd": "/", "env": {}}),
    control({"id": 11, "kind": "supervisor.status"}),
]


@needs("root")
def test_bytes_of_any_kind_are_answered_or_refused_and_the_supervisor_goes_on(busy: World, long_form: bool) -> None:
    pid = busy.supervisor()

    @settings(max_examples=5000 if long_form else 150, suppress_health_check=list(HealthCheck))
    @given(st.booleans(), st.lists(st.sampled_from(BASES), max_size=3), edits, st.binary(max_size=40))
    def check(greets: bool, frames: list[bytes], changes: list[tuple[int, int, bytes]], rest: bytes) -> None:
        with RawClient(busy) as client:
            client.say((HELLO if greets else b"") + mutated(b"".join(frames), changes) + rest)
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_WR)
            assert client.hear_out() != []

    check()
    before, files = memory_kib(pid), usual_files(pid)
    check()
    assert memory_kib(pid) - before < FLAT_KIB
    until(lambda: open_files(pid) <= files)
    assert busy.supervisor() == pid
    assert busy.run("spawn", "--wait", "sh", "-c", "exit 6").returncode == 6
