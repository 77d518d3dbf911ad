"""A disk that is full, or refuses: programs wait, nothing is lost, others go on, and everybody is told why."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from orchctl.errors import TimedOut
from tests.golden.recorder import Recorder, pair_lines
from tests.needs import needs
from tests.world import DEADLINE_S, World, fresh_world, until

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


def test_the_end_of_a_program_is_told_after_the_output_that_waits_for_room(tiny: World) -> None:
    gate = f"{tiny.folder}/gate"
    os.mkfifo(gate)
    session = tiny.ok("spawn", "--", "sh", "-c", f"stty -opost; read go < {gate}; seq 1 2000; exit 4")
    filler = _fill(tiny, 0)
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: b'"status"' in tiny.journal(session))  # it has ended, and its terminal has what it wrote
    with tiny.client() as client:
        with pytest.raises(TimedOut):
            client.wait(session, timeout_s=4)
        os.unlink(filler)
        assert client.wait(session).exit_code == 4
    wrote = subprocess.run(["seq", "1", "2000"], capture_output=True, check=True).stdout
    assert tiny.log(session) == wrote


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


def _shell(world: World) -> str:
    session = world.ok("spawn", "--name", "b", "bash")
    world.ok("exec", "b", "true")
    return session


LINES = subprocess.run(["seq", "1", "200000"], capture_output=True, check=True).stdout


def test_a_command_with_pipes_waits_for_room_and_ends_with_every_byte(tiny: World) -> None:
    _shell(tiny)
    filler = _fill(tiny, 96 << 10)
    text = "seq 1 200000; seq 1 200000 >&2; exit 3"
    running = tiny.start("exec", "b", "--pipe", f"sh -c {text!r}", stderr=subprocess.PIPE)
    until(lambda: tiny.json("info", "b")["stalled"])
    assert "space" in tiny.json("info", "b")["stalled"]
    assert running.poll() is None
    os.unlink(filler)
    out, err = running.communicate(timeout=DEADLINE_S)
    said, _, rest = err.partition(b"\n")
    assert (running.returncode, out) == (3, LINES)
    assert said == b"orchctl: No space left on device; the command waits until its output can be stored"
    assert rest == LINES
    assert tiny.json("info", "b")["stalled"] is None
    assert tiny.ok("exec", "b", "echo usable") == "usable"


def test_a_command_that_is_over_while_its_output_cannot_be_stored_is_told_with_every_byte_or_not_yet(
    tiny: World,
) -> None:
    """What it wrote fits into the pipe: it ends by itself, long before there is room."""
    _shell(tiny)
    filler = _fill(tiny, 16 << 10)
    done = f"{tiny.folder}/done"
    running = tiny.start("exec", "b", "--pipe", f"seq 1 5000; touch {done}; (exit 3)", stderr=subprocess.PIPE)
    until(lambda: os.path.exists(done) and tiny.json("info", "b")["stalled"])
    time.sleep(1.5)  # time in which a lie would be told
    assert running.poll() is None
    os.unlink(filler)
    out, err = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, len(out), out) == (3, 23893, LINES[:23893])
    assert err == b"orchctl: No space left on device; the command waits until its output can be stored\n"


def test_a_time_out_ends_a_command_with_pipes_that_waits_for_room(tiny: World) -> None:
    _shell(tiny)
    filler = _fill(tiny, 96 << 10)
    done = tiny.run("exec", "b", "--pipe", "--timeout", "2s", "--kill-after", "500ms", "seq 1 200000; echo $? >&2")
    assert done.returncode == 124
    assert b"No space left on device" in done.stderr
    assert LINES.startswith(done.stdout)
    assert len(done.stdout) < len(LINES)
    os.unlink(filler)
    assert tiny.ok("exec", "b", "--wait-prompt", "30s", "echo usable") == "usable"
    whole = tiny.run("exec", "b", "--pipe", "seq 1 200000")
    assert (whole.returncode, whole.stdout) == (0, LINES)


def test_a_caller_that_leaves_a_command_with_pipes_that_waits_for_room_takes_it_along(tiny: World) -> None:
    _shell(tiny)
    filler = _fill(tiny, 96 << 10)
    running = tiny.start("exec", "b", "--pipe", "seq 1 200000", stderr=subprocess.PIPE)
    until(lambda: tiny.json("info", "b")["stalled"])
    running.kill()
    running.communicate()
    until(lambda: tiny.json("history", "b")[-1]["status"] == "timeout")
    assert "No space left" in tiny.json("history", "b")[-1]["error"]
    os.unlink(filler)
    assert tiny.ok("exec", "b", "--wait-prompt", "30s", "echo usable") == "usable"


def test_a_command_that_cannot_even_begin_is_a_clear_error(tiny: World) -> None:
    _shell(tiny)
    filler = _fill(tiny, 0)
    refused = tiny.run("exec", "b", "--pipe", "--json", f"touch {tiny.folder}/never; seq 1 5000")
    assert (refused.returncode, refused.stdout) == (125, b"")
    assert json.loads(refused.stderr)["code"] == "no-space"
    os.unlink(filler)
    assert tiny.ok("exec", "b", "--pipe", "echo usable") == "usable"
    assert not os.path.exists(f"{tiny.folder}/never")


def test_a_session_of_an_older_version_gives_an_error_where_output_may_be_missing(tiny: World) -> None:
    """Its mover drains no pipes: the command writes files itself, and is told of a full disk alone."""
    session = _shell(tiny)
    path = f"{tiny.state}/sessions/{session}/pair.sock"
    recorder = Recorder(path, pair_lines, lambda _, data: data.replace(b'"pipes"', b'"other"'))
    try:
        tiny.ok("supervisor", "stop", "--leave")
        whole = tiny.run("exec", "b", "--pipe", "seq 1 5000; echo err >&2; (exit 4)")
        assert (whole.returncode, len(whole.stdout), whole.stderr) == (4, 23893, b"err\n")
        assert not {"V", "D"} & {entry.text[0] for entry in recorder.take() if entry.side == ">"}
        filler = _fill(tiny, 80 << 10)
        lost = tiny.run("exec", "b", "--pipe", "--json", "seq 1 200000 2>/dev/null; true")
        assert lost.returncode == 125
        assert json.loads(lost.stderr)["code"] == "no-space"
        os.unlink(filler)
        assert tiny.ok("exec", "b", "--wait-prompt", "30s", "--pipe", "echo usable") == "usable"
        tiny.ok("kill", "b")
    finally:
        recorder.close()


def test_a_command_ends_where_its_end_cannot_be_written_down_yet(tiny: World) -> None:
    """Its text is so long that the record of its end needs another block of the disk."""
    _shell(tiny)
    gate = f"{tiny.folder}/gate"
    os.mkfifo(gate)
    running = tiny.start("exec", "b", f"# {'x' * 5000}\nread go <{gate}; (exit 3)", stderr=subprocess.PIPE)
    until(lambda: tiny.json("history", "b")[-1]["number"] == 2)
    filler = _fill(tiny, 0)
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    assert running.communicate(timeout=DEADLINE_S) == (b"", b"")
    assert running.returncode == 3
    os.unlink(filler)
    assert tiny.ok("exec", "b", "echo next") == "next"
    os.kill(tiny.supervisor(), signal.SIGKILL)
    assert [command["exit_code"] for command in tiny.json("history", "b")] == [0, 3, 0]
