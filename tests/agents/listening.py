"""A host for tests that have no supervisor: it keeps what a backend writes and tells."""

from __future__ import annotations

import json
from typing import Any

from orchctl.session.events import AgentEvent


class Listening:
    """All in order."""

    def __init__(self) -> None:
        self.replaying = False
        self.versions: list[str | None] = []
        self.told: list[tuple[str, AgentEvent]] = []
        self.written: list[dict[str, Any]] = []
        self.whys: list[str] = []

    def ready(self, version: str | None) -> None:
        """The server has said hello."""
        self.versions.append(version)

    def emit(self, session: str, *happenings: AgentEvent) -> None:
        """Something has happened."""
        self.told += [(session, one) for one in happenings]

    def write(self, line: bytes, session: str | None = None) -> None:
        """For the server's stdin: a line, or several in one piece."""
        self.written += map(json.loads, line.split(b"\n"))

    def keep_raw(self, payload: bytes) -> None:
        """Nobody who speaks on stdout does this."""
        raise AssertionError(payload)

    def stdout(self) -> bytes:
        """Nor this."""
        raise AssertionError

    def broken(self, why: str) -> None:
        """The server is of no more use."""
        self.whys.append(why)

    def take_written(self) -> list[dict[str, Any]]:
        """What was written since the last time."""
        taken, self.written = self.written, []
        return taken

    def of(self, *kinds: type[AgentEvent]) -> list[AgentEvent]:
        """All of these kinds."""
        return [one for _, one in self.told if isinstance(one, kinds)]
