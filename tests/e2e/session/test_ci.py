"""In a job of continuous integration: no step hangs, and no supervisor outlives the job."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time

import pytest

from orchctl.session.environment import IDLE_EXIT_S
from tests.world import DEADLINE_S, ORCHCTL, World, processes_of, until


@pytest.fixture
def job(world: World) -> World:
    """Where `CI` is set."""
    world.env["CI"] = "true"
    return world


def _step(job: World, script: str) -> str:
    """A step as a runner does it: back when the shell has ended and nobody holds its output any more."""
    done = subprocess.run(
        ["sh", "-ec", script.replace("orchctl", ORCHCTL)],
        env=job.env,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


def test_looking_starts_nothing(job: World) -> None:
    assert _step(job, 'x=$(orchctl list -q); echo "[$x]"; orchctl kill-by-manager user') == "[]\n0\n"
    assert processes_of(job.folder) == []


def test_a_step_that_starts_the_supervisor_comes_back_at_once(job: World) -> None:
    assert _step(job, "orchctl spawn -q --wait sh -c 'exit 0'; x=$(orchctl spawn sleep 1000); echo ${#x}") == "36\n"
    assert _step(job, "orchctl list -q | wc -l").strip() == "1", "the next step finds the session"
    assert _step(job, "orchctl supervisor stop --kill") == "stopped\n"
    assert processes_of(job.folder) == []


def test_after_the_last_session_the_supervisor_is_soon_gone(job: World) -> None:
    _step(job, "orchctl spawn -q sh -c 'read line'")
    with job.client() as client:
        (session,) = client.list()
        pid = client.status().pid
    time.sleep(IDLE_EXIT_S + 2)  # time enough to end by mistake
    with job.client() as client:
        assert client.status().pid == pid, "a live session keeps it"
        client.send(session.id, b"\n")
        client.wait(session.id)
    until(lambda: processes_of(job.folder) == [])
    assert _step(job, "orchctl info -q $(orchctl list -aq)") == "", "what is kept is still there"


def test_a_runner_that_ends_what_carries_its_mark_ends_everything(job: World) -> None:
    mark = f"RUNNER_TRACKING_ID=test_{os.getpid()}_{time.monotonic_ns()}"
    job.env["RUNNER_TRACKING_ID"] = mark.partition("=")[2]
    _step(job, "orchctl spawn -q sleep 1000; orchctl spawn -q --no-pty sh -c 'sleep 1000; :'")
    until(lambda: len(_marked(mark)) == 3)  # a shell takes a moment to start its program
    for pid in _marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    until(lambda: processes_of(job.folder) == [])


def _marked(mark: str) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                continue
    return found
