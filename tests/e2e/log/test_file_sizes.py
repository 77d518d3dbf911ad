"""A limit on the size of files, in the client that starts the supervisor: for its programs alone, or told (F27)."""

from __future__ import annotations

import os
import resource
import signal
import subprocess

from tests.needs import needs
from tests.programs import pour, pour_bytes
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until

KB = 1024
LIMIT_BYTES = 64 * KB
TOTAL = 300_000


def _limited(world: World, limit: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose files, and those of everything that it starts, have a limit."""
    argv = ["prlimit", f"--fsize={limit}", ORCHCTL, *words]
    return subprocess.run(argv, env=world.env, capture_output=True, timeout=DEADLINE_S, check=False)


def test_a_soft_limit_of_the_client_that_starts_the_supervisor_stalls_no_session(world: World) -> None:
    """F27: the limit is for the programs of that client, who get its signal; the log has none."""
    done = _limited(world, f"{LIMIT_BYTES}:", "spawn", "--", *pour(TOTAL, seed=1, exit_code=5))
    session = done.stdout.decode().strip()
    until(lambda: (told := world.json("info", session))["state"] == "closed" or told["stalled"])
    assert (world.json("info", session)["exit_code"], world.json("info", session)["stalled"]) == (5, None)
    assert world.log(session) == pour_bytes(TOTAL, seed=1)
    file = f"{world.folder}/large"
    write = ["spawn", "--wait", "dd", "if=/dev/zero", f"of={file}", "bs=128k", "count=2"]
    done = _limited(world, f"{LIMIT_BYTES}:", *write)
    assert done.returncode == 128 + signal.SIGXFSZ
    assert os.path.getsize(file) == LIMIT_BYTES
    assert world.run(*write).returncode == 0


@needs("root")
def test_a_limit_that_nothing_gets_around_stalls_a_log_says_why_and_costs_no_byte(world: World) -> None:
    """F27: the program waits, as on a full disk, until the limit is raised; others go on."""
    gate = f"{world.folder}/gate"
    os.mkfifo(gate)
    echo = world.ok("spawn", "--name", "echo", "--", "cat")
    words = ["sh", "-c", f'read go < {gate}; exec "$@"', "sh", *pour(TOTAL, seed=2, exit_code=6)]
    session = world.ok("spawn", "--name", "pour", "--", *words)
    _limit_files(world, LIMIT_BYTES)  # a process that begins takes as much as it may have
    with open(gate, "w", encoding="ascii") as file:
        file.write("go\n")
    until(lambda: world.json("info", "pour")["stalled"])
    assert world.json("info", "pour")["stalled"] == "File too large"
    assert world.json("info", "pour")["is_alive"]
    world.ok("send", "echo", "others go on")
    until(lambda: world.log(echo).endswith(b"others go on\r\nothers go on\r\n"))
    _limit_files(world, resource.RLIM_INFINITY)
    with world.client() as client:
        ended = client.wait(session, timeout_s=DEADLINE_S)
    assert (ended.exit_code, ended.stalled) == (6, None)
    assert world.log(session) == pour_bytes(TOTAL, seed=2)
    world.ok("kill", "echo")
    assert world.run("verify").returncode == 0


def _limit_files(world: World, limit_bytes: int) -> None:
    """Of every process there is, and of what it forks."""
    for pid in processes_of(world.folder):
        hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit_bytes, hard))
