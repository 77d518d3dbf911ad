"""The awaitable twin of `orchctl/client/agents.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence

from orchctl.client.agents import T
from orchctl.protocol import messages
from orchctl.session.agent import HarnessStatus, Pending


class AsyncAgents(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    async def _nothing_there(self) -> bool: ...

    @abstractmethod
    async def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    async def pending(self, *sessions: str) -> Sequence[Pending]:
        """What agents wait for a human to say, oldest first: in these sessions, or in all."""
        if not sessions and await self._nothing_there():
            return []
        asked = messages.GetPending(sessions=sessions, own_manager=self._own_manager)
        return (await self._ask(asked, messages.SomePending)).pending

    async def approve(self, session: str, *, request: str | None = None, always: bool = False) -> Pending:
        """Let an agent do what it asks for; `always`: and the like of it from now on, where its harness knows that."""
        return await self._reply(session, "approve", request, always=always)

    async def deny(self, session: str, *, request: str | None = None) -> Pending:
        """Do not let it."""
        return await self._reply(session, "deny", request)

    async def answer(self, session: str, text: str, *, request: str | None = None) -> Pending:
        """Answer a question, with one of its choices or with any text where that is an answer."""
        return await self._reply(session, "answer", request, text=text)

    async def harnesses(self) -> Sequence[HarnessStatus]:
        """Which there are, whether they are installed, and what runs."""
        asked = messages.ListHarnesses(path=os.environ.get("PATH", os.defpath))
        return (await self._ask(asked, messages.SomeHarnesses)).harnesses

    async def _reply(
        self, session: str, action: str, request: str | None, *, always: bool = False, text: str | None = None
    ) -> Pending:
        asked = messages.ReplyTo(
            session=session, own_manager=self._own_manager, action=action, request=request, always=always, text=text
        )
        (replied,) = (await self._ask(asked, messages.SomePending)).pending
        return replied
