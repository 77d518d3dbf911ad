"""A session's directory built by hand, as orchctl leaves it, and what `verify` finds in it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from orchctl.log import journal, time_index
from orchctl.log.check.verify import verify
from orchctl.log.disk import REAL
from orchctl.log.event_journal import EventStore
from orchctl.log.retention import EndedStore
from orchctl.log.session_files import Spec
from orchctl.log.time_index import Moment
from orchctl.plain import to_plain
from orchctl.session import layout
from orchctl.session.command import Command
from orchctl.session.model import Output, Session

ONE = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
SIZES = (4096, 4096, 100)
FIRST, MIDDLE, LAST = (layout.segment(start) for start in (0, 4096, 8192))


class Built:
    """One session; what is asked for is written at once, and more can be done to it."""

    def __init__(self, root: Path, session: str = ONE, *, name: str | None = None) -> None:
        self.root, self.session = root, session
        self.folder = root / "sessions" / session
        (self.folder / layout.OUTPUT).mkdir(parents=True)
        spec = Spec(id=session, name=name, command=("true",), cwd="/", cols=80, rows=24, created_at=1.0)
        self.path(layout.SPEC).write_text(json.dumps(to_plain(spec)), encoding="ascii")
        self.record(layout.JOURNAL, "started", pid=1, keeper=2, run=1, session=session)

    def path(self, name: str) -> Path:
        return self.folder / name

    def record(self, name: str, kind: str, **fields: Any) -> None:
        with self.path(name).open("ab") as file:
            file.write(journal.encode({"type": kind, "time": 2.0, **fields}))

    def write(self, *sizes: int, first: int = 0) -> int:
        """Segments, each with bytes of its own and with an index; where the log ends."""
        for number, size in enumerate(sizes):
            self.path(layout.segment(first)).write_bytes(bytes([number + self.session.encode()[0]]) * size)
            moments = [Moment(first, 5.0, 6.0), Moment(first + size - 1, 7.0, 8.0)] if size else []
            self.path(index(first)).write_bytes(b"".join(map(time_index.encode, moments)))
            first += size
        return first

    def seal(self, *starts: int) -> None:
        for start in starts:
            data = self.path(layout.segment(start)).read_bytes()
            digest = hashlib.blake2b(data, digest_size=16).hexdigest()
            self.record(layout.SEALS, "sealed", start=start, size=len(data), blake2b=digest)

    def run(self, text: str) -> None:
        """A command in its shell."""
        for kind in ("begin", "end"):
            command = to_plain(Command(session=self.session, id=text, number=1, text=text))
            self.record(layout.COMMANDS, kind, command=command)

    def end(self, offset: int, *, still_open: bool = False) -> None:
        """The exit, and the supervisor's last word."""
        self.record(layout.JOURNAL, "exit", status=0, offset=offset, open=still_open)
        last = sorted(self.path(layout.OUTPUT).glob("*.seg"))[-1]
        output = Output(next_offset=int(last.stem) + last.stat().st_size)
        EndedStore(str(self.root / "sessions")).put(Session(id=self.session, output=output))

    def tell(self) -> None:
        """Events that speak of all that its journals say."""
        told = [self.path(name).stat().st_size for name in (layout.JOURNAL, layout.COMMANDS)]
        events = EventStore(REAL, str(self.root / "events"))
        events.append([{"type": "exit", "session": self.session, "told": told}], 9.0)
        events.close()

    def flip(self, name: str, at: int, bit: int = 0) -> None:
        data = bytearray(self.path(name).read_bytes())
        data[at] ^= 1 << bit
        self.path(name).write_bytes(data)

    def cut(self, name: str, size: int) -> None:
        """To `size` bytes, or by so many if that is negative."""
        self.path(name).write_bytes(self.path(name).read_bytes()[:size])

    def found(self) -> list[tuple[str, str]]:
        """What is wrong with it, and where."""
        prefix = f"sessions/{self.session}/"
        return [(one.kind, one.path.removeprefix(prefix)) for one in verify(str(self.root), [self.session])]


def ended(root: Path, session: str = ONE) -> Built:
    """One that is over, with three sealed segments and a command."""
    built = Built(root, session)
    built.run("ls")
    built.end(built.write(*SIZES))
    built.seal(0, 4096, 8192)
    return built


def live(root: Path, *sizes: int) -> Built:
    """One that runs; nothing is sealed."""
    built = Built(root)
    built.write(*(sizes or SIZES))
    return built


def index(start: int) -> str:
    """The index of a segment, below the session's directory."""
    return f"{layout.OUTPUT}/{time_index.name(start)}"


def swap(first: Path, second: Path) -> None:
    """The contents of two files."""
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
