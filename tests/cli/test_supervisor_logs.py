"""The supervisor's log: shown without a supervisor, followed while it rolls, and nobody's line is lost by rolling."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.world import World, until

LIMIT_BYTES = 5 << 20
WRITER = """
import os, sys
from orchctl.pair.daemon_io import own_stdio, say
own_stdio(sys.argv[1])
for number in range(int(sys.argv[3])):
    say(f"writer {sys.argv[2]} line {number} " + "x" * 4000)
"""


def _fill(world: World, size: int = LIMIT_BYTES) -> None:
    with open(f"{world.state}/supervisor.log", "ab") as file:
        file.write(b"filler\n" * (size // 7 + 1))


def test_the_last_lines_are_shown_with_and_without_a_supervisor(world: World) -> None:
    none = world.run("supervisor", "logs")
    assert (none.returncode, none.stdout) == (1, b"")
    assert b"there is no log at" in none.stderr
    pid = world.supervisor()
    assert f"supervisor {pid}: ready with 0 live sessions" in world.ok("supervisor", "logs")
    world.ok("supervisor", "stop")
    assert world.ok("supervisor", "logs", "-n", "1").endswith("stopped")
    assert world.ok("supervisor", "logs", "-n", "0") == ""
    lines = [json.loads(line) for line in world.ok("supervisor", "logs", "-n", "all", "--json").splitlines()]
    assert [(one["process"], one["pid"]) for one in lines] == [("supervisor", pid)] * len(lines)
    assert lines[-1]["text"] == "stopped"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(,\d+)?", lines[-1]["time"])
    assert world.run("supervisor", "status").returncode == 1
    assert world.run("supervisor", "logs", "-n", "few").returncode == 2


def test_older_files_are_part_of_it_and_escapes_are_shown_as_text(world: World) -> None:
    os.mkdir(world.state, 0o700)
    for suffix, text in ((".2", "one\ntwo\n"), (".1", "three\n"), ("", "four \x1b[31m\nhalf")):
        with open(f"{world.state}/supervisor.log{suffix}", "w", encoding="ascii") as file:
            file.write(text)
    assert world.ok("supervisor", "logs", "-n", "3").splitlines() == ["two", "three", "four ^[[31m"]
    assert len(world.ok("supervisor", "logs", "-n", "all").splitlines()) == 4


def test_it_is_followed_while_it_rolls(world: World) -> None:
    os.mkdir(world.state, 0o700)
    path = f"{world.state}/supervisor.log"

    def write(text: str) -> None:
        with open(path, "a", encoding="ascii") as file:
            file.write(text)

    write("begin\nhal")
    with world.start("supervisor", "logs", "-f", "-n", "5", bufsize=0) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"begin\n"
        write("f\n")
        assert reader.stdout.readline() == b"half\n"
        for number in range(3):
            write(f"before {number}\n")
            os.rename(path, f"{path}.1")
            write(f"after {number}\n")
            assert reader.stdout.readline() == b"before %d\n" % number
            assert reader.stdout.readline() == b"after %d\n" % number
        reader.send_signal(signal.SIGINT)
        assert reader.wait(60) in (130, -signal.SIGINT)


@pytest.mark.parametrize("writers", [4])
def test_writers_that_go_on_while_it_rolls_lose_no_line(world: World, writers: int) -> None:
    from orchctl.pair.daemon_io import roll_log

    os.mkdir(world.state, 0o700)
    count = 700  # all lines together are more than two files and less than three
    argv = [sys.executable, "-c", WRITER, world.state]
    running = [subprocess.Popen([*argv, str(number), str(count)]) for number in range(writers)]
    end = time.monotonic() + 300
    while any(one.poll() is None for one in running):
        roll_log(world.state)
        assert time.monotonic() < end
    assert [one.wait() for one in running] == [0] * writers
    assert os.path.exists(f"{world.state}/supervisor.log.1")
    lines = world.ok("supervisor", "logs", "-n", "all", timeout=300).splitlines()
    for number in range(writers):
        own = [int(found[1]) for line in lines if (found := re.search(rf"writer {number} line (\d+) ", line))]
        assert sorted(own) == list(range(count))


def test_a_running_supervisor_rolls_it_and_everybody_writes_on(world: World) -> None:
    world.supervisor()
    session = world.ok("spawn", "--", "sleep", "1000")
    _fill(world)
    until(lambda: os.path.exists(f"{world.state}/supervisor.log.1"))
    assert os.path.getsize(f"{world.state}/supervisor.log.1") > LIMIT_BYTES
    world.ok("config", "set", "idle_exit", "1m")  # the supervisor says that it has seen this
    until(lambda: "config.toml has changed" in _read(f"{world.state}/supervisor.log"))
    pid = world.json("supervisor", "status")["pid"]
    os.kill(pid, signal.SIGKILL)  # and the zygote says that
    until(lambda: "the supervisor has died" in _read(f"{world.state}/supervisor.log"))
    assert [one["id"] for one in world.json("list")] == [session]
    assert "the supervisor has died" not in _read(f"{world.state}/supervisor.log.1")


def test_status_says_how_long_it_has_been_up(world: World) -> None:
    world.supervisor()
    assert re.search(r"running +pid \d+, zygote \d+, for \d+s\n", world.ok("supervisor", "status"))


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
