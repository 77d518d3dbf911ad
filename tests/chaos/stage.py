"""What all lives of a run share: the state directory, what has struck so far, what was found, and the slots."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from orchctl import Client, OrchctlError
from orchctl.log import journal
from tests.chaos import oracle
from tests.chaos.oracle import Finding
from tests.chaos.schedule import Fault, Landed
from tests.clocks import Clocks
from tests.world import World

T = TypeVar("T")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")
SHOWN_RECORDS = 12  # of a session's journal, in a finding


def program(*words: str) -> list[str]:
    """The argument vector of one of `program.py`."""
    return [sys.executable, "-I", "-S", PROGRAM, *words]


class Excused(Exception):
    """A request failed, and because of the faults that struck it may."""


class Stage:
    """Used by many threads at once; lists only grow, and are replaced or appended to in one step."""

    def __init__(self, world: World, clocks: Clocks, seconds: float, say: Callable[[str], None]) -> None:
        self.world = world
        self.clocks = clocks
        self._say = say  # told each finding at once
        self.began_at = time.monotonic()
        self.seconds = seconds
        self.landed: list[Landed] = []
        self.findings: list[Finding] = []
        self.counts: Counter[str] = Counter()  # what was done, by word
        self.targets: dict[int, str] = {}  # slot → the session that lives there, once its spawn was answered
        self.servers: dict[int, str] = {}  # the same of an agent's server, which others may depend on
        self.serves: dict[str, str] = {}  # agent → its server
        self.slowest_s: dict[str, float] = {}  # by what was asked, without the time that it was held up
        self.clients: dict[int, subprocess.Popen[bytes]] = {}  # processes that may be killed, by slot
        self.waiting: dict[str, tuple[str, float]] = {}  # thread → what it waits for, and since when
        self.stopped = False  # the run was interrupted: nobody asks for anything any more
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether nothing new is to be begun."""
        return self.stopped or time.monotonic() > self.began_at + self.seconds

    def folder(self, name: str) -> str:
        """A place for a program's own file, which is none of ours."""
        os.makedirs(f"{self.world.folder}/files", exist_ok=True)
        return f"{self.world.folder}/files/{name}"

    def strike(self, fault: Fault, session: str = "", pids: Sequence[int] = (), *, lasts: bool = False) -> Landed:
        """Write down a fault just before it is done."""
        now = time.monotonic()
        landed = Landed(fault, now, session, tuple(pids), None if lasts else now)
        with self._lock:
            self.landed.append(landed)
        return landed

    def ended(self, landed: Landed) -> None:
        """A fault that lasted is over."""
        with self._lock:
            self.landed[self.landed.index(landed)] = replace(landed, ended_at=time.monotonic())

    def find(self, session: str, kind: str, *complaints: str) -> None:
        """Write down what must not be, with what is on disk about it."""
        for what in complaints:
            number = self.landed[-1].fault.number if self.landed else -1
            self.findings.append(Finding(session, kind, f"{what}\n{self._evidence(session)}", number))
            self._say(f"{time.monotonic() - self.began_at:7.2f} s  {self.findings[-1]}")

    def count(self, word: str) -> None:
        """One more was done."""
        with self._lock:
            self.counts[word] += 1

    def ask(self, session: str, what: str, job: Callable[[], T]) -> T:
        """Do a request; an error that no fault excuses, and a late answer, is a finding."""
        if self.stopped:
            raise Excused("stopped")
        began_at = time.monotonic()
        name = threading.current_thread().name
        self.waiting[name] = (f"{what} {session}", began_at)
        try:
            answer = job()
        except OrchctlError as error:
            if not self.excuses(session, error.code, what, began_at):
                took = f"after {time.monotonic() - began_at:.1f} s"
                self.find(session, what, f"failed {took}: {type(error).__name__} {error.code}: {error.message}")
            self.count(f"{what} {error.code}")
            raise Excused(error.code) from error
        finally:
            ended_at = time.monotonic()
            del self.waiting[name]
            held_s = oracle.held_s(session, what, began_at, ended_at, self._struck(session))
            self.slowest_s[what] = max(self.slowest_s.get(what, 0.0), ended_at - began_at - held_s)
            self.find(session, what, *oracle.late(what, ended_at - began_at, held_s))
        self.count(what)
        return answer

    def excuses(self, session: str, code: str, what: str, began_at: float) -> bool:
        """Whether something that was under way since then may fail now."""
        return oracle.is_excused(session, code, what, began_at, time.monotonic(), self._struck(session))

    def _struck(self, session: str) -> list[Landed]:
        """What has landed; what struck an agent's server has struck the agent."""
        server = self.serves.get(session)
        return [replace(one, session=session) if server and one.session == server else one for one in list(self.landed)]

    def connect(self) -> Client:
        """A client of one's own."""
        return Client(state_dir=self.world.state)

    def _evidence(self, session: str) -> str:
        """What a person needs in order to understand it, for all of this is removed with the run."""
        lines = []
        for one in [one for one in self._struck(session) if not session or one.session in ("", session)][-8:]:
            at_s = one.began_at - self.began_at
            lines.append(f"    {at_s:7.2f} s  step {one.fault.number} {one.fault.kind} {one.session[:8]} {one.pids}")
        with contextlib.suppress(OSError):
            records = journal.decode(self.world.journal(session)).records if session else []
            lines += [f"    run.jnl {record}" for record in records[-SHOWN_RECORDS:]]
        with contextlib.suppress(OSError), open(f"{self.world.state}/supervisor.log", errors="replace") as file:
            wanted = [line.rstrip() for line in file if (session and session in line) or "Traceback" in line]
            lines += [f"    supervisor.log {line}" for line in wanted[-SHOWN_RECORDS:]]
        return "\n".join(lines)
