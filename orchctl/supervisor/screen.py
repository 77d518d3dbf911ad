"""What a terminal shows, for a stream that begins with it. A worker process plays the log: emulators are native code.

The worker ends with us, because its stdin does, and with whoever waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process

from orchctl.errors import Internal, LimitReached, TimedOut, from_wire
from orchctl.plain import from_plain
from orchctl.protocol.frames import REQUEST_LIMIT_BYTES
from orchctl.session.search import Screen

AT_ONCE = 2  # each is a whole processor's work for up to seconds
LIMIT_S = 60.0  # a ring of 64 MiB takes one or two
LIMIT_BYTES = REQUEST_LIMIT_BYTES  # it goes into one message


class Screening:
    """So many workers at a time; the others wait their turn."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)

    async def screen(self, sessions_dir: str, session: str) -> Screen:
        """What a session's terminal shows now, and the offset up to which that is true."""
        async with self._room:
            try:
                async with asyncio.timeout(LIMIT_S):
                    said = await _ask({"sessions_dir": sessions_dir, "session": session})
            except TimeoutError:
                raise TimedOut(f"the screen of session {session} took more than {LIMIT_S:.0f} s") from None
        if len(said) > LIMIT_BYTES:
            raise LimitReached(f"the screen takes more than {LIMIT_BYTES} bytes in a message", code="too-large")
        told = json.loads(said)
        if "error" in told:
            raise from_wire(told["error"], told["code"], told["message"])
        return from_plain(Screen, told)


async def _ask(asked: dict[str, str]) -> bytes:
    """The worker's answer; of one that is too long, a byte more than may be."""
    words = [sys.executable, "-P", "-W", "ignore", "-m", "orchctl.workers", "screen"]
    worker = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        with contextlib.suppress(ConnectionError):  # it has ended already, and says why
            worker.stdin.write(json.dumps(asked).encode("ascii") + b"\n")
            await worker.stdin.drain()
        said = b""
        while len(said) <= LIMIT_BYTES and (data := await worker.stdout.read(1 << 16)):
            said += data
        if len(said) <= LIMIT_BYTES and await worker.wait():
            trouble = (await worker.stderr.read(1 << 16)).decode(errors="replace").strip().rpartition("\n")[2]
            raise Internal(f"the worker for the screen ended with {worker.returncode}: {trouble}", code="worker-failed")
        return said
    finally:
        await _end(worker)


async def _end(worker: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if worker.returncode is None:
            worker.kill()
    if worker.stdin is not None:
        worker.stdin.close()
    await asyncio.shield(worker.wait())
