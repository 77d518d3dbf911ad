"""One opencode server: checked before it is trusted, asked in one lane for each session, heard by its streams."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping

from orchctl.agents.interface import Host, Opening, Prompt, Reply
from orchctl.agents.opencode.http import Door, NoAnswer, Patience, understood
from orchctl.agents.opencode.link import Line, Streams
from orchctl.agents.opencode.session import Asking, Rooms
from orchctl.agents.opencode.translate import Translator

log = logging.getLogger(__name__)
PORT, PASSWORD = "port", "password"  # in the notes of a launch
LISTENING = b"listening on http"
_LOOK_S = 0.05
_CLOSED_TO_STRANGERS = ("/global/health", "/session")
_Job = Callable[[Asking], Awaitable[None]]


class OpencodeServer:
    """Nothing here waits: what is asked is put in a session's lane, and done while `attend` runs."""

    def __init__(self, host: Host, notes: Mapping[str, str], patience: Patience | None = None) -> None:
        self._host = host
        self._patience = patience or Patience()
        self._notes = notes
        self._translator = Translator()
        self._models: dict[str, str | None] = {}
        self._lanes: dict[str, asyncio.Queue[_Job]] = {}
        self._wanted: asyncio.Queue[str] = asyncio.Queue()  # lanes that nobody works on yet
        self._line: Line | None = None
        self._watching: Callable[[], None] | None = None

    @property
    def owes(self) -> bool:
        """Never to the host: requests and streams have limits of their own, and the first ones take long."""
        return False

    def begin(self) -> None:
        """`attend` says hello, to a server that was taken over as well."""

    def know(self, opening: Opening) -> None:
        self._models[opening.session] = opening.model
        directory = opening.native.get("directory", opening.cwd)
        self._translator.know(opening.session, opening.native.get("id", ""), directory)

    def open(self, opening: Opening) -> None:
        self._put(opening.session, lambda asking: asking.open(opening))

    def send(self, session: str, prompt: Prompt) -> None:
        self._put(session, lambda asking: asking.send(prompt))

    def reply(self, session: str, request: str, reply: Reply) -> None:
        self._put(session, lambda asking: asking.reply(request, reply))

    def interrupt(self, session: str) -> None:
        self._put(session, Asking.interrupt)

    def close(self, session: str) -> None:
        self._put(session, Asking.close)

    def hear(self, line: bytes) -> None:
        for session, events in self._translator.hear(line):
            self._host.emit(session, *events)
        if self._line is not None:
            self._line.changed()
        if self._watching is not None:
            self._watching()

    async def attend(self) -> None:
        try:
            async with Door(int(self._notes[PORT]), self._notes[PASSWORD], self._patience) as door:
                version = await self._hello(door)
                self._line = Line(self._host, door, self._translator)
                async with asyncio.TaskGroup() as tasks:
                    await self._work(self._line, tasks, version)
        except* Exception as errors:  # without its I/O the server is of no use, whatever it was
            first = _first(errors)
            if not isinstance(first, NoAnswer):
                log.error("speaking with opencode failed", exc_info=first)
            self._host.broken(f"the agent's server is of no use: {first}")
        finally:
            self._line = self._watching = None

    async def _hello(self, door: Door) -> str | None:
        """It listens, it is ours, and it lets nobody else in."""
        await self._listens(door)
        for path in _CLOSED_TO_STRANGERS:
            status = await door.status_without_password(path)
            if status != 401:
                raise NoAnswer(f"it lets in whoever has no password (status {status} for {path})")
        health = await door.ask("GET", "/global/health")
        if not health.ok or not isinstance(health.value, dict):
            raise NoAnswer(f"it is not healthy ({health.said})")
        return str(health.value["version"]) if "version" in health.value else None

    async def _listens(self, door: Door) -> None:
        """Until it says so. Who answers there as it never does is another program, and it ends without saying why."""
        while LISTENING not in self._host.stdout():
            if await door.is_a_strangers(_CLOSED_TO_STRANGERS[0]):
                raise NoAnswer(f"another program has taken its port, {self._notes[PORT]}; the next try takes another")
            await asyncio.sleep(_LOOK_S)

    async def _work(self, line: Line, tasks: asyncio.TaskGroup, version: str | None) -> None:
        streams, rooms = Streams(line, tasks), Rooms()
        self._watching = functools.partial(_look_after_all, line, tasks)
        for session in self._translator.sessions():
            streams.listen(self._translator.directory(session) or "")
            with understood():
                await Asking(session, line, streams, rooms).settle()
        self._host.ready(version)
        while True:
            session = await self._wanted.get()
            asking = Asking(session, line, streams, rooms)
            asking.model = self._models.get(session)
            tasks.create_task(self._do(asking, self._lanes[session]))

    def _put(self, session: str, job: _Job) -> None:
        if session not in self._lanes:
            self._lanes[session] = asyncio.Queue()
            self._wanted.put_nowait(session)
        self._lanes[session].put_nowait(job)

    @staticmethod
    async def _do(asking: Asking, lane: asyncio.Queue[_Job]) -> None:
        while True:
            job = await lane.get()
            with understood():
                await job(asking)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _look_after_all(line: Line, tasks: asyncio.TaskGroup) -> None:
    for session in line.uneasy():
        tasks.create_task(line.look_after(session))
