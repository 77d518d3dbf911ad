"""`exec --pipe`: stdout and stderr on real pipes, exact and apart, whichever process of the pair is killed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from orchctl import Client, SessionHandle
from tests.conformance.kinds import FISH, KINDS, Kind
from tests.needs import marks
from tests.world import DEADLINE_S, ORCHCTL, World, until

EACH = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name, marks=marks(kind.name)) for kind in KINDS])
POUR = """
import os, random, sys
rnd, left = random.Random(int(sys.argv[1])), {1: int(sys.argv[2]), 2: int(sys.argv[2])}
blocks = [rnd.randbytes(1 << 17) for _ in range(8)]
while any(left.values()):
    stream = rnd.choice([stream for stream in left if left[stream]])
    data = rnd.choice(blocks)[: min(left[stream], rnd.randint(1, 1 << 17))]
    left[stream] -= len(data)
    while data:
        data = data[os.write(stream, data):]
sys.exit(7)
"""


def poured(seed: int, size: int) -> dict[int, str]:
    """The digests of what POUR writes."""
    rnd, left = random.Random(seed), {1: size, 2: size}
    digests = {1: hashlib.sha256(), 2: hashlib.sha256()}
    blocks = [rnd.randbytes(1 << 17) for _ in range(8)]
    while any(left.values()):
        stream = rnd.choice([stream for stream in left if left[stream]])
        data = rnd.choice(blocks)[: min(left[stream], rnd.randint(1, 1 << 17))]
        left[stream] -= len(data)
        digests[stream].update(data)
    return {stream: digest.hexdigest() for stream, digest in digests.items()}


def pour(world: World, seed: int, size: int) -> list[str]:
    """The words of that command."""
    path = f"{world.folder}/pour.py"
    with open(path, "w", encoding="ascii") as file:
        file.write(POUR)
    return [sys.executable, path, str(seed), str(size)]


def shell_files(world: World, session: str) -> list[str]:
    """What lies in a session's shell folder for commands."""
    names = os.listdir(f"{world.state}/sessions/{session}/shell")
    return sorted(name for name in names if name[:1] in "cietopq" and len(name) == 17)


@pytest.fixture
def bash(world: World) -> Iterator[SessionHandle]:
    """A live bash."""
    with world.client() as client:
        handle = client.spawn(["bash"], name="b")
        assert handle.exec("true").exit_code == 0
        yield handle


def pair_of(child: int) -> tuple[int, int]:
    """The keeper of a program, and its mover."""
    with open(f"/proc/{child}/stat", encoding="ascii") as file:
        keeper = int(file.read().rpartition(")")[2].split()[1])
    return keeper, _mover(keeper, child)


def _mover(keeper: int, child: int, before: int = 0) -> int:
    found = list[int]()

    def look() -> bool:
        with open(f"/proc/{keeper}/task/{keeper}/children", encoding="ascii") as file:
            for pid in [int(word) for word in file.read().split() if int(word) not in (child, before)]:
                with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    if comm.read() == "orchctl-mover\n":
                        found[:] = [pid]
        return bool(found)

    until(look)
    return found[0]


def test_two_hundred_megabytes_of_each_stream_are_exact(world: World, bash: SessionHandle) -> None:
    size = 200 << 20
    paths = {1: f"{world.folder}/out", 2: f"{world.folder}/err"}
    with open(paths[1], "wb") as out, open(paths[2], "wb") as err:
        done = world.run("exec", "b", "--pipe", *pour(world, 5, size), capture_output=False, stdout=out, stderr=err)
    assert done.returncode == 7
    for stream, digest in poured(5, size).items():
        with open(paths[stream], "rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == digest
    for path in paths.values():
        os.unlink(path)


@pytest.mark.parametrize("victim", ["mover", "keeper", "supervisor"])
def test_no_byte_is_lost_or_doubled_when_a_process_is_killed_in_the_middle(
    world: World, bash: SessionHandle, victim: str
) -> None:
    size, child = 48 << 20, world.json("info", "b")["pid"]
    running = world.start("exec", "b", "--pipe", *pour(world, 6, size), stderr=subprocess.PIPE)
    digests = {1: hashlib.sha256(), 2: hashlib.sha256()}
    begun = threading.Event()

    def read(stream: int, fd: int) -> None:
        while data := os.read(fd, 1 << 16):
            digests[stream].update(data)
            begun.set()

    assert running.stdout is not None
    assert running.stderr is not None
    readers = [
        threading.Thread(target=read, args=(1, running.stdout.fileno())),
        threading.Thread(target=read, args=(2, running.stderr.fileno())),
    ]
    for reader in readers:
        reader.start()
    assert begun.wait(DEADLINE_S)
    keeper, mover = pair_of(child)
    kills = 0
    while running.poll() is None and kills < (1 if victim == "keeper" else 8):
        pid = {"keeper": keeper, "mover": mover, "supervisor": 0}[victim] or world.supervisor()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            kills += 1
        time.sleep(0.05)  # the kills are spread over the pouring
        if victim == "mover" and running.poll() is None:
            mover = _mover(keeper, child, mover)
    for reader in readers:
        reader.join(DEADLINE_S)
    running.stdout.close()
    running.stderr.close()
    assert running.wait(DEADLINE_S) == 7
    assert kills > 0
    assert {stream: digest.hexdigest() for stream, digest in digests.items()} == poured(6, size)
    assert bash.exec("echo usable").output == b"usable\n"


def test_a_killed_mover_leaves_what_is_in_the_pipes_to_the_next(world: World, bash: SessionHandle) -> None:
    """The command waits between its two halves; both processes are killed in turn meanwhile."""
    os.mkfifo(f"{world.folder}/gate")
    child = world.json("info", "b")["pid"]
    text = f"printf one; printf two >&2; read go <{world.folder}/gate; printf three; printf four >&2; exit 4"
    running = world.start("exec", "b", "--pipe", f"sh -c {text!r}", stderr=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stderr is not None
    assert (os.read(running.stdout.fileno(), 3), os.read(running.stderr.fileno(), 3)) == (b"one", b"two")
    keeper, mover = pair_of(child)
    os.kill(mover, signal.SIGKILL)
    heir = _mover(keeper, child, mover)
    os.kill(keeper, signal.SIGKILL)
    until(lambda: _name(heir) == "orchctl-keeper")
    with open(f"{world.folder}/gate", "w", encoding="ascii") as file:
        file.write("go\n")
    out, err = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, out, err) == (4, b"three", b"four")


def _name(pid: int) -> str:
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def test_a_reader_that_closes_ends_us_by_sigpipe_and_the_session_stays(world: World, bash: SessionHandle) -> None:
    script = f"{ORCHCTL} exec b --pipe 'while :; do echo up; done' | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], env=world.env, capture_output=True, timeout=DEADLINE_S, check=False)
    assert done.stdout == b"up\n141\n"
    assert bash.exec("echo free", wait_prompt_s=DEADLINE_S).output == b"free\n"


def test_a_reader_of_stderr_that_closes_ends_us_too(world: World, bash: SessionHandle) -> None:
    script = f"""
        {ORCHCTL} exec b --pipe 'while :; do echo wrong >&2; done' 2>&1 >/dev/null | head -n 1; echo ${{PIPESTATUS[0]}}
        {ORCHCTL} exec b --pipe --wait-prompt 60s 'echo right; echo wrong >&2; (exit 3)' 2>&-; echo $?
    """
    done = subprocess.run(["bash", "-c", script], env=world.env, capture_output=True, timeout=DEADLINE_S, check=False)
    assert (done.stdout, done.stderr) == (b"wrong\n141\nright\n3\n", b"")


def test_a_background_job_holds_nothing_up_and_gets_no_sigpipe(world: World, bash: SessionHandle) -> None:
    gate, told = f"{world.folder}/gate", f"{world.folder}/told"
    os.mkfifo(gate)
    job = f"(read go <{gate}; echo late; echo late >&2; echo $? >{told}) &"
    result = bash.exec(f"echo before; {job} echo after; echo wrong >&2", pipe=True)
    assert (result.exit_code, result.output, result.errors) == (0, b"before\nafter\n", b"wrong\n")
    assert bash.exec("echo next", pipe=True).output == b"next\n"
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: os.path.exists(told) and os.path.getsize(told))
    with open(told, encoding="ascii") as file:
        assert file.read() == "0\n"
    keeper, mover = pair_of(world.json("info", "b")["pid"])
    if os.access(f"/proc/{keeper}/fd", os.R_OK):  # as root
        until(lambda: not _fifos(keeper) and not _fifos(mover))  # the last writer lets them go


def _fifos(pid: int) -> list[str]:
    links = list[str]()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return [link for link in links if "/shell/" in link]


def test_a_background_job_that_pours_does_not_keep_the_command_from_ending(bash: SessionHandle) -> None:
    result = bash.exec("yes >/dev/stderr & echo mine; (exit 3)", pipe=True)
    assert (result.exit_code, result.output) == (3, b"mine\n")
    assert bash.exec("kill %1; wait; echo done", pipe=True, timeout_s=DEADLINE_S).output.endswith(b"done\n")


def test_files_and_pipes_are_gone_some_time_after_the_end(world: World, bash: SessionHandle) -> None:
    assert bash.exec("echo x", pipe=True).output == b"x\n"
    until(lambda: shell_files(world, bash.id) == [])


def test_a_shell_that_ends_in_the_middle_leaves_every_byte(world: World) -> None:
    with world.client() as client:
        for _ in range(5):
            shell = client.spawn(["bash"])
            result = shell.exec("head -c 300000 /dev/zero; echo bye >&2; exit 3", pipe=True)
            assert (result.exit_code, len(result.output), result.errors) == (3, 300000, b"bye\n")


def _spawned(world: World, client: Client, kind: Kind) -> SessionHandle:
    home = f"{world.folder}/home"
    os.makedirs(home, exist_ok=True)
    env = {"HOME": home, **{name: value.replace("~", home) for name, value in kind.env}}
    return client.spawn(list(kind.command), cwd=home, env=env)


@EACH
def test_every_shell_gives_both_streams_apart_whatever_the_command_does_with_them(world: World, kind: Kind) -> None:
    status = "$status" if kind is FISH else "$?"
    with world.client() as client:
        shell = _spawned(world, client, kind)
        for text, code, out, err in (
            ("echo a; echo b >&2; sh -c 'exit 3'", 3, b"a\n", b"b\n"),
            ("sh -c 'exec >&-; echo x; echo c >&2; exit 4' 2>/dev/null", 4, b"", b""),
            ("sh -c 'exec >inside 2>&1; echo x; echo y >&2'; cat inside", 0, b"x\ny\n", b""),
            ("echo a | cat; true", 0, b"a\n", b""),
            (
                "head -c 200000 /dev/zero | tr '\\0' x; sh -c 'head -c 200000 /dev/zero >&2'",
                0,
                b"x" * 200000,
                bytes(200000),
            ),
            (f"false; echo {status}", 0, b"1\n", b""),
        ):
            result = shell.exec(text, pipe=True)
            assert (result.exit_code, result.output, result.errors) == (code, out, err), text
        if kind is not FISH:  # which has no exec without a command
            result = shell.exec("echo first; exec >outside; echo second", pipe=True)
            assert (result.exit_code, result.output) == (0, b"first\n")
            with open(f"{world.folder}/home/outside", encoding="ascii") as file:
                assert file.read() == "second\n"
        assert shell.exec("echo after", pipe=True).output in (b"after\n", b"")
        result = shell.exec("sleep 1000", pipe=True, timeout_s=0.5)
        assert (result.exit_code, result.command.status) == (124, "timeout")


def test_a_supervisor_that_is_killed_after_the_end_leaves_the_output_to_be_asked_for(
    world: World, bash: SessionHandle
) -> None:
    """A client that has read nothing of it when the supervisor dies gets all of it from the next."""
    running = world.start("exec", "b", "--pipe", "head -c 3000000 /dev/zero; echo end >&2", stderr=subprocess.PIPE)
    until(lambda: world.json("history", "b")[-1]["status"] == "exited" and len(world.json("history", "b")) == 2)
    os.kill(world.supervisor(), signal.SIGKILL)
    out, err = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, len(out), err) == (0, 3000000, b"end\n")
