"""Events as an iterator that survives the supervisor: after a change it goes on with the next number."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.errors import PeerBroke
from orchctl.protocol.messages import Answer, ReadEvents, SomeEvents


class EventReading:
    """Which event is next; touches no socket."""

    def __init__(self, asked: ReadEvents) -> None:
        self._asked = asked
        self._over = False
        self._places = dict(asked.places)  # how far the output of each session was read

    def _hear(self, item: Answer) -> Iterator[dict[str, Any]]:
        """The events in it; each counts as read once the next is asked for."""
        if not isinstance(item, SomeEvents):
            raise PeerBroke(f"{item.kind!r} came in the middle of events", code="bad-stream")
        for text in item.events:
            event: dict[str, Any] = json.loads(text)
            yield event
            self._read_event(event)
        self._go_on(item.next_seq)
        self._over = not item.more

    def _read_event(self, event: dict[str, Any]) -> None:
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

    def __init__(self, asked: ReadEvents, connect: Callable[[], Connection]) -> None:
        super().__init__(asked)
        self._connect = connect
        self._connection: Connection | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        patience = Patience()
        while True:
            try:
                for event in self._read():
                    patience = Patience()
                    yield event
                return
            except ConnectionLost as error:
                patience.spend(error)
            finally:
                self.close()

    def close(self) -> None:
        """Stop."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self) -> Iterator[dict[str, Any]]:
        self._over = False
        self._connection = self._connect()
        number = self._connection.begin(self._asked)
        while not self._over:
            yield from self._hear(self._connection.answer_to(number))
