"""What a client can ask about agents: what they want to know, the replies, and which harnesses there are."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from orchctl.protocol import messages
from orchctl.session.agent import HarnessStatus, Pending

T = TypeVar("T", bound=messages.Answer)


class Agents(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    def _nothing_there(self) -> bool: ...

    @abstractmethod
    def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    def pending(self, *sessions: str) -> Sequence[Pending]:
        """What agents wait for a human to say, oldest first: in these sessions, or in all."""
        if not sessions and self._nothing_there():
            return []
        asked = messages.GetPending(sessions=sessions, own_manager=self._own_manager)
        return self._ask(asked, messages.SomePending).pending

    def approve(self, session: str, *, request: str | None = None, always: bool = False) -> Pending:
        """Let an agent do what it asks for; `always`: and the like of it from now on, where its harness knows that."""
        return self._reply(session, "approve", request, always=always)

    def deny(self, session: str, *, request: str | None = None) -> Pending:
        """Do not let it."""
        return self._reply(session, "deny", request)

    def answer(self, session: str, text: str, *, request: str | None = None) -> Pending:
        """Answer a question, with one of its choices or with any text where that is an answer."""
        return self._reply(session, "answer", request, text=text)

    def harnesses(self) -> Sequence[HarnessStatus]:
        """Which there are, whether they are installed, and what runs."""
        asked = messages.ListHarnesses(path=os.environ.get("PATH", os.defpath))
        return self._ask(asked, messages.SomeHarnesses).harnesses

    def _reply(
        self, session: str, action: str, request: str | None, *, always: bool = False, text: str | None = None
    ) -> Pending:
        asked = messages.ReplyTo(
            session=session,
            own_manager=self._own_manager,
            action=action,
            request=request,
            always=always,
            text=text,
        )
        (replied,) = self._ask(asked, messages.SomePending).pending
        return replied
