"""What a session gets from whoever asked for it, and how it is found again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from orchctl import OrchctlError
from tests.rawclient import HELLO, RawClient, control, decoded, parent_of
from tests.world import World, until

LOCALE = ("LANG", "LC_ALL", "LC_CTYPE")
LIBC_INTERNAL = 0b11 << 31  # signals 32 and 33 belong to the C library, which ignores them across posix_spawn

_SHOW = """
import json, os, resource, signal, sys
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
print(json.dumps({
    'env': dict(os.environ), 'cwd': os.getcwd(), 'umask': status['Umask'],
    'fds': sorted(os.listdir('/proc/self/fd'))[:-1],
    'ignored': status['SigIgn'], 'blocked': status['SigBlk'], 'size': list(os.get_terminal_size(1)),
    'files': resource.getrlimit(resource.RLIMIT_NOFILE)[0], 'leader': os.getsid(0) == os.getpid(),
    'foreground': os.tcgetpgrp(0) == os.getpgrp(),
}))
"""


def test_a_session_has_the_surroundings_of_the_client_that_asked(world: World) -> None:
    world.ok("supervisor", "start")  # by somebody with other surroundings
    env = {**world.env, "MARK": "client", "COLUMNS": "7", "TMUX": "x", "TERM": "dumb"} | dict.fromkeys(LOCALE, "")
    folder = f"{world.folder}/here"
    os.mkdir(folder)
    limited = ["bash", "-c", 'umask 027; ulimit -Sn 200; exec "$@"', "bash"]
    argv = [*limited, os.path.join(os.path.dirname(sys.executable), "orchctl"), "spawn", "--follow", "--size", "132x50"]
    argv += ["-e", "GIVEN=1", sys.executable, "-c", _SHOW]
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, check=True)
    shown = json.loads(done.stdout)
    assert shown["cwd"] == folder
    assert (shown["umask"], shown["files"], shown["size"]) == ("0027", 200, [132, 50])
    assert shown["fds"] == ["0", "1", "2"]
    assert (shown["leader"], shown["foreground"]) == (True, True)
    assert int(shown["blocked"], 16) == 0
    seen = shown["env"]
    assert (seen["MARK"], seen["GIVEN"], seen["TERM"], seen["LANG"]) == ("client", "1", "xterm-256color", "C.UTF-8")
    assert seen["ORCHCTL_MANAGER"] == "user"
    assert seen["ORCHCTL_SESSION"] == world.json("info", "@last")["id"]
    assert not {"COLUMNS", "TMUX"} & set(seen)


def test_signals_are_at_their_defaults_whoever_started_the_supervisor(world: World) -> None:
    ignoring = ["bash", "-c", 'trap "" HUP INT QUIT TERM PIPE CHLD; exec "$@"', "bash"]
    orchctl = os.path.join(os.path.dirname(sys.executable), "orchctl")
    for prefix in (ignoring, []):
        argv = [*prefix, orchctl, "spawn", "--follow", "grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]
        done = subprocess.run(argv, env=world.env, capture_output=True, check=True)
        masks = [int(line.split()[1], 16) for line in done.stdout.splitlines()]
        assert [mask & ~LIBC_INTERNAL for mask in masks] == [0, 0]


def test_the_environment_of_a_session_is_not_kept_on_disk(world: World) -> None:
    world.env["SECRET"] = "s3cr3t-canary"
    session = world.ok("spawn", "sleep", "1000")
    kept = subprocess.run(["grep", "-rl", "s3cr3t-canary", world.state], capture_output=True, check=False)
    assert kept.stdout == b""
    assert "SECRET" not in json.dumps(world.json("info", session))


def test_sessions_are_found_by_id_name_prefix_and_last(world: World) -> None:
    first = world.ok("spawn", "--name", "web", "sleep", "1000")
    second = world.ok("spawn", "sleep", "1000")
    for text, wanted in ((first, first), ("web", first), (first[:8], first), ("@last", second)):
        assert world.json("info", text)["id"] == wanted
    for text in ("nobody", first[:3], "00000000-0000-4000-8000-000000000000"):
        assert world.run("info", text).returncode == 3


def test_a_name_is_unique_among_live_sessions_and_free_again_afterwards(world: World) -> None:
    first = world.ok("spawn", "--name", "web", "sleep", "1000")
    taken = world.run("spawn", "--name", "web", "true", "--json")
    assert taken.returncode == 5
    assert first in taken.stderr.decode()
    world.ok("kill", "web")
    second = world.ok("spawn", "--name", "web", "sleep", "1000")
    assert world.json("info", "web")["id"] == second


def test_a_spawn_asked_again_with_the_same_id_starts_one_session(world: World) -> None:
    from orchctl.client.connection import Connection
    from orchctl.client.start import reach
    from orchctl.protocol.messages import OneSession, SpawnSession

    with world.client() as client:
        asked = SpawnSession(
            session_id="11111111-1111-4111-8111-111111111111", command=("sleep", "1000"), cwd="/", env={"PATH": "/bin"}
        )
        answers = []
        for _ in range(3):
            connection = Connection(reach(client.root))
            answers.append(connection.ask(asked))
            connection.close()
        assert len({answer.session.pid for answer in answers if isinstance(answer, OneSession)}) == 1
        assert len(client.list()) == 1


def test_a_spawn_asked_again_after_the_session_was_put_away_finds_it_as_it_ended(world: World) -> None:
    from orchctl.client.connection import Connection
    from orchctl.client.start import reach
    from orchctl.protocol.messages import OneSession, SpawnSession

    session, command = str(uuid.uuid4()), ("sh", "-c", "echo once; exit 3")
    asked = SpawnSession(session_id=session, command=command, cwd="/", env={"PATH": "/bin:/usr/bin"})
    with world.client() as client:
        for _ in range(2):
            connection = Connection(reach(client.root))
            answer = connection.ask(asked)
            connection.close()
            client.wait(session)
            until(lambda: os.path.exists(f"{world.state}/sessions/{session}/ended.json"))
        assert isinstance(answer, OneSession)
        assert (answer.session.exit_code, answer.session.run) == (3, 1)
        assert len(client.list(ended_too=True)) == 1
    assert world.log(session) == b"once\r\n"


@contextmanager
def _hung_up_on_a_spawn(world: World, *command: str) -> Iterator[str]:
    """A session whose asker has gone before a keeper could be forked for it; the zygote goes on afterwards."""
    session, zygote = str(uuid.uuid4()), parent_of(world.supervisor())
    asked = {"session_id": session, "command": command, "cwd": "/", "env": world.env}
    os.kill(zygote, signal.SIGSTOP)
    try:
        with RawClient(world) as asker:
            asker.say(HELLO + control({"id": 1, "kind": "session.spawn", **asked}))
            until(lambda: os.path.exists(f"{world.state}/sessions/{session}/spec.json"))
            asker.socket.shutdown(socket.SHUT_WR)
            asker.hear_out()
        yield session
    finally:
        os.kill(zygote, signal.SIGCONT)


def test_a_spawn_goes_on_when_its_asker_has_hung_up(world: World) -> None:
    with _hung_up_on_a_spawn(world, "sh", "-c", "echo up; exec sleep 1000") as session:
        assert world.ok("list", "-q") == session
    world.ok("wait", session, "--for", "output=up")


def test_a_spawn_that_fails_when_its_asker_has_hung_up_leaves_nothing_behind(world: World) -> None:
    with _hung_up_on_a_spawn(world, "no-such-command"):
        pass
    until(lambda: os.listdir(f"{world.state}/sessions") == [])
    assert world.ok("list", "-q", "--all") == ""


@pytest.mark.parametrize("session", ["", ".", "..", "x", "../x", "a/b", "11111111-1111-4111-8111-11111111111\n"])
def test_an_id_that_is_none_is_refused_and_harms_no_other_session(world: World, session: str) -> None:
    bystander = world.ok("spawn", "sleep", "1000")
    asked = {"session_id": session, "command": ["true"], "cwd": "/", "env": world.env}
    with RawClient(world) as asker:
        asker.say(HELLO + control({"id": 1, "kind": "session.spawn", **asked}))
        (_, said) = decoded(asker.hear(2)[1])
    assert (said.kind, getattr(said, "code", "")) == ("failed", "bad-id")
    assert os.listdir(f"{world.state}/sessions") == [bystander]
    assert os.path.exists(f"{world.state}/sessions/{bystander}/spec.json")


def test_a_failed_spawn_leaves_nothing_behind(world: World) -> None:
    script = f"{world.folder}/script"
    with open(script, "w", encoding="ascii") as file:
        file.write("echo hi\n")
    cases = [
        (("spawn", "no-such-command"), 127, "command-not-found"),
        (("spawn", script), 126, "not-executable"),
        (("spawn", "/"), 126, "not-executable"),
        (("spawn", "-w", "/no/such/dir", "true"), 2, "bad-cwd"),
        (("spawn", "--size", "0x0", "true"), 2, "usage"),
        (("spawn", "--name", "no spaces", "true"), 2, "bad-name"),
        (("spawn", "-m", "a::b", "true"), 2, "bad-manager"),
        (("spawn", "-e", "novalue", "true"), 2, "usage"),
    ]
    for words, status, code in cases:
        done = world.run(words[0], "--json", *words[1:])
        assert (done.returncode, done.stdout) == (status, b""), done
        assert json.loads(done.stderr)["code"] == code
    assert not os.path.isdir(f"{world.state}/sessions") or os.listdir(f"{world.state}/sessions") == []


def test_the_library_raises_the_same_errors_with_the_same_codes(world: World) -> None:
    with world.client() as client:
        session = client.spawn(["sleep", "1000"]).id
        jobs: dict[str, Callable[[], object]] = {
            "no-such-session": lambda: client.info("nobody"),
            "command-not-found": lambda: client.spawn(["no-such-command"]),
            "bad-offset": lambda: list(client.output(session, offset=1 << 40)),
            "bad-duration": lambda: client.kill(session, grace_s=-1),
        }
        for code, job in jobs.items():
            with pytest.raises(OrchctlError) as failed:
                job()
            assert failed.value.code == code
