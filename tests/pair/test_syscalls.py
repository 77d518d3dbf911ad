"""The numbers of calls: those of this machine as the kernel shows them, those of the other as its tables have them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from orchctl.pair import input_wait
from tests.world import until

AARCH64 = {  # of the generic table, which that machine uses
    22: "epoll_pwait", 63: "read", 65: "readv", 72: "pselect6", 73: "ppoll", 95: "waitid", 98: "futex",
    101: "nanosleep", 115: "clock_nanosleep", 133: "rt_sigsuspend", 260: "wait4", 441: "epoll_pwait2",
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import time; time.sleep(1000)", {"clock_nanosleep", "select", "pselect6"}),
        ("import os; os.read(os.pipe()[0], 1)", {"read"}),
        ("import select; select.select([], [], [])", {"select", "pselect6"}),
        ("import select; select.poll().poll()", {"poll", "ppoll"}),
        ("import select; select.epoll().poll()", {"epoll_wait", "epoll_pwait"}),
        ("import signal; signal.pause()", {"pause", "ppoll", "rt_sigsuspend"}),
        ("import signal; signal.sigwait([10])", {"rt_sigtimedwait"}),
        (
            "import threading; threading.Lock().acquire() or 0; l = threading.Lock(); l.acquire(); l.acquire()",
            {"futex"},
        ),
        ("import os; os.waitpid(os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '1000'), 0)", {"wait4"}),
        (
            "import socket; s = socket.create_server(('127.0.0.1', 0)); s.accept()",
            {"accept4", "accept", "poll", "ppoll"},
        ),
    ],
)
def test_a_call_is_known_by_its_name(code: str, names: set[str]) -> None:
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as program:
        try:
            until(lambda: _name(program.pid) in names, f"it never slept in any of {names}")
            assert input_wait.is_native(program.pid)
        finally:
            os.killpg(program.pid, 9)


def _name(pid: int) -> str | None:
    found = input_wait.sleeps_in(pid, pid)
    return found[0] if found is not None else None


def test_what_runs_sleeps_in_nothing_and_what_is_gone_is_not_seen() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        until(lambda: input_wait.sleeps_in(program.pid, program.pid) == ("", []))
        program.kill()
    assert input_wait.sleeps_in(program.pid, program.pid) is None
    assert not input_wait.is_native(program.pid)


def test_the_numbers_of_aarch64_are_those_of_its_table() -> None:
    names = input_wait.names("aarch64")
    assert {number: names[number] for number in AARCH64} == AARCH64
    assert not {"poll", "select", "epoll_wait", "pause"} & set(names.values())


def test_no_number_has_two_names() -> None:
    for machine in ("x86_64", "aarch64"):
        names = input_wait.names(machine)
        assert len(set(names.values())) == len(names)
        assert set(names.values()) >= {"read", "pselect6", "ppoll", "epoll_pwait", "wait4", "futex"}


def test_of_another_machine_nothing_is_known() -> None:
    assert input_wait.names("riscv64") == {}
