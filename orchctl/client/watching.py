"""Several conditions for several sessions, waited for at once.

The supervisor is asked about those that it knows of; output is read and searched here, because a regular
expression may take any time it likes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from orchctl.client.call import Call, Flow, Give, Pieces
from orchctl.client.caller import Connect
from orchctl.client.several import Many, Reader
from orchctl.client.streams import WINDOW_BYTES, OutputReading
from orchctl.errors import BadInput, NoSuchSession, OrchctlError, TimedOut
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Fired, OneSession, ReadOutput, WaitFor, WaitSession
from orchctl.session import wait
from orchctl.session.model import Expected, Happened, Session
from orchctl.session.stream import Chunk
from orchctl.terminal.views import RawView, TextView, View
from orchctl.units import count

if TYPE_CHECKING:
    from orchctl.client.several import Item
    from orchctl.protocol.messages import Answer

_OUTPUT = "/output"  # after a session's id: the key of its output's reader


class Search:
    """Patterns in a growing text, in a window, so that memory is bounded."""

    def __init__(self, conditions: Sequence[str], *, terminal: bool) -> None:
        self._patterns = [(one, wait.compile_pattern(one.removeprefix(wait.OUTPUT))) for one in conditions]
        self._view: View = TextView() if terminal else RawView()
        self._text = b""

    def feed(self, data: bytes) -> tuple[str, bytes] | None:
        """The condition whose match comes first in the text, and the match."""
        return self._find(self._view.feed(data))

    def gap(self) -> None:
        """What is on both sides of a gap is not one text."""
        self._text = b""

    def end(self) -> tuple[str, bytes] | None:
        """The same, when nothing follows."""
        return self._find(self._view.end())

    def _find(self, fresh: bytes) -> tuple[str, bytes] | None:
        self._text = (self._text + fresh)[-WINDOW_BYTES:]
        found = [
            (match.start(), one, match[0]) for one, pattern in self._patterns if (match := pattern.search(self._text))
        ]
        return min(found, key=lambda each: each[0])[1:] if found else None


class Watching:
    """Of sessions; each is told once, with the first condition that holds for it."""

    def __init__(
        self,
        connect: Connect,
        sessions: Sequence[Session],
        conditions: Sequence[str],
        asked: ReadOutput,
        *,
        quiet_s: float,
        look: Callable[[str], Call[Session]],
    ) -> None:
        wait.check(conditions)
        outputs = [one for one in conditions if one.startswith(wait.OUTPUT)]
        self._many = Many(connect)
        self._look = look
        self._asked = asked
        self._quiet_s = quiet_s
        self._known = tuple(one for one in conditions if one not in outputs)
        self._sessions = {session.id: session for session in sessions}
        self._readers = {one.id: Reader(one, asked) for one in sessions if outputs}
        for reader in self._readers.values():
            from orchctl.shell.typed_lines import TypedLines  # only conditions on output need it

            reader.lines = TypedLines(silent=True)
        self._searches = {one.id: Search(outputs, terminal=one.backend == "pty") for one in sessions if outputs}

    def run(self, *, first_only: bool, timeout_s: float | None) -> Flow[Happened]:
        """Each as it comes to hold; those that end before are an error, with `first_only` once all have."""
        expires_at = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            yield from self._begin()
            while len(self._many):
                found = yield from self._many.next(
                    None if expires_at is None else max(0.001, expires_at - time.monotonic())
                )
                if found is None:
                    raise TimedOut("it did not happen in the time given")
                happened = yield from self._hear(*found, alone=not first_only)
                if happened is not None:
                    yield Give(happened)
                if happened is not None and first_only:
                    return
            if first_only:
                raise NoSuchSession("all of them ended before that", code="session-ended")
        finally:
            self._many.close()

    def _begin(self) -> Call[None]:
        for session in self._sessions:
            if session in self._readers:
                yield from self._many.begin(session + _OUTPUT, self._readers[session].request)
            if self._known:
                yield from self._many.begin(session, self._question(session))

    def _question(self, session: str) -> Callable[[], WaitFor]:
        return lambda: WaitFor(
            session=session, conditions=self._known, own_manager=self._asked.own_manager, quiet_s=self._quiet_s
        )

    def _hear(self, key: str, item: Item, *, alone: bool) -> Call[Happened | None]:
        session = key.removesuffix(_OUTPUT)
        try:
            if isinstance(item, OrchctlError):
                raise item
            if isinstance(item, Fired):
                found = Happened(condition=item.condition, session=item.session)
            elif (match := self._read(session, item)) is not None:
                now = yield from self._look(session)
                found = Happened(condition=match[0], session=now, match=match[1])
            else:
                return None
        except NoSuchSession:
            self._many.done(key)
            if alone and session not in self._many and session + _OUTPUT not in self._many:
                raise
            return None
        self._many.done(session)
        self._many.done(session + _OUTPUT)
        return found

    def _read(self, session: str, item: Answer | Data) -> tuple[str, bytes] | None:
        reader, search = self._readers[session], self._searches[session]
        ended, piece = reader.take(item)
        if ended:
            found = search.feed(reader.rest()) or search.end()
            if found is None:
                name = reader.session.name or session
                raise NoSuchSession(f"the session {name} ended, and the pattern never matched", code="session-ended")
            return found
        if isinstance(piece, Chunk):
            return search.feed(reader.shown(piece))
        if piece is not None:
            search.gap()
        return None


def closings(
    connect: Connect, requests: dict[str, Callable[[], WaitSession]], timeout_s: float | None
) -> Flow[Session]:
    """Each session as it closes, in the order in which they do."""
    expires_at = None if timeout_s is None else time.monotonic() + timeout_s
    many = Many(connect)
    try:
        for session, request in requests.items():
            yield from many.begin(session, request)
        while len(many):
            found = yield from many.next(None if expires_at is None else max(0.0, expires_at - time.monotonic()))
            if found is None:
                raise TimedOut(f"{count(len(many), 'session')} did not end in the time given")
            key, item = found
            if isinstance(item, OrchctlError):
                raise item
            many.done(key)
            assert isinstance(item, OneSession)
            yield Give(item.session)
    finally:
        many.close()


class Expecting:
    """Text as it comes, kept up to a window, until a pattern is in it."""

    def __init__(self, patterns: Sequence[str | bytes]) -> None:
        if not patterns:
            raise BadInput("there is no pattern to expect", code="no-pattern")
        from pexpect.expect import searcher_re  # only whoever expects something needs it

        self._searcher = searcher_re([wait.compile_pattern(_text(one)) for one in patterns])
        self._text = b""
        self._dropped = 0

    def feed(self, fresh: bytes) -> Expected | None:
        """The first match, if there is one by now."""
        self._text += fresh
        index = self._searcher.search(self._text, len(fresh))
        if index >= 0:
            match = self._searcher.match
            return Expected(
                index=index,
                match=match[0],
                before=self._text[: match.start()],
                groups=match.groups(),
                dropped_bytes=self._dropped,
            )
        self._dropped += max(0, len(self._text) - WINDOW_BYTES)
        self._text = self._text[-WINDOW_BYTES:]
        return None


def expect(stream: OutputReading, patterns: Sequence[str | bytes]) -> Call[Expected]:
    """The first match in the text of a stream; an error when the session ends without one."""
    from orchctl.shell.typed_lines import TypedLines

    expecting = Expecting(patterns)
    stream.lines = TypedLines(silent=True)  # a line of ours is nothing that a program wrote
    view: View | None = None
    with contextlib.closing(stream._flow()) as flow:
        pieces = Pieces(flow)
        while (piece := (yield from pieces.next())) is not None:
            if view is None:
                view = TextView() if stream.session is None or stream.session.backend == "pty" else RawView()
            if isinstance(piece, Chunk) and (found := expecting.feed(view.feed(stream.shown(piece)))) is not None:
                return found
        if view is not None and (found := expecting.feed(view.feed(stream.rest()) + view.end())) is not None:
            return found
    raise NoSuchSession("the session ended, and none of the patterns came", code="session-ended")


def _text(pattern: str | bytes) -> str:
    return pattern.decode("utf-8", "surrogateescape") if isinstance(pattern, bytes) else pattern
