"""The streams of events: one for each directory that has a session. One that ends is begun again.

What was said in between is read. Meanwhile nothing is taken from the stream: the server keeps it, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

from orchctl.agents.opencode import records
from orchctl.agents.opencode.http import NoAnswer
from orchctl.agents.opencode.link import Line

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 2.0
_CONNECTED, _HEARTBEAT = "server.connected", "server.heartbeat"


class Streams:
    """By directory."""

    def __init__(self, line: Line, tasks: asyncio.TaskGroup) -> None:
        self._line = line
        self._tasks = tasks
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._connected: dict[str, asyncio.Event] = {}

    def listen(self, directory: str) -> None:
        """From now on."""
        if directory not in self._listening:
            self._connected[directory] = asyncio.Event()
            self._listening[directory] = self._tasks.create_task(self._listen(directory))

    async def connected(self, directory: str) -> None:
        """Until what happens there is heard."""
        self.listen(directory)
        await self._connected[directory].wait()

    def leave(self, directory: str) -> None:
        """Nobody is there any more."""
        task = self._listening.pop(directory, None)
        if task is not None:
            task.cancel()

    async def _listen(self, directory: str) -> None:
        patience = self._line.door.patience
        failures, silences, wait_s = 0, 0, _FIRST_WAIT_S
        while failures < patience.tries and silences < patience.silences:
            why = "the stream of events ended"
            try:
                if await self._hear(directory):
                    failures, silences, wait_s = 0, 0, _FIRST_WAIT_S  # it worked, until it ended
            except NoAnswer as error:
                why = str(error)
                failures, silences = failures + 1, silences + error.hangs
            self._connected[directory].clear()
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        self._line.host.broken(why)

    async def _hear(self, directory: str) -> bool:
        """One connection, to its end; whether it was one."""
        greeted = False
        async with aclosing(self._line.door.events(directory)) as payloads:
            async for payload in payloads:
                kind = _kind(payload)
                if not greeted:
                    if kind != _CONNECTED:
                        raise NoAnswer("the stream of events does not begin like one")
                    greeted = True
                    self._line.note(records.CONNECTED, directory=directory)
                    for session in self._line.translator.sessions_in(directory):
                        await self._line.read(session)
                    self._connected[directory].set()
                elif kind != _HEARTBEAT:
                    self._line.keep(payload)
        if not greeted:
            raise NoAnswer("the stream of events is empty")
        return greeted


def _kind(payload: bytes) -> str | None:
    if len(payload) > 1000:
        return None  # neither of those that are looked for
    try:
        value = json.loads(payload)
    except ValueError:
        return None
    return value.get("type") if isinstance(value, dict) else None
