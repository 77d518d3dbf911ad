"""The awaitable twin of `orchctl/client/choosing.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from orchctl.client.choosing import P, T
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session


class AsyncChoosing(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    async def _nothing_there(self) -> bool: ...

    @abstractmethod
    async def _expect_some(self, *sessions: str) -> None: ...

    @abstractmethod
    async def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    @abstractmethod
    async def _pages(self, request: messages.Request, kind: type[P]) -> Sequence[P]: ...

    async def list(
        self, *, managed_by: str | None = None, ended_too: bool = False, usage: bool = False, waiting: bool = False
    ) -> list[Session]:
        """The live sessions, oldest first; those under `managed_by` only; ended ones too if asked.

        With `usage`, what each of them uses: `cpu`, `memory`, `io` and `processes`. With `waiting`, whether each of
        them waits for input.
        """
        if await self._nothing_there():
            return []
        asked = messages.ListSessions(managed_by=managed_by, ended_too=ended_too, usage=usage, waiting=waiting)
        return [one for page in await self._pages(asked, messages.SomeSessions) for one in page.sessions]

    async def select(
        self, selection: Selection, *, ended_too: bool = False, usage: bool = False, waiting: bool = False
    ) -> Sequence[Session]:
        """The sessions that are meant, oldest first; one that is named and unknown is an error."""
        await self._expect_some(*selection.sessions)
        if await self._nothing_there():
            return []
        asked = messages.SelectSessions(
            selection=selection, ended_too=ended_too, own_manager=self._own_manager, usage=usage, waiting=waiting
        )
        return [one for page in await self._pages(asked, messages.SomeSessions) for one in page.sessions]

    async def info(self, session: str, *, env: bool = False) -> Session:
        """One session in full, live or ended; with what its program was started with, if asked."""
        asked = messages.GetSession(session=session, own_manager=self._own_manager, env=env)
        return (await self._ask(asked, messages.OneSession)).session

    async def rename(self, session: str, name: str | None) -> Session:
        """Another name for a live session, or none."""
        asked = messages.RenameSession(session=session, name=name, own_manager=self._own_manager)
        return (await self._ask(asked, messages.OneSession)).session

    async def label(
        self, session: str, labels: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()
    ) -> Session:
        """Set and remove labels of a live session."""
        asked = messages.LabelSession(
            session=session, labels=dict(labels or {}), remove=tuple(remove), own_manager=self._own_manager
        )
        return (await self._ask(asked, messages.OneSession)).session
