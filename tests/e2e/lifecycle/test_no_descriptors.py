"""Processes that may open no more files (F33): what they cannot do is refused or waits, and nothing is lost."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import subprocess
from collections.abc import Iterator

import pytest

from orchctl import OrchctlError
from tests.e2e import pair_processes
from tests.needs import needs
from tests.programs import pour, pour_digest
from tests.world import ORCHCTL, World, until

KB = 1024
SIZE = 600 * KB


@contextlib.contextmanager
def _limited(pid: int, more: int) -> Iterator[None]:
    """So many descriptors more than it has now."""
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1 + more, usual[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)


@needs("root")
@pytest.mark.parametrize("more", [0, 5])
def test_a_zygote_without_descriptors_refuses_or_forks_and_goes_on(world: World, more: int) -> None:
    living = world.ok("spawn", "bash")
    zygote = world.json("supervisor", "status")["zygote"]
    before = sorted(os.listdir(f"/proc/{zygote}/fd"))
    with _limited(zygote, more):
        for _ in range(2):
            tried = world.run("spawn", "--wait", "--", "sh", "-c", "exit 4")
            assert tried.returncode in (4, 125), tried
            assert tried.returncode == 4 or tried.stderr.startswith(b"orchctl: "), tried
        assert world.ok("exec", living, "echo lives") == "lives"
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 4").returncode == 4
    after = world.json("supervisor", "status")["zygote"]
    if after == zygote:
        until(lambda: sorted(os.listdir(f"/proc/{zygote}/fd")) == before)  # nothing of what it refused is left
    assert world.ok("list", "-q") == living


@needs("root")
def test_a_supervisor_without_descriptors_says_that_and_not_that_the_disk_is_full(world: World) -> None:
    with world.client() as client:
        client.list()
        with _limited(world.supervisor(), 0), pytest.raises(OrchctlError) as refused:
            client.spawn(["sleep", "1000"])
        assert refused.value.code == "too-many-files"
        assert client.list() == []


@needs("root")
@pytest.mark.parametrize("process", ["keeper", "mover"])
def test_a_pair_without_descriptors_loses_no_byte_and_no_code(world: World, process: str) -> None:
    world.keep_of_each_session("1M")  # 128 KiB a segment: each is a descriptor more, for a moment
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    program = pour(SIZE, seed=3, bytes_per_s=400 * KB, exit_code=6)
    with world.client() as client:
        session = client.spawn(["sh", "-c", f'read go < {gate}; exec "$@"', "sh", *program]).id
        until(lambda: client.info(session).is_alive)
        keeper, mover = pair_processes.keeper(world, session), pair_processes.mover(world, session)
        with _limited(keeper if process == "keeper" else mover, 0):
            with open(gate, "w", encoding="ascii") as file:
                file.write("go\n")
            until(lambda: len(world.log(session)) > 64 * KB)
            if process == "keeper":
                os.kill(mover, signal.SIGKILL)  # another one is due, and there is no descriptor for its line
                until(lambda: pair_processes.mover(world, session) not in (0, mover))
                _, hard = resource.prlimit(keeper, resource.RLIMIT_NOFILE)
                mover = pair_processes.mover(world, session)
                until(lambda: resource.prlimit(mover, resource.RLIMIT_NOFILE) == (hard, hard), deadline_s=15)
        assert client.wait(session).exit_code == 6
    assert hashlib.sha256(world.log(session)).hexdigest() == pour_digest(SIZE, seed=3)
    assert world.run("verify").returncode == 0


@pytest.mark.parametrize("files", [7, 12])
def test_a_client_without_descriptors_works_or_says_why(world: World, files: int) -> None:
    session = world.ok("spawn", "cat")
    for words in (["list", "-q"], ["send", session, "x"], ["spawn", "--stdin", "--wait", "true"]):
        done = subprocess.run(
            ["prlimit", f"--nofile={files}", ORCHCTL, *words],
            env=world.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert b"Traceback" not in done.stderr or files < 10, (words, done)  # Python itself needs some
        assert done.returncode == 0 or done.stderr, (words, done)
    assert world.ok("list", "-q") == session


@needs("root")
@pytest.mark.parametrize("more", [1])
def test_descriptors_that_are_handed_over_and_find_no_room_are_missed(world: World, more: int) -> None:
    """The kernel drops them and says so by a flag alone (MSG_CTRUNC)."""
    world.ok("spawn", "cat")
    supervisor = world.supervisor()
    with _limited(supervisor, more):
        words = ("spawn", "--stdin", "--wait", "--", "sh", "-c", "cat; exit 3")
        done = world.run(*words, input=b"all of it", stdin=None)
    assert done.returncode in (3, 125), done
    if done.returncode == 3:
        (session,) = (one["id"] for one in world.json("list", "-a") if one["command"][0] == "sh")
        assert b"all of it" in world.log(session)
    else:
        assert done.stderr.startswith(b"orchctl: "), done
    assert world.supervisor() == supervisor
    assert world.run("spawn", "--wait", "--", "sh", "-c", "exit 5").returncode == 5
