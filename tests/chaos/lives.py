"""What lives in a slot: one session after another is begun, used, and judged when it is over.

A life is an actor of its own thread with its own client. It knows what its program has to write and how it has to end;
whatever differs is a finding.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from orchctl import Client
from orchctl.errors import TimedOut
from orchctl.session.model import Session
from orchctl.session.stream import Chunk
from tests.chaos import oracle, processes
from tests.chaos.oracle import ANSWER_S, End
from tests.chaos.program import pieces
from tests.chaos.schedule import may_be_lost
from tests.chaos.stage import Excused, Stage, program

END_S = 240.0  # a life that is not over so long after its beginning is a finding
EXCUSED_S = 0.3  # before the next life: what excused the error lasts a moment


class Life(ABC):
    """One session from its spawn to its end."""

    kind: ClassVar[str]

    def __init__(self, stage: Stage, client: Client, slot: int, number: int, seed: int) -> None:
        self.stage = stage
        self.client = client
        self.slot = slot
        self.dice = random.Random(f"{seed} {slot} {number}")
        self.file = stage.folder(f"{slot}-{number}")
        self.session = ""

    def live(self) -> None:
        """All of it."""
        try:
            self.run()
        except Excused:
            self.stage.count("excused")
            self.put_an_end()
            time.sleep(EXCUSED_S)
        finally:
            self.stage.targets.pop(self.slot, None)
            if self.lost:  # nobody was left who could end its program
                for pid in processes.of_session(self.session):
                    os.kill(pid, signal.SIGKILL)

    @abstractmethod
    def run(self) -> None:
        """Spawn, use, and judge."""

    def spawn(self, command: Sequence[str], **options: Any) -> None:
        """Begin; from now on faults may strike it."""
        name = f"s{self.slot}-{os.path.basename(self.file)}"
        found = self.stage.ask("", "spawn", lambda: self.client.spawn(command, name=name, **options))
        self.session = found.id
        self.stage.targets[self.slot] = found.id

    def wait(self) -> Session:
        """Until it has ended by itself."""
        until = time.monotonic() + END_S
        while (ended := self.stage.ask(self.session, "wait", self._wait_a_while)) is None:
            if time.monotonic() > until:
                self.find(f"it has not ended {END_S:.0f} s later: {self.client.info(self.session)}")
                raise Excused("never ended")
        return ended

    def _wait_a_while(self) -> Session | None:
        with contextlib.suppress(TimedOut):
            return self.client.wait(self.session, timeout_s=ANSWER_S / 2)
        return None

    def judge_end(self, ended: Session, *due: End) -> None:
        """How it ended."""
        told = End(ended.end_reason.value if ended.end_reason is not None else None, ended.exit_code)
        self.find(*oracle.end(self.session, told, due, list(self.stage.landed)))

    def kill(self) -> None:
        """Whatever is left must go, and nobody may be named who does not live."""
        report = self.stage.ask(self.session, "kill", lambda: self.client.kill(self.session, grace_s=1.0))
        if self.lost:  # meanwhile: nobody was left to ask
            return
        left = processes.of_session(self.session)
        unseen = [pid for pid in report.survivors if pid not in left and not processes.lives(pid)]
        if unseen:
            self.find(f"kill named {unseen}, and they do not live")
        if left:
            words = [f"{pid} {processes.stat(pid)[:2]}" for pid in left]
            self.find(f"kill answered {report}, and these live: {words}")

    def put_an_end(self) -> None:
        """A life that was cut short by an excused error leaves nothing behind."""
        until = time.monotonic() + ANSWER_S
        while self.session and time.monotonic() < until:  # what excused the error may last
            with contextlib.suppress(Excused):
                self.stage.ask(self.session, "kill", lambda: self.client.kill(self.session, grace_s=1.0))
                return
            time.sleep(1.0)

    def find(self, *complaints: str) -> None:
        """Write them down."""
        self.stage.find(self.session, self.kind, *complaints)

    def log(self) -> bytes:
        """The session's output as it is on disk, by `cat out/*.seg`."""
        return self.stage.world.log(self.session)

    @property
    def lost(self) -> bool:
        """Whether both processes of its pair were struck at once."""
        return may_be_lost(self.session, list(self.stage.landed))


class Pour(Life):
    """Bytes at a steady pace, and followers of them."""

    kind = "pour"
    pty = True

    def run(self) -> None:
        """All bytes, the code, and what followers got."""
        total, rate, seed = self.dice.randint(100_000, 900_000), 100_000, self.dice.randrange(1 << 30)
        code = self.dice.randrange(100)
        words = program("pour", self.file, str(total), str(seed), str(rate), str(code))
        self.spawn(words, pty=self.pty)
        began_at = time.monotonic()
        follower = _Follower(self)
        process = self._follow_apart() if self.dice.random() < 0.4 else None
        ended = self.wait()
        self.judge_end(ended, End("exited", code))
        wrote = b"".join(pieces(total, seed))
        with open(self.file, "rb") as file:
            noted = file.read()
        whole = not self.lost
        if whole and noted != b"%020d %d" % (total, code):
            self.find(f"the program says {noted!r}, and was to write {total} bytes and exit {code}")
        at_least = 0 if self.lost else int(noted[:20])
        self.find(*oracle.stream(self.log(), wrote, whole=whole, at_least=at_least))
        follower.thread.join(ANSWER_S)
        if follower.thread.is_alive():
            self.find("a follower does not end")
        elif follower.trouble and not follower.excused:
            self.find(f"a follower broke: {follower.trouble}")
        elif not follower.excused:
            self.find(*(f"follower: {one}" for one in oracle.stream(bytes(follower.got), self.log(), whole=True)))
        if process is not None:
            self._judge_apart(process, wrote, began_at)

    def _follow_apart(self) -> subprocess.Popen[bytes]:
        """A process of its own, which may be killed."""
        with open(f"{self.file}.followed", "wb") as file:
            words = ("tail", "-f", "-n", "all", "--raw", self.session)
            process = self.stage.world.start(*words, stdout=file, stderr=subprocess.DEVNULL)
        self.stage.clients[self.slot] = process
        return process

    def _judge_apart(self, process: subprocess.Popen[bytes], wrote: bytes, since: float) -> None:
        try:
            code = process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self.find("a following process does not end")
            process.kill()
            code = process.wait()
        self.stage.clients.pop(self.slot, None)
        with open(f"{self.file}.followed", "rb") as file:
            got = file.read()
        if code not in (0, -9) and not self.stage.excuses(self.session, "", "follow", since):
            self.find(f"a following process ended with {code}")
        whole = code == 0 and not self.lost
        self.find(*(f"following process: {one}" for one in oracle.stream(got, wrote, whole=whole)))


class Piped(Pour):
    """The same on pipes."""

    kind = "pipe"
    pty = False


class _Follower:
    """A thread that reads all of a session's output as it comes."""

    def __init__(self, life: Life) -> None:
        self.got = bytearray()
        self.trouble = ""
        self.excused = False  # by a fault that struck then
        self._began_at = time.monotonic()
        self._life = life
        self.thread = threading.Thread(target=self._follow, name=f"follower {life.session}", daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        try:
            with self._life.stage.connect() as client:
                for piece in client.output(self._life.session, offset=0, follow=True):
                    if not isinstance(piece, Chunk) or piece.offset != len(self.got):
                        self.trouble = f"{type(piece).__name__} where byte {len(self.got)} was due"
                        return
                    self.got += piece.data
        except Exception as error:  # noqa: BLE001
            code = getattr(error, "code", "")
            self.excused = self._life.stage.excuses(self._life.session, code, "follow", self._began_at)
            self.trouble = f"{type(error).__name__} {code} {error}"


class Tree(Life):
    """Processes that try to get away; then all of it is killed."""

    kind = "tree"

    def run(self) -> None:
        """What the program wrote down must be gone after `kill`."""
        self.spawn(program("tree", self.file))
        time.sleep(self.dice.uniform(1.0, 6.0))  # so that faults strike while it lives
        if self.lost:
            self.put_an_end()
            return
        self.kill()
        self.judge_end(self.wait(), End("killed"))
