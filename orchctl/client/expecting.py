"""Expecting: which of several patterns comes first in a session's output, by pexpect's own searcher."""

from __future__ import annotations

from collections.abc import Sequence

from pexpect.expect import searcher_re

from orchctl.client.output import WINDOW_BYTES, OutputStream
from orchctl.errors import BadInput, NoSuchSession
from orchctl.session.model import Expected
from orchctl.session.stream import Chunk
from orchctl.session.wait import compile_pattern
from orchctl.shell.typed_lines import TypedLines
from orchctl.terminal.views import RawView, TextView, View


class Expecting:
    """Text as it comes, kept up to a window, until a pattern is in it."""

    def __init__(self, patterns: Sequence[str | bytes]) -> None:
        if not patterns:
            raise BadInput("there is no pattern to expect", code="no-pattern")
        self._searcher = searcher_re([compile_pattern(_text(one)) for one in patterns])
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


def expect(stream: OutputStream, patterns: Sequence[str | bytes]) -> Expected:
    """The first match in the text of a stream; an error when the session ends without one."""
    expecting = Expecting(patterns)
    stream.lines = TypedLines(silent=True)  # a line of ours is nothing that a program wrote
    view: View | None = None
    try:
        for piece in stream:
            if view is None:
                view = TextView() if stream.session is None or stream.session.backend == "pty" else RawView()
            if isinstance(piece, Chunk) and (found := expecting.feed(view.feed(stream.shown(piece)))) is not None:
                return found
        if view is not None and (found := expecting.feed(view.feed(stream.rest()) + view.end())) is not None:
            return found
    finally:
        stream.close()
    raise NoSuchSession("the session ended, and none of the patterns came", code="session-ended")


def _text(pattern: str | bytes) -> str:
    return pattern.decode("utf-8", "surrogateescape") if isinstance(pattern, bytes) else pattern
