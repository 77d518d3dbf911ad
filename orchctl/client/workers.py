"""The processes that a client starts to read files: searches, screens and checks; and the lines that a search finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from orchctl.client.caller import Caller
from orchctl.errors import Internal, from_wire
from orchctl.plain import to_plain
from orchctl.search.lines import Decoder
from orchctl.session.model import Session
from orchctl.session.search import Count, Line, Search
from orchctl.session.stream import Gap

READ_BYTES = 1 << 18


def command_line(action: str) -> list[str]:
    """How it is started; -P, so that nothing in the current directory can take a module's place."""
    return [sys.executable, "-P", "-W", "ignore", "-m", "orchctl.workers", action]


class Worker:
    """Its stdout in pieces. It is ended with us: by `close`, and by the kernel when we are killed."""

    def __init__(self, action: str, asked: Mapping[str, Any]) -> None:
        self._action = action
        self._child = subprocess.Popen(
            command_line(action), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert self._child.stdin is not None
        line = memoryview(json.dumps(asked).encode("ascii") + b"\n")
        try:
            while line:
                line = line[self._child.stdin.write(line) :]
        except BrokenPipeError:
            pass  # it has ended already; what it said about that is read below
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

    def pieces(self) -> Iterator[bytes]:
        """What it writes, as it writes it; it must end well."""
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        while data := os.read(self._child.stdout.fileno(), READ_BYTES):
            yield data
        said = self._child.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        status = self._child.wait()
        if status:
            raise Internal(f"the worker for {self._action!r} ended with {status}: {said}", code="worker-failed")

    def close(self) -> None:
        """It is not needed any more."""
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()


def answer(action: str, asked: Mapping[str, Any]) -> Any:
    """The one JSON document that a worker gives; an error in it is raised."""
    with Worker(action, asked) as worker:
        told = json.loads(b"".join(worker.pieces()))
    if isinstance(told, dict) and "error" in told:
        raise from_wire(told["error"], told["code"], told["message"])
    return told


def ask_store(action: str, root: str, *words: str) -> Iterator[dict[str, Any]]:
    """Its lines as they come; -P, so that nothing in the current directory can take a module's place."""
    argv = [sys.executable, "-P", "-m", "orchctl.log.check", action, root, *words]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            for line in child.stdout:
                found: dict[str, Any] = json.loads(line)
                if "error" in found and "code" in found and "message" in found and len(found) == 3:
                    raise from_wire(found["error"], found["code"], found["message"])
                yield found
        except BaseException:  # Ctrl-C, or nobody listens any more
            child.kill()
            raise
        last = child.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
    if child.returncode:
        raise Internal(f"reading the store ended with {child.returncode}: {last}", code="store-failed")


Finding = Line | Count | Gap | str


class SearchReading:
    """What a worker is asked, and what its words mean; touches no process."""

    def __init__(self, asked: Search, sessions: Sequence[Session], sessions_dir: str) -> None:
        self.sessions = sessions
        self._decoder = Decoder()
        self._asked = {
            "search": to_plain(asked),
            "sessions_dir": sessions_dir,
            "sessions": [
                {"id": one.id, "backend": one.backend, "bytes": one.output.kept_bytes} for one in self.sessions
            ],
        }

    @classmethod
    def _of(cls, _: Caller, searched: tuple[Search, Sequence[Session], str]) -> Self:
        return cls(*searched)

    def _begin(self) -> None:
        self._decoder = Decoder()

    def _hear(self, data: bytes) -> list[tuple[Session, Finding]]:
        return [(self.sessions[number], one) for number, one in self._decoder.feed(data) if one is not None]

    def _check_end(self) -> None:
        if not self._decoder.ended:
            raise Internal("the search broke off before its end", code="worker-failed")


class SearchStream(SearchReading):
    """Iterate for sessions and what was found in them, as it is found; text is why a session could not be searched."""

    def __iter__(self) -> Iterator[tuple[Session, Finding]]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[tuple[Session, Finding]]]:
        """The same, each time all that has come by then."""
        if not self.sessions:
            return
        self._begin()
        with Worker("search", self._asked) as worker:
            for data in worker.pieces():
                if found := self._hear(data):
                    yield found
        self._check_end()
