"""Whom a kill passes over: a zygote, and nobody who merely has its name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from orchctl.pair import tree
from tests.needs import needs

_NAMED = """
import sys
from orchctl.pair import process
process.set_name(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("name", "words", "daemon"),
    [
        (tree.ZYGOTE, ["-m", "orchctl.pair", "/state"], True),
        (tree.ZYGOTE, ["-m", "orchctl.keeper", "/state"], True),
        ("orchctl-keeper", ["-m", "orchctl.pair", "/state"], False),
        (tree.ZYGOTE, ["/state"], False),
    ],
    ids=["a zygote", "an older zygote", "a keeper", "a name alone"],
)
def test_a_zygote_is_told_by_its_name_and_by_how_it_was_started(name: str, words: list[str], daemon: bool) -> None:
    argv = [sys.executable, "-c", _NAMED, name, *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert tree.is_daemon(process.pid) is daemon
        process.communicate()
    assert not tree.is_daemon(process.pid)


_REUSED = """
import os, signal, subprocess, sys
from orchctl.pair import tree
def sleeper():
    return subprocess.Popen(["sleep", "1000"])
first = sleeper()
assert first.pid in tree.descendants(os.getpid(), leave_out=0)
began = tree.start_ticks(first.pid)
first.kill()
first.wait()
while True:
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(first.pid - 1))
    second = sleeper()
    if second.pid == first.pid and tree.start_ticks(second.pid) != began:
        break
    second.kill()
    second.wait()
tree.send([first.pid], signal.SIGTERM)  # by what the walk saw; a process ends by the first signal that is deadly
assert second.pid in tree.descendants(os.getpid(), leave_out=0)
tree.send([second.pid], signal.SIGKILL)
print(second.wait())
"""


@needs("namespaces")
def test_a_stranger_that_has_got_the_number_of_a_process_meanwhile_is_not_signalled() -> None:
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", _REUSED]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [b"-9"]), done


_LOOK = """
import os, subprocess, sys
from orchctl.pair import tree
own = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
seen = []
sys.addaudithook(lambda name, args: seen.append((name, args[0])) if name in ("open", "os.listdir") else None)
found = tree.descendants(os.getpid(), leave_out=own[0].pid)
looked, whole = len(seen), [one for one in seen if one[1] == "/proc"]
for one in own:
    one.kill()
    one.wait()
print(sorted(found) == sorted(one.pid for one in own[1:]), whole, looked)
"""


def test_a_look_below_a_process_costs_what_is_below_it_however_many_others_run() -> None:
    """For each session that is killed at once there is such a look: over all of /proc that would be quadratic."""
    others = [subprocess.Popen(["sleep", "1000"]) for _ in range(40)]
    try:
        done = subprocess.run([sys.executable, "-c", _LOOK], capture_output=True, timeout=60, check=True, text=True)
    finally:
        for one in others:
            one.kill()
            one.wait()
    right, whole, looked = done.stdout.split()
    assert (right, whole) == ("True", "[]")
    assert int(looked) <= 6 * 4  # of each process its threads, their children, its name, words and stat; not of others


_THREADED = """
import subprocess, sys, threading
def start():
    print(subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL).pid, flush=True)
    sys.stdin.read()
thread = threading.Thread(target=start)
thread.start()
thread.join()
"""


def test_what_a_thread_has_started_is_below_its_process_too() -> None:
    words = [sys.executable, "-c", _THREADED]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        started = int(process.stdout.readline())
        assert tree.descendants(process.pid, leave_out=0) == [started]
        os.kill(started, signal.SIGKILL)
