"""Say to a live supervisor what recorded clients said, and see that the answers are of the recorded kind and shape."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.golden import frames
from tests.golden.place import BASE
from tests.golden.recorder import Entry, client_frame

OFTEN = ("stream.time", "stream.gap", "events", "lease.news")  # how many of them come is a matter of moments
HUNG_UP = {"kind": "the supervisor hung up"}
Object = dict[str, Any]


class Player:
    """Plays the entries of one recording; `state` is the directory of the supervisor that answers."""

    def __init__(self, state: str, folder: str) -> None:
        self._socket = f"{state}/supervisor.sock"
        self._folder = folder
        self._lines: dict[int, frames.Line] = {}
        self._waiting: dict[int, list[Object]] = {}
        self._seen: set[tuple[int, int, str]] = set()
        self._status: Object = {}
        self._replacing = 0  # the connection that has asked for another supervisor
        self.data: dict[tuple[int, int, int], bytes] = {}
        self.wrong: list[tuple[Object, Object]] = []

    def play(self, entries: list[Entry]) -> None:
        """All of them, in the recorded order of cause and effect."""
        try:
            for entry in entries:
                self._step(entry)
        finally:
            for line in self._lines.values():
                line.socket.close()

    def _step(self, entry: Entry) -> None:
        number = entry.connection
        if entry.side == "x":
            self._hang_up(number)
            return
        frame = client_frame(entry.text)
        if entry.side == ">":
            assert isinstance(frame, frames.Control)
            self._say(number, frame.object())
        elif isinstance(frame, frames.Data):
            self._expect_data((number, frame.stream, frame.channel))
        else:
            said = frame.object()
            if "id" in said:
                self._expect(number, said)
            elif number in self._lines:
                self._compare(said, _object(self._lines[number].hello))

    def _hang_up(self, number: int) -> None:
        """Whoever asks for another supervisor waits until this one does it."""
        line = self._lines[number]
        while self._replacing == number and line.next() is not None:
            pass
        line.socket.close()

    def _expect_data(self, key: tuple[int, int, int]) -> None:
        """Some bytes of that stream, however they are cut."""
        while key not in self.data and self._hear(key[0]):
            pass

    def _say(self, number: int, said: Object) -> None:
        text = json.dumps(self._adapted(number, said)).replace(BASE, self._folder)
        if number not in self._lines:
            self._lines[number] = frames.Line(self._socket, text.encode())
            self._waiting[number] = []
        else:
            self._lines[number].socket.sendall(frames.encode(frames.Control(text)))

    def _adapted(self, number: int, said: Object) -> Object:
        """Only what names the supervisor's processes and Python has to be another's."""
        self._replacing = number if said.get("kind") == "supervisor.restart" else 0
        if self._replacing:
            return {**said, "executable": sys.executable, "pid": self._status["pid"], "zygote": self._status["zygote"]}
        return said

    def _expect(self, number: int, recorded: Object) -> None:
        key = (number, recorded["id"], recorded["kind"])
        if recorded["kind"] in OFTEN and key in self._seen:
            return
        self._seen.add(key)
        found = self._next(number, *key[1:])
        if found.get("kind") == "status":
            self._status = found["status"]
        self._compare(recorded, found)

    def _next(self, number: int, request: int, kind: str) -> Object:
        """The first answer of that kind to that request that was not looked at; what else comes is kept."""
        waiting = self._waiting[number]
        while True:
            for one in waiting:
                if (one["id"], one["kind"]) == (request, kind):
                    waiting.remove(one)
                    return one
                if one["id"] == request and one["kind"] == "failed":
                    return one
            if not self._hear(number):
                return HUNG_UP

    def _hear(self, number: int) -> bool:
        """One frame more; not when the supervisor has hung up."""
        frame = self._lines[number].next()
        if isinstance(frame, frames.Data):
            key = (number, frame.stream, frame.channel)
            self.data[key] = self.data.get(key, b"") + frame.raw
        elif frame is not None:
            self._waiting[number].append(frame.object())
        return frame is not None

    def _compare(self, recorded: Object, found: Object) -> None:
        if recorded.get("kind") != found.get("kind") or not same_shape(recorded, found):
            self.wrong.append((recorded, found))


def _object(frame: frames.Frame | None) -> Object:
    return frame.object() if isinstance(frame, frames.Control) else HUNG_UP


def same_shape(recorded: Any, found: Any) -> bool:
    """Whether every recorded field is there with a value of the same type; null may stand for what is not known yet."""
    if recorded is None or found is None:
        return True
    if isinstance(recorded, dict):
        return isinstance(found, dict) and all(
            key in found and same_shape(recorded[key], found[key]) for key in recorded
        )
    if isinstance(recorded, list):
        return isinstance(found, list) and all(map(same_shape, recorded, found))
    if isinstance(recorded, bool) or isinstance(found, bool):
        return isinstance(recorded, bool) and isinstance(found, bool)
    if isinstance(recorded, int | float):
        return isinstance(found, int | float)
    return type(recorded) is type(found)
