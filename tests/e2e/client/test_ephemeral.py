"""A supervisor of one's own: private, in a temporary directory, and gone with its owner, however that ends."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchctl import AsyncClient, Client
from orchctl.errors import SupervisorUnreachable
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

OWNER = """
import sys, time
from orchctl import Client
client = Client.ephemeral()
session = client.spawn(["sh", "-c", "trap '' HUP TERM; setsid sleep 1000 & while :; do sleep 1; done"])
other = client.spawn(["sleep", "1000"])
status = client.status()
print(client.root.path, status.pid, status.zygote, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def tmp(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A temporary directory of the test's own, which is empty when it ends."""
    path = f"{world.folder}/tmp"
    os.mkdir(path)
    monkeypatch.setenv("TMPDIR", path)
    monkeypatch.setenv("ORCHCTL_STATE_DIR", world.state)
    monkeypatch.setattr("tempfile.tempdir", None)
    world.env["TMPDIR"] = path
    yield path
    until(lambda: os.listdir(path) == [], f"left: {os.listdir(path)}")
    until(lambda: processes_of(f"{path}/orchctl-") == [], "processes are left")


def test_it_is_private_and_leaves_nothing_behind(world: World, tmp: str) -> None:
    with Client.ephemeral() as client:
        assert os.path.dirname(client.root.path) == tmp
        assert client.list() == []
        assert processes_of(client.root.path) == [], "nothing is started before it is needed"
        session = client.spawn(["sh", "-c", "echo $ORCHCTL_STATE_DIR; exit 3"])
        assert session.wait(timeout_s=DEADLINE_S).exit_code == 3
        assert b"".join(piece.data for piece in session.output()) == f"{client.root.path}\r\n".encode()  # type: ignore[union-attr]
        client.spawn(["sleep", "1000"])
        assert world.json("list") == [], "the user's own supervisor has none of it"
    assert os.listdir(tmp) == []
    with pytest.raises(SupervisorUnreachable) as error:
        client.spawn(["true"])
    assert error.value.code == "client-closed"
    assert os.listdir(tmp) == []
    client.close()


def test_one_that_was_never_used_leaves_nothing_either(tmp: str) -> None:
    with Client.ephemeral():
        assert len(os.listdir(tmp)) == 1
    assert os.listdir(tmp) == []


def test_two_at_once_do_not_know_each_other() -> None:
    with Client.ephemeral() as one, Client.ephemeral() as two:
        one.spawn(["sleep", "1000"], name="same")
        two.spawn(["sleep", "1000"], name="same")
        assert len(one.list()) == len(two.list()) == 1


def test_awaited_it_is_the_same(tmp: str) -> None:
    async def main() -> None:
        async with AsyncClient.ephemeral() as client:
            session = await client.spawn(["sh", "-c", "exit 4"])
            assert (await session.wait()).exit_code == 4
            assert os.path.dirname(client.root.path) == tmp
        assert os.listdir(tmp) == []
        async with AsyncClient.ephemeral() as client:
            start = asyncio.ensure_future(client.start_supervisor())
            while not os.path.exists(client.root.start_lock):
                await asyncio.sleep(0.001)
            start.cancel()
        assert os.listdir(tmp) == [], "also when it is closed while it starts"

    asyncio.run(main())


def test_a_killed_supervisor_is_replaced_and_goes_on_watching(world: World, tmp: str) -> None:
    owner = _owner(world)
    path, supervisor, zygote = _words(owner)
    os.kill(supervisor, signal.SIGKILL)
    with Client(state_dir=path, autostart=False) as client:
        assert client.status().pid != supervisor
        assert len(client.list()) == 2
        os.kill(zygote, signal.SIGKILL)
        until(lambda: client.status().zygote not in (zygote, None))
    _end(owner, signal.SIGKILL)
    until(lambda: os.listdir(tmp) == [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, 0])
def test_everything_ends_with_its_owner(world: World, tmp: str, number: int) -> None:
    owner = _owner(world)
    path, *_ = _words(owner)
    assert len(processes_of(path)) >= 6, "zygote, supervisor, two pairs and their programs"
    _end(owner, number)
    until(lambda: processes_of(path) == [])
    until(lambda: os.listdir(tmp) == [])


def test_an_owner_and_its_supervisor_killed_together_leave_nothing(world: World, tmp: str) -> None:
    owner = _owner(world)
    _, supervisor, _ = _words(owner)
    os.kill(supervisor, signal.SIGKILL)
    _end(owner, signal.SIGKILL)
    until(lambda: os.listdir(tmp) == [])


def test_with_nobody_left_to_end_them_sessions_end_by_themselves(world: World, tmp: str) -> None:
    owner = _owner(world)
    path, supervisor, zygote = _words(owner)
    for pid in (zygote, supervisor):
        os.kill(pid, signal.SIGSTOP)
    for pid in (zygote, supervisor):
        os.kill(pid, signal.SIGKILL)
    _end(owner, signal.SIGKILL)
    until(lambda: processes_of(path) == [])
    shutil.rmtree(path)  # nobody could do it; it holds nothing that lives
    assert os.listdir(tmp) == []


def test_an_owner_that_nobody_reaps_counts_as_ended(world: World, tmp: str) -> None:
    owner = _owner(world)
    path, *_ = _words(owner)
    os.kill(owner.pid, signal.SIGKILL)
    until(lambda: processes_of(path) == [])
    until(lambda: os.listdir(tmp) == [])
    _end(owner, 0)


def test_a_forked_child_of_the_owner_does_not_end_it() -> None:
    with Client.ephemeral() as client:
        client.spawn(["sleep", "1000"])
        pid = os.fork()
        if pid == 0:
            try:
                client.close()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        with Client(state_dir=client.root.path, autostart=False) as other:
            assert len(other.list()) == 1


def test_auto_is_the_running_supervisor_if_there_is_one(world: World, tmp: str) -> None:
    with Client.auto() as client:
        assert os.path.dirname(client.root.path) == tmp
    world.supervisor()
    with Client.auto() as client:
        assert client.root.path == world.state
    assert asyncio.run(_place_of_auto()) == world.state
    assert world.json("supervisor", "status")["running"] is True, "closing it ends nothing"


async def _place_of_auto() -> str:
    async with AsyncClient.auto() as client:
        assert (await client.status()).running
        return client.root.path


def test_the_command_line_runs_one_thing_and_leaves_nothing(world: World, tmp: str) -> None:
    done = world.run("--host", "ephemeral", "spawn", "--follow", "sh", "-c", "echo $ORCHCTL_HOST here; exit 5")
    assert (done.returncode, done.stdout, done.stderr) == (5, b"here\n", b"")
    assert (os.listdir(tmp), os.path.exists(world.state)) == ([], False)
    env = world.env | {"ORCHCTL_HOST": "ephemeral"}
    assert world.run("spawn", "--wait", "-q", "sh", "-c", f"{ORCHCTL} info @last -q", env=env).returncode == 0
    assert os.listdir(tmp) == []


def test_the_command_line_killed_takes_everything_along(world: World, tmp: str) -> None:
    follower = world.start("--host", "ephemeral", "spawn", "--follow", "sh", "-c", "echo begun; sleep 1000")
    with follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == b"begun\n"
        follower.kill()
    until(lambda: os.listdir(tmp) == [])


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["--host", "elsewhere", "list"], 2, "bad-host"),
        (["--host", "elsewhere", "spawn", "--wait", "true"], 125, "bad-host"),
        (["--host", "ephemeral", "list"], 2, "ephemeral-host"),
        (["--host", "ephemeral", "spawn", "true"], 2, "ephemeral-host"),
        (["--host", "ephemeral", "exec", "work", "true"], 125, "ephemeral-host"),
        (["--host", "ephemeral", "supervisor", "status"], 2, "ephemeral-host"),
    ],
)
def test_what_makes_no_sense_there_is_refused(world: World, words: list[str], status: int, code: str) -> None:
    at = 4 if words[2] == "spawn" and words[3] == "--wait" else 4 if words[2] == "supervisor" else 3
    done = world.run(*words[:at], "--json", *words[at:])
    assert (done.returncode, json.loads(done.stderr)["code"]) == (status, code)
    plain = world.run(*words)
    assert plain.stderr.startswith(b"orchctl: ")
    assert plain.stderr.count(b"\n") == 1


def test_local_overrules_the_environment(world: World) -> None:
    env = world.env | {"ORCHCTL_HOST": "ephemeral"}
    assert world.run("--host", "local", "list", "--json", env=env).stdout == b"[]\n"


def _owner(world: World) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", OWNER], env=world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _words(owner: subprocess.Popen[bytes]) -> tuple[str, int, int]:
    assert owner.stdout is not None
    path, supervisor, zygote = owner.stdout.readline().decode().split()
    return path, int(supervisor), int(zygote)


def _end(owner: subprocess.Popen[bytes], number: int) -> None:
    with owner:  # closes its stdin
        if number:
            owner.send_signal(number)
