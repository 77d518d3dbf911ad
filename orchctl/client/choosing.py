"""What a client can ask about which sessions there are: one, several, or all that have something in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

from orchctl.paths import repo_of
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session

T = TypeVar("T", bound=messages.Answer)
P = TypeVar("P", messages.SomeSessions, messages.SomeCommands)


class Choosing(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    def _nothing_there(self) -> bool: ...

    @abstractmethod
    def _expect_some(self, *sessions: str) -> None: ...

    @abstractmethod
    def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    @abstractmethod
    def _pages(self, request: messages.Request, kind: type[P]) -> Sequence[P]: ...

    def list(
        self,
        *,
        managed_by: str | None = None,
        ended_too: bool = False,
        usage: bool = False,
        waiting: bool = False,
    ) -> list[Session]:
        """The live sessions, oldest first; those under `managed_by` only; ended ones too if asked.

        With `usage`, what each of them uses: `cpu`, `memory`, `io` and `processes`. With `waiting`, whether each of
        them waits for input.
        """
        if self._nothing_there():
            return []
        asked = messages.ListSessions(managed_by=managed_by, ended_too=ended_too, usage=usage, waiting=waiting)
        return [one for page in self._pages(asked, messages.SomeSessions) for one in page.sessions]

    def select(
        self, selection: Selection, *, ended_too: bool = False, usage: bool = False, waiting: bool = False
    ) -> Sequence[Session]:
        """The sessions that are meant, oldest first; one that is named and unknown is an error."""
        self._expect_some(*selection.sessions)
        if self._nothing_there():
            return []
        asked = messages.SelectSessions(
            selection=selection, ended_too=ended_too, own_manager=self._own_manager, usage=usage, waiting=waiting
        )
        return [one for page in self._pages(asked, messages.SomeSessions) for one in page.sessions]

    def info(self, session: str, *, env: bool = False) -> Session:
        """One session in full, live or ended; with what its program was started with, if asked."""
        asked = messages.GetSession(session=session, own_manager=self._own_manager, env=env)
        return self._ask(asked, messages.OneSession).session

    def rename(self, session: str, name: str | None) -> Session:
        """Another name for a live session, or none."""
        asked = messages.RenameSession(session=session, name=name, own_manager=self._own_manager)
        return self._ask(asked, messages.OneSession).session

    def label(self, session: str, labels: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()) -> Session:
        """Set and remove labels of a live session."""
        asked = messages.LabelSession(
            session=session, labels=dict(labels or {}), remove=tuple(remove), own_manager=self._own_manager
        )
        return self._ask(asked, messages.OneSession).session


def selection_of(
    words: Sequence[str],
    *,
    managers: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    repo: str | None = None,
    everything: bool = False,
) -> Selection:
    """What words of a command line mean: `@MANAGER` is a manager, `@last` and everything else a session."""
    below = [word[1:] for word in words if word.startswith("@") and word != "@last"]
    return Selection(
        sessions=tuple(word for word in words if not word.startswith("@") or word == "@last"),
        managers=(*managers, *below),
        labels=dict(labels or {}),
        repo=None if repo is None else repo_of(os.path.realpath(repo)) or os.path.realpath(repo),
        everything=everything,
    )
