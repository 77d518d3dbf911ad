"""What all tasks of one server share: the way to it, what is known, and the way into the raw log."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from orchctl.agents.interface import Host
from orchctl.agents.opencode import reading, records
from orchctl.agents.opencode.conversation import Conversation
from orchctl.agents.opencode.http import Door, understood
from orchctl.agents.opencode.translate import Translator
from orchctl.agents.opencode.turn import Turn


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
            found = await reading.read(self.door, self.translator, session, last=last)
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
