"""What a client can ask about what was written: the lines that match, the screen, a recording.

Workers do it, processes that read the logs; the supervisor is only asked which sessions are meant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchctl.errors import Conflict
from orchctl.paths import Root
from orchctl.session.model import Selection, Session

if TYPE_CHECKING:
    from orchctl.client.output import OutputStream
    from orchctl.client.recording import Form
    from orchctl.client.searching import SearchStream
    from orchctl.session.search import Painting, Screen, Size
    from orchctl.session.stream import Gap


class Looking(ABC):
    """A part of `Client`."""

    root: Root

    @abstractmethod
    def select(self, selection: Selection, *, ended_too: bool = False, usage: bool = False) -> Sequence[Session]: ...

    @abstractmethod
    def output(self, session: str, *, times: bool = False, commands: bool = False) -> OutputStream: ...

    @abstractmethod
    def info(self, session: str, *, env: bool = False) -> Session: ...

    def search(
        self,
        pattern: str,
        selection: Selection | None = None,
        *,
        fixed: bool = False,
        ignore_case: bool = False,
        before: int | None = None,
        after: int | None = None,
        since: float | None = None,
        count: bool = False,
        limit: int | None = None,
        numbers: bool = True,
        spans: bool = True,
    ) -> SearchStream:
        """The lines that match in all that is kept, of the sessions chosen or of all, also of ended ones.

        It is done by a process of its own, which reads the logs: the supervisor is only asked who is meant.
        """
        from orchctl.client.searching import SearchStream
        from orchctl.search.pattern import compiled
        from orchctl.session.search import Search

        asked = Search(
            pattern=pattern,
            fixed=fixed,
            ignore_case=ignore_case,
            before=before,
            after=after,
            since=since,
            count=count,
            limit=limit,
            numbers=numbers,
            spans=spans,
        )
        compiled(asked)  # what is wrong with it is said before anything is started
        chosen = Selection(everything=True) if selection is None else selection
        return SearchStream(asked, self.select(chosen, ended_too=True), self.root.sessions)

    def screen(self, session: str) -> Screen:
        """What a session's terminal shows now; of an ended one, what it showed last."""
        from orchctl.client.workers import answer
        from orchctl.plain import from_plain
        from orchctl.session.search import Screen

        found = self.info(session)
        if found.backend != "pty":
            raise Conflict(f"session {found.name or found.id} has no terminal", code="no-terminal")
        told = from_plain(Screen, answer("screen", {"sessions_dir": self.root.sessions, "session": found.id}))
        return replace(told, name=found.name)

    def _painting(self, session: Session) -> Painting:
        """How another terminal is made to show what this session's shows now."""
        from orchctl.client.workers import answer
        from orchctl.plain import from_plain
        from orchctl.session.search import Painting

        asked = {"sessions_dir": self.root.sessions, "session": session.id, "paint": True}
        return from_plain(Painting, answer("screen", asked))

    def sizes(self, session: str) -> Sequence[Size]:
        """The sizes that a session's terminal has had, and from which byte of its output on."""
        from orchctl.client.workers import answer
        from orchctl.plain import from_plain
        from orchctl.session.search import Size

        found = self.info(session)
        if found.backend != "pty":
            return []
        told = answer("sizes", {"sessions_dir": self.root.sessions, "session": found.id})
        return [from_plain(Size, one) for one in told]

    def export(self, session: str, form: Form, *, on_gap: Callable[[Gap], object] | None = None) -> Iterator[bytes]:
        """What a session has written, in one of the forms of `client.recording`."""
        from orchctl.client.recording import record, shows_commands

        stream = self.output(session, times=True, commands=shows_commands(form))
        return record(stream, self.sizes(session), form, on_gap)
