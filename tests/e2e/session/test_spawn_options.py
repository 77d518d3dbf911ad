"""The rest of what spawn can be told: labels, files, names that exist, sessions that go when they end."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from orchctl.supervisor.registry import REMOVED_AFTER_S
from tests.rawclient import parent_of
from tests.world import DEADLINE_S, World, until


def test_a_name_that_exists_is_an_error_reused_or_skipped(world: World) -> None:
    command = ["sleep", "1000"]
    session = world.ok("spawn", "--name", "job", *command)
    taken = world.run("spawn", "--name", "job", "--json", *command)
    assert (taken.returncode, json.loads(taken.stderr)["code"]) == (5, "name-taken")
    assert world.ok("spawn", "--name", "job", "--if-exists", "reuse", *command) == session
    other = world.run("spawn", "--name", "job", "--if-exists", "reuse", "--json", "sleep", "999")
    assert (other.returncode, json.loads(other.stderr)["code"]) == (5, "name-taken")
    elsewhere = world.run("spawn", "--name", "job", "--if-exists", "reuse", "-w", "/", *command)
    assert elsewhere.returncode == 5
    assert world.ok("spawn", "--name", "job", "--if-exists", "skip", "true") == session
    assert world.ok("spawn", "--name", "job", "--if-exists", "skip", "--follow", "false") == session
    assert world.run("spawn", "--if-exists", "skip", "true").returncode == 2
    world.ok("kill", "job")
    assert world.ok("spawn", "--name", "job", "--if-exists", "skip", "--wait", "true") != session


def test_simultaneous_skips_start_one(world: World) -> None:
    world.supervisor()
    starts = [world.start("spawn", "--name", "cron", "--if-exists", "skip", "sleep", "1000") for _ in range(8)]
    ids = {start.communicate(timeout=60)[0] for start in starts}
    assert len(ids) == 1
    assert len(world.ok("list", "-q").split()) == 1


def test_the_environment_comes_from_files_and_words(world: World) -> None:
    path = f"{world.folder}/env"
    with open(path, "w", encoding="utf-8") as file:
        file.write("# a comment\n\nA=from file\n  B='as it stands'\nC=\nHANDED\n")
    world.env["HANDED"] = "over"
    told = world.run(
        "spawn", "--follow", "--env-file", path, "-e", "C=word", "sh", "-c", 'printf "%s|" "$A" "$B" "$C" "$HANDED"'
    )
    assert told.stdout == b"from file|'as it stands'|word|over|"
    with open(path, "w", encoding="utf-8") as file:
        file.write("A=1\nNOT_SET_ANYWHERE\n")
    bad = world.run("spawn", "--env-file", path, "true")
    assert bad.returncode == 2
    assert b"line 2" in bad.stderr
    assert world.run("spawn", "--env-file", f"{world.folder}/none", "true").returncode == 2


def test_the_id_is_in_a_file_as_soon_as_the_program_runs(world: World) -> None:
    path = f"{world.folder}/id"
    following = world.start("spawn", "--follow", "--id-file", path, "sh", "-c", "echo $ORCHCTL_SESSION; read x")
    assert following.stdout is not None
    session = following.stdout.readline().decode().strip()
    with open(path, encoding="ascii") as file:
        assert file.read() == f"{session}\n"
    world.ok("send", session, "go")
    following.communicate(timeout=60)
    done = world.run("spawn", "--id-file", f"{world.folder}/no/such/place", "--json", "true")
    assert (done.returncode, json.loads(done.stderr)["code"]) == (1, "bad-id-file")


def test_a_session_spawned_with_rm_goes_when_it_has_ended(world: World) -> None:
    done = world.run("spawn", "--rm", "--follow", "sh", "-c", "echo $ORCHCTL_SESSION; exit 4")
    session = done.stdout.decode().strip()
    assert done.returncode == 4
    until(lambda: not os.path.exists(f"{world.state}/sessions/{session}"))
    assert world.run("info", session).returncode == 3
    kept = world.ok("spawn", "--rm", "sh", "-c", "read x; echo last words; exit 2")
    following = world.start("tail", "-f", "--exit-status", "-n", "all", kept)
    os.kill(world.supervisor(), 9)
    world.ok("send", kept, "go")
    out, _ = following.communicate(timeout=60)
    assert out.endswith(b"last words\n")
    assert following.returncode == 2
    until(lambda: world.ok("list", "-a", "-q") == "")
    ends = [json.loads(line) for line in world.ok("events", "--type", "session.state").splitlines()]
    assert [end["exit_code"] for end in ends if end["state"] == "closed"] == [4, 2]


def test_a_session_with_rm_that_runs_again_does_not_go(world: World) -> None:
    session = world.ok("spawn", "--rm", "sh", "-c", "echo up; read x; exit 2")
    world.ok("send", session, "go")
    with world.client() as client:
        assert client.wait(session).exit_code == 2
        assert client.restart(session).run == 2
    _stays(world, session)


def test_a_spawn_that_a_zygote_took_to_its_grave_is_done_by_the_next_one(world: World) -> None:
    supervisor = world.supervisor()
    zygote = parent_of(supervisor)
    os.kill(zygote, signal.SIGSTOP)
    spawning = world.start("spawn", "--rm", "sh", "-c", "echo up; exec sleep 1000")
    until(lambda: os.path.isdir(f"{world.state}/sessions") and os.listdir(f"{world.state}/sessions"))
    os.kill(zygote, signal.SIGKILL)
    session = spawning.communicate(timeout=DEADLINE_S)[0].decode().strip()
    world.ok("wait", session, "--for", "output=up")
    _stays(world, session)
    told = [json.loads(line)["state"] for line in world.ok("events", "--type", "session.state").splitlines()]
    assert told == ["idle", "live"]


def _stays(world: World, session: str) -> None:
    """It is there when it would have gone by mistake."""
    soon = time.monotonic() + REMOVED_AFTER_S + 1
    until(lambda: time.monotonic() > soon)
    assert world.json("info", session)["is_alive"] is True
    assert os.path.exists(f"{world.state}/sessions/{session}/spec.json")


@pytest.mark.parametrize("words", [["-b", "pipe"], ["--no-pty"]])
def test_pipes_have_two_names(world: World, words: list[str]) -> None:
    session = world.ok("spawn", *words, "sleep", "1000")
    assert world.json("info", session)["backend"] == "pipe"


def test_the_environment_is_shown_only_when_asked_for(world: World) -> None:
    session = world.ok("spawn", "-e", "SECRET=hush", "sleep", "1000")
    assert "hush" not in world.ok("info", session) + world.ok("info", session, "--json") + world.ok("list", "--json")
    assert "SECRET=hush" in world.ok("info", "--env", session)
    assert world.json("info", "--env", session)["env"]["SECRET"] == "hush"


def test_what_a_session_uses_is_measured_over_its_whole_tree(world: World) -> None:
    busy = "(setsid sh -c 'while :; do :; done' &) ; sleep 1000"
    session = world.ok("spawn", "--name", "busy", "sh", "-c", busy)
    until(lambda: (world.json("info", session)["cpu"] or 0) > 0.2)
    told = world.json("info", session)
    assert told["processes"] >= 2
    assert told["memory"] > 100_000
    assert set(told["io"]) == {"read_bytes", "written_bytes"}
    assert told["uptime"] > 0
    head, _ = world.ok("top").splitlines()
    assert head.split()[:3] == ["ID", "NAME", "CPU%"]
    until(lambda: int(world.ok("top").splitlines()[1].split()[2]) > 0)
    assert world.json("top")[0]["id"] == session
    world.ok("kill", "busy")
    assert world.ok("top") == ""
