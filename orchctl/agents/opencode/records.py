"""Our own lines in a server's raw log, between its events: what was asked of it, what it answered, what was read. Pure.

They are there because a new supervisor knows only what is in the log: which prompt a message is, that an interrupt was
asked for, that pieces were missed. An event of the server has a `type`; a line of ours has `orchctl` instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

KIND = "orchctl"
OPENED = "opened"  # session, native, directory, model, version
NOT_OPENED = "not-opened"  # session, code, message
POSTING = "posting"  # session, once, message: written before the prompt is on its way
POSTED = "posted"  # session, once
REFUSED = "refused"  # session, once, code, text
STOPPING = "stopping"  # session: an interrupt was asked for
ANSWERED = "answered"  # session, request, reply: by us, or `withdrawn` when the server does not know it any more
CONNECTED = "connected"  # directory: the stream of events begins, or begins again after a gap
READ = "read"  # session, and what was read to close a gap: see translate.py
CLOSED = "closed"  # session


def line(kind: str, **fields: Any) -> bytes:
    """As it is kept."""
    return json.dumps({KIND: kind, **fields}, separators=(",", ":")).encode()


def parsed(raw: bytes) -> Mapping[str, Any] | None:
    """An event or a record; None for anything else."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and (isinstance(value.get("type"), str) or isinstance(value.get(KIND), str)):
        return value
    return None
