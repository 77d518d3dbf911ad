"""What all tasks of one server share: the way to it, what is known, and the way into the raw log."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from orchctl.agents.interface import Host
from orchctl.agents.opencode import records
from orchctl.agents.opencode.conversation import Conversation
from orchctl.agents.opencode.http import Door, NoAnswer, understood
from orchctl.agents.opencode.records import before
from orchctl.agents.opencode.translate import Translator
from orchctl.agents.opencode.turn import Turn

_PAGE = 50  # messages; a turn seldom has more
_PAGES = 40  # a turn of two thousand messages is read from its end


async def read(door: Door, translator: Translator, session: str, *, last: bool = False) -> bytes | None:
    """All about the open turn of a session; None when it has none any more."""
    conversation, directory = translator.conversation(session), translator.directory(session)
    if conversation is None or directory is None or conversation.turn is None:
        return None
    since = conversation.turn.message
    # first of all, because what is idle now has said all that it will
    status = (await door.ask("GET", "/session/status", directory=directory)).value or {}
    permissions = (await door.ask("GET", "/permission", directory=directory)).value or []
    questions = (await door.ask("GET", "/question", directory=directory)).value or []
    children = await _children(door, conversation.native, directory)
    family = {conversation.native, *children}
    messages: list[Any] = []
    for native in (conversation.native, *children):
        messages += await _messages(door, native, directory, since)
    return records.line(
        records.READ,
        session=session,
        status=status.get(conversation.native),
        messages=messages,
        permissions=[one for one in permissions if one.get("sessionID") in family],
        questions=[one for one in questions if one.get("sessionID") in family],
        children=children,
        last=last,
    )


async def _children(door: Door, native: str, directory: str) -> dict[str, str]:
    """Sub-agents of it, and theirs, each with the conversation that began it."""
    found: dict[str, str] = {}
    waiting = [native]
    while waiting:
        parent = waiting.pop()
        answer = await door.ask("GET", f"/session/{parent}/children", directory=directory)
        for one in answer.value if answer.ok and isinstance(answer.value, list) else ():
            if one["id"] not in found:
                found[one["id"]] = parent
                waiting.append(one["id"])
    return found


async def _messages(door: Door, native: str, directory: str, since: str) -> list[Any]:
    """Those of the open turn, oldest first."""
    found: list[Any] = []
    more: dict[str, str] = {}
    for _ in range(_PAGES):
        path = f"/session/{native}/message"
        answer = await door.ask("GET", path, None, directory=directory, limit=str(_PAGE), **more)
        page = answer.value if answer.ok and isinstance(answer.value, list) else []
        found = [*page, *found]
        if not page or answer.next is None or before(str(page[0]["info"]["id"]), since):
            break
        more = {"before": answer.next}
    return [one for one in found if not before(str(one["info"]["id"]), since)]


class Line:
    """One server, from our side."""

    def __init__(self, host: Host, door: Door, translator: Translator) -> None:
        self.host = host
        self.door = door
        self.translator = translator
        self._changed = asyncio.Event()
        self._looking: set[str] = set()

    def keep(self, payload: bytes) -> None:
        """Log it, and hear it."""
        self.host.keep_raw(payload)

    def note(self, kind: str, **fields: object) -> None:
        """A record of ours."""
        self.keep(records.line(kind, **fields))

    def changed(self) -> None:
        """Something was heard."""
        self._changed.set()
        self._changed = asyncio.Event()

    def conversation(self, session: str) -> Conversation | None:
        """Of our session."""
        return self.translator.conversation(session)

    def turn(self, session: str) -> Turn | None:
        """The open one."""
        conversation = self.conversation(session)
        return conversation.turn if conversation is not None else None

    async def until(self, holds: Callable[[], bool], limit_s: float) -> bool:
        """Wait for something that is heard, but not for longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not holds():
                    await self._changed.wait()
        return holds()

    async def read(self, session: str, *, last: bool = False) -> None:
        """Close a gap."""
        with understood():
            found = await read(self.door, self.translator, session, last=last)
        if found is not None:
            self.keep(found)

    def uneasy(self) -> list[str]:
        """Sessions whose turn should have ended, to be looked after; each is named once until that is done."""
        found = []
        for session in self.translator.sessions():
            conversation = self.conversation(session)
            if conversation is not None and conversation.uneasy and session not in self._looking:
                found.append(session)
        self._looking.update(found)
        return found

    async def look_after(self, session: str) -> None:
        """What became of a turn whose end was announced: mostly it comes, else it is read."""
        try:
            turn, patience = self.turn(session), self.door.patience
            for look in range(1, patience.looks + 1):
                if await self.until(
                    lambda: self.turn(session) is not turn or not self._uneasy(session), patience.look_again_s
                ):
                    return
                await self.read(session, last=look == patience.looks)
        finally:
            self._looking.discard(session)

    def _uneasy(self, session: str) -> bool:
        conversation = self.conversation(session)
        return conversation is not None and conversation.uneasy


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
