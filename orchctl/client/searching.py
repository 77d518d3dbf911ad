"""A search as an iterator; the work is done by a worker process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from orchctl.client.caller import Caller
from orchctl.client.workers import Worker
from orchctl.errors import Internal
from orchctl.plain import to_plain
from orchctl.search.lines import Decoder
from orchctl.session.model import Session
from orchctl.session.search import Count, Line, Search
from orchctl.session.stream import Gap

Finding = Line | Count | Gap | str


class SearchReading:
    """What a worker is asked, and what its words mean; touches no process."""

    def __init__(self, asked: Search, sessions: Sequence[Session], sessions_dir: str) -> None:
        self.sessions = sessions
        self._decoder = Decoder()
        self._asked = {
            "search": to_plain(asked),
            "sessions_dir": sessions_dir,
            "sessions": [
                {"id": one.id, "backend": one.backend, "bytes": one.output.kept_bytes} for one in self.sessions
            ],
        }

    @classmethod
    def _of(cls, _: Caller, searched: tuple[Search, Sequence[Session], str]) -> Self:
        return cls(*searched)

    def _begin(self) -> None:
        self._decoder = Decoder()

    def _hear(self, data: bytes) -> list[tuple[Session, Finding]]:
        return [(self.sessions[number], one) for number, one in self._decoder.feed(data) if one is not None]

    def _check_end(self) -> None:
        if not self._decoder.ended:
            raise Internal("the search broke off before its end", code="worker-failed")


class SearchStream(SearchReading):
    """Iterate for sessions and what was found in them, as it is found; text is why a session could not be searched."""

    def __iter__(self) -> Iterator[tuple[Session, Finding]]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[tuple[Session, Finding]]]:
        """The same, each time all that has come by then."""
        if not self.sessions:
            return
        self._begin()
        with Worker("search", self._asked) as worker:
            for data in worker.pieces():
                if found := self._hear(data):
                    yield found
        self._check_end()
