"""A disk that is full, or refuses: programs wait, nothing is lost, others go on, and everybody is told why."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.needs import needs
from tests.world import World, fresh_world, until

pytestmark = needs("namespaces")


@pytest.fixture
def tiny(request: pytest.FixtureRequest) -> Iterator[World]:
    """A state directory on a file system of four megabytes, and of no more files than the test says."""
    with fresh_world() as made:
        os.mkdir(made.state, 0o700)
        with _mounted(made.state, f"size=4m,mode=700,nr_inodes={getattr(request, 'param', 0)}"):
            yield made
            for name in os.listdir(made.state):
                if name.startswith("filler"):
                    os.unlink(f"{made.state}/{name}")
            made.end()


@contextlib.contextmanager
def _mounted(folder: str, options: str) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def _read_only(folder: str) -> Iterator[None]:
    """What is open goes on being written; nothing new can be made."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill(world: World, leave_bytes: int) -> str:
    """A file that takes all room but so much; its path."""
    path = f"{world.state}/filler"
    free = os.statvfs(world.state)
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(4096, free.f_bavail * free.f_frsize - leave_bytes))
    return path


def _without_echo(log: bytes) -> bytes:
    """Which of both newlines the terminal shows depends on who was first, `send` or `stty`."""
    return log.removeprefix(b"go\r\n").removeprefix(b"go\n")


def test_a_pour_onto_a_full_disk_waits_and_ends_with_every_byte(tiny: World) -> None:
    echo = tiny.ok("spawn", "--name", "echo", "--", "cat")
    tiny.ok("send", "echo", "a block of the disk for some lines")
    until(lambda: tiny.log(echo))
    pour = tiny.ok("spawn", "--name", "pour", "--", "sh", "-c", "stty -opost; read go; seq 1 200000; exit 3")
    filler = _fill(tiny, 64 << 10)
    tiny.ok("send", "pour", "go")
    until(lambda: tiny.json("info", "pour")["stalled"])
    assert "space" in tiny.json("info", "pour")["stalled"]
    assert tiny.json("info", "pour")["is_alive"]
    tiny.ok("send", "echo", "others go on")
    until(lambda: tiny.log(echo).endswith(b"others go on\r\nothers go on\r\n"))
    refused = tiny.run("spawn", "--json", "--", "head", "-c", "1M", "/dev/zero")
    assert refused.returncode in (0, 1), refused
    assert b"Traceback" not in refused.stderr
    os.unlink(filler)
    with tiny.client() as client:
        assert client.wait(pour).exit_code == 3
    wrote = subprocess.run(["seq", "1", "200000"], capture_output=True, check=True).stdout
    assert _without_echo(tiny.log(pour)) == wrote
    assert tiny.json("info", "pour")["stalled"] is None
    tiny.ok("kill", "echo")
    assert tiny.run("verify").returncode == 0


def test_the_end_of_a_session_fits_onto_the_fullest_disk(tiny: World) -> None:
    gate = f"{tiny.folder}/gate"
    os.mkfifo(gate)
    session = tiny.ok("spawn", "--", "sh", "-c", f"read go < {gate}; exit 9")
    filler = _fill(tiny, 0)
    with pytest.raises(OSError, match="space"), open(f"{tiny.state}/more", "wb", buffering=0) as file:
        file.write(b"x" * 4096)
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    with tiny.client() as client:
        assert client.wait(session).exit_code == 9
    assert b'"exit"' in tiny.journal(session)
    os.unlink(filler)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{tiny.state}/more")
    until(lambda: os.path.exists(f"{tiny.state}/sessions/{session}/ended.json"))
    states = [json.loads(line)["state"] for line in tiny.ok("events", "--type", "session.state").splitlines()]
    assert states == ["idle", "live", "closed"]


def test_a_session_that_is_stalled_can_be_killed(tiny: World) -> None:
    session = tiny.ok("spawn", "--name", "s", "--", "sh", "-c", "read go; yes")
    filler = _fill(tiny, 32 << 10)
    tiny.ok("send", "s", "go")
    until(lambda: tiny.json("info", "s")["stalled"])
    pid = tiny.json("info", "s")["pid"]
    assert tiny.ok("kill", "--grace", "200ms", "s") == "1"
    assert not os.path.exists(f"/proc/{pid}")
    assert tiny.json("info", session)["end_reason"] == "killed"
    os.unlink(filler)
    until(lambda: os.path.exists(f"{tiny.state}/sessions/{session}/ended.json"))
    assert tiny.json("info", session)["stalled"] is None


def test_a_disk_that_may_only_be_read_stalls_and_goes_on(tiny: World) -> None:
    with open(f"{tiny.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "128K"\n')
    session = tiny.ok("spawn", "--name", "s", "--", "sh", "-c", "stty -opost; read go; seq 1 10000")
    with _read_only(tiny.state):
        tiny.ok("send", "s", "go")
        until(lambda: tiny.json("info", "s")["stalled"])
        assert "ead-only" in tiny.json("info", "s")["stalled"]
        assert tiny.run("tail", "-n", "1", "s").returncode == 0
        refused = tiny.run("spawn", "--json", "true")
        assert (refused.returncode, json.loads(refused.stderr)["code"]) == (1, "no-space")
    with tiny.client() as client:
        assert client.wait(session).exit_code == 0
    wrote = subprocess.run(["seq", "1", "10000"], capture_output=True, check=True).stdout
    until(lambda: _without_echo(tiny.log(session)) == wrote)  # its end is told after two seconds, stalled or not


@pytest.mark.parametrize("tiny", [60], indirect=True)
def test_no_more_files_is_no_more_space(tiny: World) -> None:
    """A ring of small segments, and no room for the name of the next one."""
    with open(f"{tiny.state}/config.toml", "w", encoding="ascii") as file:
        file.write('[retention]\nsession = "64K"\n')
    session = tiny.ok("spawn", "--name", "s", "--", "sh", "-c", "stty -opost; read go; seq 1 5000")
    for number in itertools.count():
        try:
            os.close(os.open(f"{tiny.state}/filler{number}", os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            break
    tiny.ok("send", "s", "go")
    until(lambda: tiny.json("info", "s")["stalled"])
    for name in os.listdir(tiny.state):
        if name.startswith("filler"):
            os.unlink(f"{tiny.state}/{name}")
    with tiny.client() as client:
        client.wait(session)
    wrote = subprocess.run(["seq", "1", "5000"], capture_output=True, check=True).stdout
    until(lambda: _without_echo(tiny.log(session)) == wrote)  # its end is told after two seconds, stalled or not
