"""What is under way while another version is installed: sessions of every kind, and commands that wait for their ends.

All of it is started by the version that is installed first. What must come of it is known from elsewhere: the program
that pours its lines writes the same lines to a file of its own, and the others do what the test lets them do.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tests.agents.kits import HERE, scripted
from tests.agents.stage import pair_of
from tests.attached import BEGIN, DETACH, Person
from tests.upgrade.installation import UpgradedWorld
from tests.upgrade.readings import numbered
from tests.world import DEADLINE_S, _read, until

_POUR = """
import os, sys, time
copy, number = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600), 0
while not os.path.exists(sys.argv[2]):
    line = b"%08d and so on\\n" % number
    os.write(copy, line)
    os.write(1, line)
    number += 1
    time.sleep(0.02)
sys.exit(7)
"""
_CRASH = 'while read -r word; do [ "$word" != crash ] || exit 9; echo "$word"; done'
_LIVE = ("work", "busy", "pour", "held", "desk")
_LINES = 3000


class Work:
    """Everything under way in one world."""

    def __init__(self, world: UpgradedWorld) -> None:
        self.world = world
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._person: Person | None = None
        self._lease = ""
        self._processes: dict[str, tuple[int, ...]] = {}
        self.zygote = 0
        self._head = ""

    def begin(self) -> None:
        """Have it all under way."""
        self._configure()
        self._start_sessions()
        self._start_commands()
        self._processes = self.processes()
        begun = self.status()
        self.zygote, self._head = int(begun["zygote"]), str(begun["chain_head"])

    def status(self) -> dict[str, Any]:
        """How the supervisor stands."""
        found: dict[str, Any] = self.world.json("supervisor", "status")
        return found

    def processes(self) -> dict[str, tuple[int, ...]]:
        """Keeper, mover and program of what lives from the first to the last; of an agent, its server's."""
        found = {one["name"]: one for one in self.world.json("list")}
        server = found["agent"]["agent"]["server"]
        pids = {name: (*pair_of(self.world, found[name]["id"]), found[name]["pid"]) for name in _LIVE}
        return {**pids, server: pair_of(self.world, server)}

    def _configure(self) -> None:
        with scripted(self.world) as kit:
            kit.prepare(self.world)
        argv = json.dumps([sys.executable, f"{HERE}/standins.py", "codex"])
        with open(f"{self.world.state}/config.toml", "a", encoding="utf-8") as file:
            file.write(f'[profiles.late]\nharness = "codex"\nargv = {argv}\n')

    def _start_sessions(self) -> None:
        spawn = ("spawn", "-q", "-l", "steady=yes", "--name")
        world = self.world
        colours = r"printf 'plain\n\033[31mred\033[0m\nthe end\n'; exit 3"
        world.run(*spawn, "ended", "--wait", "sh", "-c", colours)
        pour = (sys.executable, "-c", _POUR, world.file("poured"), world.file("enough"))
        world.ok(*spawn, "pour", "--no-pty", *pour)
        for name in ("work", "busy"):
            world.ok(*spawn, name, "bash")
        world.ok(*spawn, "held", "cat")
        world.ok(*spawn, "agent", "--profile", "it")
        world.ok("spawn", "-q", "--name", "desk", "cat")
        world.ok("spawn", "-q", "--name", "again", "--restart", "on-failure:5", "sh", "-c", _CRASH)
        world.ok("exec", "work", "x=5; mkdir -p there; cd there; pwd")
        assert world.run("exec", "work", "false").returncode == 1
        self._lease = world.ok("lease", "take", "--ttl", "1h", "held")

    def _start_commands(self) -> None:
        """Followers, and some that wait for an end that only we bring about."""
        waits = f'seq {_LINES}; until [ -e "{self.world.file("go")}" ]; do sleep 0.05; done; seq {_LINES}; (exit 42)'
        self._start("follow", "tail", "-f", "-n", "all", "--raw", "--exit-status", "pour")
        self._start("events", "events", "-f", "--since", "0")
        self._start("exec", "exec", "busy", waits)
        self._start("prompt", "exec", "agent", f"say hello\nask file\ngate {self.world.file('go')}\nsay done")
        self._start("wait", "wait", "pour")
        self._start("expect", "wait", "held", "--for", "output=typed at last")
        self._person = Person(self.world, shell=f"exec {self.world.installed.orchctl} attach desk")
        self._person.wait_for(BEGIN)
        self._person.type(b"first\r")
        self._person.wait_for(b"first\r\nfirst\r\n")
        until(lambda: self._wrote("exec").endswith(b"%d\n" % _LINES), "the command writes nothing")
        until(lambda: b"May I touch file" in self._wrote("prompt"), "the agent asks for nothing")
        until(lambda: self._wrote("follow") and self._wrote("events"), "the followers write nothing")
        waiting = [self._running[name].pid for name in ("wait", "expect")]
        until(lambda: all(map(_has_socket, waiting)), "those who wait have asked nobody")

    def _start(self, name: str, *words: str) -> None:
        with open(self.world.file(f"{name}.out"), "wb") as out, open(self.world.file(f"{name}.err"), "wb") as err:
            self._running[name] = self.world.start(*words, stdout=out, stderr=err)

    def _wrote(self, name: str) -> bytes:
        return _read(self.world.file(f"{name}.out"))

    def _ends(self, name: str, exit_code: int) -> None:
        """The command comes back, with that code and nothing to complain about."""
        ended = self._running[name].wait(DEADLINE_S)
        trouble = _read(self.world.file(f"{name}.err"))
        assert (ended, trouble) == (exit_code, b""), (name, ended, trouble, self._wrote(name)[-200:])

    def go_on(self, step: str) -> None:
        """What changes something goes on as well: commands, keys, starts; and all is the same processes."""
        world = self.world
        assert world.ok("exec", "work", "echo $x $PWD") == f"5 {world.file('there')}"
        assert world.run("send", "held", "no").returncode == 5
        world.ok("send", "--lease", self._lease, "held", step)
        world.ok("wait", "held", "--for", f"output={step}", "--timeout", "1m")
        run = world.json("info", "again")["run"]
        world.ok("send", "again", "crash")
        until(lambda: world.json("info", "again")["run"] == run + 1, "it was not started again")
        assert world.run("spawn", "-q", "--wait", "sh", "-c", "exit 4").returncode == 4
        assert {name: process.poll() for name, process in self._running.items()} == dict.fromkeys(self._running)
        assert self.processes() == self._processes

    def load_late(self) -> None:
        """What a supervisor loads only now, from what is installed by now: backends, and the worker for a screen."""
        assert {"acp", "claude", "codex", "opencode"} <= {one["harness"] for one in self.world.json("harness", "list")}
        self.world.ok("spawn", "-q", "--name", "late", "--profile", "late")
        with self.world.client() as client, contextlib.closing(client.output("desk", snapshot=True)) as stream:
            screen = stream.screen()
        assert screen.lines[:2] == ("first", "first")

    def finish(self) -> None:
        """Let everything come to its end."""
        world = self.world
        assert self._person is not None
        self._person.type(b"last\r")
        self._person.wait_for(b"last\r\nlast\r\n")
        self._person.type(DETACH)
        assert self._person.end() == 0
        world.ok("send", "--lease", self._lease, "held", "typed at last")
        self._ends("expect", 0)
        world.ok("approve", "agent")
        with open(world.file("go"), "wb"):
            pass
        self._ends("exec", 42)
        numbers = b"".join(b"%d\n" % number for number in range(1, _LINES + 1))
        assert self._wrote("exec") == numbers * 2
        self._ends("prompt", 0)
        transcript = world.run("tail", "-n", "all", "agent").stdout.splitlines(keepends=True)
        assert self._wrote("prompt") == b"".join(line for line in transcript if not line.startswith(b"> "))
        assert self._wrote("prompt").endswith(b"done\n")
        assert _read(world.file("file")) == b"touched\n"
        with open(world.file("enough"), "wb"):
            pass
        self._ends("follow", 7)
        self._ends("wait", 7)
        poured = _read(world.file("poured"))
        assert self._wrote("follow") == poured
        assert world.run("export", "--as", "raw", "pour").stdout == poured

    def end(self) -> None:
        """Every session ends, whichever version its keeper is of, and whoever follows the events has heard of all."""
        world = self.world
        assert world.json("info", "late")["state"] == "live"
        world.ok("kill", "--all")
        assert world.json("list") == []
        events = world.run("events", "--since", "0").stdout
        last = numbered(events)[-1]["seq"]
        until(lambda: b'{"seq": %d,' % last in self._wrote("events"), "the follower has not heard of the end")
        self._running["events"].send_signal(signal.SIGINT)
        self._running["events"].wait(DEADLINE_S)
        assert numbered(self._wrote("events")) == numbered(events)
        world.ok("audit", "--verify", "--head", self._head)
        world.ok("verify")
        world.ok("supervisor", "stop", "--kill")
        ours = {self.zygote, *(pid for pids in self._processes.values() for pid in pids)}
        until(lambda: not [pid for pid in ours if _lives(pid)], "processes are left")
        assert b"Traceback" not in _read(f"{world.state}/supervisor.log")

    def clean_up(self) -> None:
        """Whatever is still running, by pid."""
        for process in self._running.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        if self._person is not None:
            self._person.close()


@contextlib.contextmanager
def work_under_way(world: UpgradedWorld) -> Iterator[Work]:
    """Begun; and nothing of it stays."""
    work = Work(world)
    try:
        work.begin()
        yield work
    finally:
        work.clean_up()


def _lives(pid: int) -> bool:
    """And is not only waiting to be reaped."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] != b"Z"
    return False


def _has_socket(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return any(os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:") for fd in os.listdir(f"/proc/{pid}/fd"))
    return False
