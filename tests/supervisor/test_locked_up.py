"""A process that waits for a lock which only it could give back never goes on: that can be seen from outside."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchctl.supervisor.exec.prompt import waits_for_itself
from tests.world import until

LOCK = "import threading; lock = threading.Lock(); lock.acquire(); print('there', flush=True); "


@contextlib.contextmanager
def _running(script: str) -> Iterator[int]:
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        try:
            yield process.pid
        finally:
            process.kill()


def test_one_thread_that_waits_for_a_lock_of_its_own_is_locked_up() -> None:
    with _running(LOCK + "lock.acquire()") as pid:
        until(lambda: waits_for_itself(pid))


@pytest.mark.parametrize(
    "script",
    [
        LOCK + "input()",
        "import threading; threading.Thread(target=input).start(); " + LOCK + "lock.acquire()",
        LOCK + "import time; time.sleep(1000)",
    ],
)
def test_one_that_waits_for_somebody_else_is_not(script: str) -> None:
    with _running(script) as pid:
        until(lambda: _sleeps(pid))
        assert not waits_for_itself(pid)


def test_one_that_is_gone_is_not() -> None:
    with _running(LOCK + "input()") as pid:
        pass
    assert not waits_for_itself(pid)


def _sleeps(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"
