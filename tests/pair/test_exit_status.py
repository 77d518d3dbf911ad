"""What can be told of the end of a process that is not one's own child, and what cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchctl.pair import reaper, tree
from tests.needs import needs
from tests.nobody import become_nobody

STARTED = {"type": "started"}
ENDS = [("os._exit(0)", 0), ("os._exit(42)", 42), ("os.kill(os.getpid(), 9)", -9), ("os.abort()", -signal.SIGABRT)]


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ([], None),
        ([STARTED], None),
        ([STARTED, {"type": "status", "status": -15}], -15),
        ([STARTED, {"type": "status", "status": 3}, STARTED], None),
        ([STARTED, {"type": "status", "status": 3}, {"type": "exit"}, STARTED, {"type": "status", "status": 0}], 0),
    ],
)
def test_the_journal_tells_of_the_newest_run_alone(records: list[dict[str, object]], status: int | None) -> None:
    assert reaper.journalled_status(records) == status


@pytest.fixture
def pidfds() -> Iterator[list[int]]:
    """Those that a test opens; all are closed."""
    held: list[int] = []
    yield held
    for fd in held:
        os.close(fd)


@needs("exit-info")
@pytest.mark.parametrize(("code", "status"), ENDS)
def test_a_descriptor_tells_the_status_once_the_process_is_reaped(code: str, status: int, pidfds: list[int]) -> None:
    program = subprocess.Popen([sys.executable, "-c", f"import os; os.read(0, 1); {code}"], stdin=subprocess.PIPE)
    pidfds.append(os.pidfd_open(program.pid))
    assert reaper.status_of_reaped(pidfds[0]) is None
    assert program.stdin is not None
    program.stdin.close()
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    assert reaper.status_of_reaped(pidfds[0]) is None
    program.wait()
    assert reaper.status_of_reaped(pidfds[0]) == status


def test_what_is_no_descriptor_of_a_process_tells_nothing() -> None:
    assert reaper.status_of_reaped(-1) is None
    with open(os.devnull, "rb") as file:
        assert reaper.status_of_reaped(file.fileno()) is None


@pytest.mark.parametrize(("code", "status"), ENDS)
def test_the_status_of_a_process_that_nobody_reaps_is_in_its_entry(code: str, status: int) -> None:
    with subprocess.Popen([sys.executable, "-c", f"import os; {code}"]) as program:
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        ticks = tree.start_ticks(program.pid)
        assert reaper.status_of_zombie(program.pid, ticks) == status
        assert reaper.status_of_zombie(program.pid, ticks + 1) is None
    assert reaper.status_of_zombie(program.pid, ticks) is None
    assert reaper.status_of_zombie(os.getpid(), tree.start_ticks(os.getpid())) is None


@needs("root")
@pytest.mark.parametrize("code", [0, 7])
def test_what_the_kernel_hides_from_another_user_is_not_taken_for_a_status(code: int) -> None:
    look = "import sys; from orchctl.pair import reaper; print(reaper.status_of_zombie(*map(int, sys.argv[1:])))"
    with subprocess.Popen([sys.executable, "-c", f"import os; os._exit({code})"]) as program:
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        words = [sys.executable, "-c", look, str(program.pid), str(tree.start_ticks(program.pid))]
        done = subprocess.run([*become_nobody(), *words], capture_output=True, check=True, cwd="/")
    assert done.stdout == b"None\n"
