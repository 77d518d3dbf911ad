"""Output as an iterator: a cursor that survives the supervisor."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.errors import BadInput, NoSuchSession, PeerBroke, ProtocolMismatch
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import (
    AckOutput,
    Answer,
    ReadOutput,
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
    from orchctl.shell.typed_lines import TypedLines

WINDOW_BYTES = 1 << 20  # a match longer than this is not found


class OutputReading:
    """Where a reader of output stands, and what the next word from the supervisor means; touches no socket."""

    def __init__(self, asked: ReadOutput, *, only: int | None = None) -> None:
        self._only = only  # the stream that is wanted: 1 stdout, 2 stderr
        self._asked = asked
        self._cursor: Cursor | None = None
        self._over = False
        self._unacked_bytes = 0
        self._screen: Screen | None = None
        self.session: Session | None = None
        self.stream_of_next = 0  # 1 stdout, 2 stderr, if times were asked for
        self.time_of_next: float | None = None  # when the next piece came, if times were asked for
        self.lines: TypedLines | None = None  # that were typed for commands, if those were asked for

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

    def _ack(self, number: int) -> AckOutput | None:
        """What is to be said about what was taken of stream `number`, once it is worth a message."""
        credit = self._asked.credit_bytes
        if credit is None or self._unacked_bytes < max(1, credit // 2):
            return None
        taken, self._unacked_bytes = self._unacked_bytes, 0
        return AckOutput(stream=number, count_bytes=taken)

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

    def __init__(
        self,
        asked: ReadOutput,
        connect: Callable[[], Connection],
        *,
        timeout_s: float | None = None,
        only: int | None = None,
    ) -> None:
        super().__init__(asked, only=only)
        self._expires_at = None if timeout_s is None else time.monotonic() + timeout_s
        self._connect = connect
        self._connection: Connection | None = None
        self._number = 0

    def __iter__(self) -> Iterator[Chunk | Gap]:
        patience = Patience()
        while True:
            try:
                for piece in self._read():
                    patience = Patience()
                    yield piece
                return
            except ConnectionLost as error:
                patience.spend(error)
            finally:
                self.close()

    def screen(self) -> Screen:
        """What the terminal shows where the stream begins, if a snapshot was asked for; iterate for what follows."""
        if not self._asked.snapshot:
            raise BadInput("the stream was not asked for with a snapshot")
        patience = Patience()
        while self._screen is None:
            try:
                self._hear(self._open().next(self._number))
            except ConnectionLost as error:
                self.close()
                patience.spend(error)
            except BaseException:
                self.close()
                raise
        return self._screen

    def close(self) -> None:
        """Stop; the session does not notice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> Connection:
        """The connection on which the stream is, from where we stand."""
        if self._connection is None:
            self._over = False
            self._connection = self._connect()
            self._connection.expires_at = self._expires_at
            self._check(self._connection.hello.features)
            self._number = self._connection.begin(self._request())
        return self._connection

    def _read(self) -> Iterator[Chunk | Gap]:
        """To the end, as long as the connection holds."""
        connection = self._open()
        while not self._over:
            piece = self._hear(connection.next(self._number))
            if piece is not None:
                yield piece
            if acked := self._ack(self._number):
                connection.begin(acked)


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


def search(stream: OutputStream, pattern: str) -> re.Match[bytes]:
    """The first match in the text of a stream."""
    from orchctl.shell.typed_lines import TypedLines

    wanted = PatternSearch(pattern)
    stream.lines = TypedLines(silent=True)
    for piece in stream:
        if isinstance(piece, Chunk) and (found := wanted.feed(stream.shown(piece))):
            stream.close()
            return found
    return wanted.end()


def write_all(fd: int, data: bytes) -> None:
    """Every byte of `data` to `fd`, now."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
