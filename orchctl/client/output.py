"""Output as an iterator: a cursor that survives the supervisor."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.client.views import TextView
from orchctl.core.stream import Cursor
from orchctl.errors import BadInput, NoSuchSession, PeerBroke
from orchctl.model.session import Session
from orchctl.model.stream import Chunk, Gap
from orchctl.protocol.framing import Data
from orchctl.protocol.messages import ReadOutput, StreamBegins, StreamEnds, StreamGap, StreamTime

WINDOW_BYTES = 1 << 20  # a match longer than this is not found


class OutputStream:
    """Iterate for chunks and gaps, each byte once and in order; `session` is as of the newest word."""

    def __init__(
        self,
        asked: ReadOutput,
        connect: Callable[[], Connection],
        *,
        timeout_s: float | None = None,
        only: int | None = None,
    ) -> None:
        self._only = only  # the stream that is wanted: 1 stdout, 2 stderr
        self._expires_at = None if timeout_s is None else time.monotonic() + timeout_s
        self._asked = asked
        self._connect = connect
        self._connection: Connection | None = None
        self._cursor: Cursor | None = None
        self.session: Session | None = None
        self.stream_of_next = 0  # 1 stdout, 2 stderr, if times were asked for
        self.time_of_next: float | None = None  # when the next piece came, if times were asked for

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

    def close(self) -> None:
        """Stop; the session does not notice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self) -> Iterator[Chunk | Gap]:
        """From where we stand to the end, as long as the connection holds."""
        self._connection = self._connect()
        self._connection.expires_at = self._expires_at
        number = self._connection.begin(self._request())
        while True:
            item = self._connection.next(number)
            if isinstance(item, StreamBegins):
                self._begin(item)
            elif isinstance(item, StreamEnds):
                self.session = item.session
                return
            elif self._cursor is None:
                raise PeerBroke("output came before the stream began", code="bad-stream")
            elif isinstance(item, Data):
                chunk = self._cursor.take(item.chunk)
                if self._only in (None, self.stream_of_next):
                    yield chunk
            elif isinstance(item, StreamTime):
                self.time_of_next, self.stream_of_next = item.unix_s, item.stream
            elif isinstance(item, StreamGap):
                yield self._cursor.skip(Gap(item.first, item.end))
            else:
                raise PeerBroke(f"{item.kind!r} came in the middle of output", code="bad-stream")

    def _request(self) -> ReadOutput:
        if self._cursor is None or self.session is None:
            return self._asked
        return dataclasses.replace(
            self._asked,
            session=self.session.id,
            offset=self._cursor.offset,
            lines=None,
            since_input=False,
            since_unix_s=None,
        )

    def _begin(self, begins: StreamBegins) -> None:
        self.session = begins.session
        if self._cursor is None:
            self._cursor = Cursor(begins.offset)
        elif begins.offset != self._cursor.offset:
            raise PeerBroke(f"the stream began at {begins.offset}, not at {self._cursor.offset}", code="bad-stream")


def search(stream: OutputStream, pattern: str) -> re.Match[bytes]:
    """The first match in the text of a stream; in a window, so that memory is bounded."""
    try:
        wanted = re.compile(os.fsencode(pattern), re.MULTILINE)
    except re.error as error:
        raise BadInput(f"{pattern!r} is not a regular expression: {error}", code="bad-pattern") from None
    view, text = TextView(), b""
    for piece in stream:
        if isinstance(piece, Chunk):
            text = (text + view.feed(piece.data))[-WINDOW_BYTES:]
            if found := wanted.search(text):
                stream.close()
                return found
    if found := wanted.search(text + view.end()):
        return found
    raise NoSuchSession("the session ended, and the pattern never matched", code="session-ended")


def write_all(fd: int, data: bytes) -> None:
    """Every byte of `data` to `fd`, now."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
