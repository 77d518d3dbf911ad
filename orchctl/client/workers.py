"""A worker process: slow or native work on what is kept, beside the supervisor and never in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from orchctl.errors import Internal, from_wire

READ_BYTES = 1 << 18


def command_line(action: str) -> list[str]:
    """How it is started; -P, so that nothing in the current directory can take a module's place."""
    return [sys.executable, "-P", "-W", "ignore", "-m", "orchctl.workers", action]


class Worker:
    """Its stdout in pieces. It is ended with us: by `close`, and by the kernel when we are killed."""

    def __init__(self, action: str, asked: Mapping[str, Any]) -> None:
        import subprocess

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
