"""Output and events as they come: cursors that survive the supervisor.

A reading knows where it stands and what the next word of the supervisor means. Its flow is the one loop that all
streams share: connect, ask from where it stands, hear, give pieces; after a lost connection, again. The streams are
readings that somebody can iterate, in a blocking way here, awaited in `aio/`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from orchctl.client.call import Call, Flow, Give, Pieces, blocked, do, iterated
from orchctl.client.caller import Caller, Connect, Link, Patience
from orchctl.client.connection import ConnectionLost
from orchctl.errors import BadInput, NoSuchSession, PeerBroke, ProtocolMismatch
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import (
    AckOutput,
    ReadEvents,
    ReadOutput,
    SomeEvents,
    StreamBegins,
    StreamCommand,
    StreamEnds,
    StreamGap,
    StreamSnapshot,
    StreamTime,
)
from orchctl.session.model import Session
from orchctl.session.search import Screen
from orchctl.session.stream import Chunk, Cursor, Gap
from orchctl.terminal.views import TextView

if TYPE_CHECKING:
    from orchctl.protocol.messages import Answer
    from orchctl.shell.typed_lines import TypedLines

T = TypeVar("T")
Event = dict[str, Any]
WINDOW_BYTES = 1 << 20  # a match longer than this is not found


class Reading(Generic[T]):
    """What all streams share: a connection while somebody iterates, and another when that is lost."""

    def __init__(self, connect: Connect | None = None, *, timeout_s: float | None = None) -> None:
        self._connect = connect
        self._timeout_s = timeout_s
        self._over = False
        self._closed = False
        self._number = 0  # of the request that is answered
        self._link: Link | None = None
        self._opened: Link | None = None  # before the iteration, which takes it over

    def _stop(self) -> None:
        """No more pieces, also for whoever waits for the next one."""
        self._closed = True
        if self._link is not None:
            self._link.hang_up()

    def _flow(self) -> Flow[T]:
        """Every piece once and in order, to the end."""
        self._over = False
        expires_at = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        link, self._opened = self._opened, None  # this iteration's own: an earlier one may be finished only later
        patience = Patience()
        try:
            while not self._over and not self._closed:
                try:
                    if link is None:
                        link = yield from self._open(expires_at)
                    item = yield from do(link.next, self._number, expires_at=expires_at)
                except ConnectionLost as error:
                    link = _closed(link)
                    if not self._closed:
                        yield from patience.spend(error, expires_at)
                    continue
                for piece in self._pieces(item):
                    patience = Patience()
                    yield Give(piece)
                if acked := self._ack():
                    with contextlib.suppress(ConnectionLost):  # reading on finds that out too, and sees to it
                        yield from do(link.begin, acked, expires_at=expires_at)
            for piece in self._held_back():
                yield Give(piece)
        finally:
            if link is not None:
                self._let_go(link)

    def _open(self, expires_at: float | None) -> Call[Link]:
        """A connection on which the answers are, from where we stand."""
        assert self._connect is not None
        link: Link = yield from do(self._connect, expires_at=expires_at)
        try:
            self._link = link
            link.expires_at = expires_at
            yield from self._begin_on(link, expires_at)
        except BaseException:
            link.close()
            raise
        return link

    # what differs

    def _begin_on(self, link: Link, expires_at: float | None) -> Call[None]:
        raise NotImplementedError

    def _pieces(self, item: Answer | Data) -> Iterator[T]:
        raise NotImplementedError

    def _ack(self) -> AckOutput | None:
        return None

    def _held_back(self) -> Iterator[T]:
        return iter(())

    def _let_go(self, link: Link) -> None:
        link.close()


def _closed(link: Link | None) -> Link | None:
    if link is not None:
        link.close()
    return None


class OutputReading(Reading[Chunk | Gap]):
    """Where a reader of output stands, and what the next word from the supervisor means; touches no socket."""

    def __init__(
        self,
        asked: ReadOutput,
        connect: Connect | None = None,
        *,
        timeout_s: float | None = None,
        only: int | None = None,
    ) -> None:
        super().__init__(connect, timeout_s=timeout_s)
        self._only = only  # the stream that is wanted: 1 stdout, 2 stderr
        self._asked = asked
        self._cursor: Cursor | None = None
        self._unacked_bytes = 0
        self._screen: Screen | None = None
        self.session: Session | None = None
        self.stream_of_next = 0  # 1 stdout, 2 stderr, if times were asked for
        self.time_of_next: float | None = None  # when the next piece came, if times were asked for
        self.lines: TypedLines | None = None  # that were typed for commands, if those were asked for

    @classmethod
    def _of(cls, client: Caller, log: tuple[ReadOutput, int | None]) -> Self:
        return cls(log[0], client._lend_where_some, only=log[1])

    def shown(self, chunk: Chunk) -> bytes:
        """The bytes of a piece for a view: with the text of commands where lines of ours were typed."""
        return chunk.data if self.lines is None else b"".join(part.data for part in self.lines.feed(chunk))

    def rest(self) -> bytes:
        """What `shown` holds back, when nothing follows or something is missing."""
        return b"" if self.lines is None else b"".join(part.data for part in self.lines.end())

    def program(self, exec_id: str | None) -> str:
        """The name of the program that runs as a command, or that the session itself runs; nothing if unknown."""
        from orchctl.shell.typed_lines import program_of

        if exec_id is not None:
            return program_of(self.lines.text_of(exec_id)) if self.lines is not None else ""
        alone = self.session is not None and self.session.shell is None
        return program_of(self.session.command[0]) if alone and self.session is not None else ""

    def _know(self, command: StreamCommand) -> None:
        from orchctl.shell.typed_lines import Typed, TypedLines  # most readers are told of none

        self.lines = self.lines or TypedLines()
        self.lines.know(Typed(command.exec_id, command.offset, command.line, command.text, command.until))

    def _request(self) -> ReadOutput:
        if self._cursor is None or self.session is None:
            return self._asked
        return dataclasses.replace(
            self._asked,
            session=self.session.id,
            offset=self._cursor.offset,
            lines=None,
            since_input=False,
            since_own_input=False,
            since_unix_s=None,
            snapshot=False,
        )

    def _hear(self, item: Answer | Data) -> Chunk | Gap | None:
        """The piece in it, if there is one."""
        if isinstance(item, StreamBegins):
            self._begin(item)
        elif isinstance(item, StreamEnds):
            self.session, self._over = item.session, True
        elif self._cursor is None:
            raise PeerBroke("output came before the stream began", code="bad-stream")
        elif isinstance(item, Data):
            chunk = self._cursor.take(item.chunk)
            self._unacked_bytes += len(chunk.data)
            return chunk if self._only in (None, self.stream_of_next) else None
        elif isinstance(item, StreamTime):
            self.time_of_next, self.stream_of_next = item.unix_s, item.stream
        elif isinstance(item, StreamSnapshot):
            self._screen = item.screen
        elif isinstance(item, StreamCommand):
            self._know(item)
        elif isinstance(item, StreamGap):
            return self._cursor.skip(Gap(item.first, item.end))
        else:
            raise PeerBroke(f"{item.kind!r} came in the middle of output", code="bad-stream")
        return None

    def _ack(self) -> AckOutput | None:
        credit = self._asked.credit_bytes
        if credit is None or self._unacked_bytes < max(1, credit // 2):
            return None
        taken, self._unacked_bytes = self._unacked_bytes, 0
        return AckOutput(stream=self._number, count_bytes=taken)

    def _pieces(self, item: Answer | Data) -> Iterator[Chunk | Gap]:
        piece = self._hear(item)
        if piece is not None:
            yield piece

    def _begin_on(self, link: Link, expires_at: float | None) -> Call[None]:
        self._check(link.hello.features)
        self._number = yield from do(link.begin, self._request(), expires_at=expires_at)

    def _shown_first(self) -> Call[Screen]:
        """The snapshot that stands before the first piece."""
        if not self._asked.snapshot:
            raise BadInput("the stream was not asked for with a snapshot")
        expires_at = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        patience, link = Patience(), self._opened
        try:
            while self._screen is None and not self._closed:
                try:
                    if link is None:
                        link = self._opened = yield from self._open(expires_at)
                    self._hear((yield from do(link.next, self._number, expires_at=expires_at)))
                except ConnectionLost as error:
                    link = self._opened = _closed(link)
                    if not self._closed:
                        yield from patience.spend(error, expires_at)
        finally:
            if self._screen is None:
                self._opened = _closed(link)
        if self._screen is None:
            raise ConnectionLost("the stream was closed")
        return self._screen

    def _check(self, features: Sequence[str]) -> None:
        """Refuse a supervisor that would overlook what is asked for."""
        asked = self._request()
        wanted = {"snapshot": asked.snapshot, "credit": asked.credit_bytes is not None}
        for feature, needed in wanted.items():
            if needed and feature not in features:
                raise ProtocolMismatch(f"this supervisor cannot send output with a {feature}")

    def _begin(self, begins: StreamBegins) -> None:
        self.session = begins.session
        self._unacked_bytes = 0
        if self._cursor is None:
            self._cursor = Cursor(begins.offset)
        elif begins.offset != self._cursor.offset:
            raise PeerBroke(f"the stream began at {begins.offset}, not at {self._cursor.offset}", code="bad-stream")


class OutputStream(OutputReading):
    """Iterate for chunks and gaps, each byte once and in order; `session` is as of the newest word."""

    def __iter__(self) -> Iterator[Chunk | Gap]:
        self._closed = False  # one that was closed goes on where it stood
        return iterated(self._flow())

    def screen(self) -> Screen:
        """What the terminal shows where the stream begins, if a snapshot was asked for; iterate for what follows."""
        return blocked(self._shown_first())

    def close(self) -> None:
        """Stop; the session does not notice."""
        self._stop()


class EventReading(Reading[Event]):
    """Which event is next; touches no socket."""

    def __init__(self, asked: ReadEvents, connect: Connect | None = None) -> None:
        super().__init__(connect)
        self._asked = asked
        self._places = dict(asked.places)  # how far the output of each session was read

    @classmethod
    def _of(cls, client: Caller, request: ReadEvents) -> Self:
        return cls(request, client._connect)

    def _begin_on(self, link: Link, expires_at: float | None) -> Call[None]:
        self._number = yield from do(link.begin, self._asked, expires_at=expires_at)

    def _pieces(self, item: Answer | Data) -> Iterator[Event]:
        """The events in it; each counts as read once the next is asked for."""
        if not isinstance(item, SomeEvents):
            what = "output" if isinstance(item, Data) else repr(item.kind)
            raise PeerBroke(f"{what} came in the middle of events", code="bad-stream")
        for text in item.events:
            event: Event = json.loads(text)
            yield event
            self._read_event(event)
        self._go_on(item.next_seq)
        self._over = not item.more

    def _read_event(self, event: Event) -> None:
        if "seq" in event:
            self._go_on(event["seq"] + 1)
            if event["type"] == "session.state" and event["state"] == "closed":
                self._places.pop(event["session"], None)
        elif event.get("session") is not None:  # output, or a range of it that is gone
            self._places[event["session"]] = event["end"]

    def _go_on(self, seq: int) -> None:
        self._asked = dataclasses.replace(
            self._asked, since_seq=seq, since_unix_s=None, lines=None, places=dict(self._places)
        )


class EventStream(EventReading):
    """Iterate for events, each once and in order."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._closed = False
        return iterated(self._flow())

    def close(self) -> None:
        """Stop."""
        self._stop()


class PatternSearch:
    """A regular expression looked for in text that comes in pieces; in a window, so that memory is bounded."""

    def __init__(self, pattern: str) -> None:
        from orchctl.session.wait import compile_pattern

        self._wanted = compile_pattern(pattern)
        self._view, self._text = TextView(), b""

    def feed(self, data: bytes) -> re.Match[bytes] | None:
        """The first match, once it is there."""
        self._text = (self._text + self._view.feed(data))[-WINDOW_BYTES:]
        return self._wanted.search(self._text)

    def end(self) -> re.Match[bytes]:
        """Nothing more comes: the match, or that there is none."""
        found = self._wanted.search(self._text + self._view.end())
        if found is None:
            raise NoSuchSession("the session ended, and the pattern never matched", code="session-ended")
        return found


def search(stream: OutputReading, pattern: str) -> Call[re.Match[bytes]]:
    """The first match in the text of a stream."""
    from orchctl.shell.typed_lines import TypedLines

    wanted = PatternSearch(pattern)
    stream.lines = TypedLines(silent=True)
    with contextlib.closing(stream._flow()) as flow:
        pieces = Pieces(flow)
        while (piece := (yield from pieces.next())) is not None:
            if isinstance(piece, Chunk) and (found := wanted.feed(stream.shown(piece))):
                return found
    return wanted.end()
