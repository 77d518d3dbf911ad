"""`harness.jnl` of a session, and what is kept with an agent server."""

from __future__ import annotations

import json
import os
from typing import Any

from orchctl.log import journal
from orchctl.log.journal import append
from orchctl.session import layout


class ConversationStore:
    """Of one session's directory. The supervisor is the one writer."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/{layout.HARNESS}"

    def append(self, record: dict[str, Any]) -> None:
        """One more."""
        append(self._path, record)

    def read(self, offset: int = 0) -> journal.Decoded:
        """From an offset on."""
        try:
            with open(self._path, "rb") as file:
                file.seek(offset)
                return journal.decode(file.read(), offset=offset)
        except FileNotFoundError:
            return journal.Decoded(next_offset=offset)


def put_server(folder: str, known: dict[str, Any]) -> None:
    """What a supervisor has to know about an agent server; it may hold a password."""
    fd = os.open(f"{folder}/{layout.SERVER}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        json.dump(known, file)


def read_server(folder: str) -> dict[str, Any] | None:
    """The same, for the next one."""
    try:
        with open(f"{folder}/{layout.SERVER}", encoding="ascii") as file:
            known = json.load(file)
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) else None
