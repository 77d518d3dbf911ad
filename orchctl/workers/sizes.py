"""`sizes` as a process: the sizes that a session's terminal has had, as one JSON array."""

from __future__ import annotations

import json
import sys
from typing import Any

from orchctl.log.reader import OutputLog
from orchctl.log.session_files import SessionStore
from orchctl.log.sizes import sizes
from orchctl.plain import to_plain


def main(asked: dict[str, Any]) -> None:
    """Of one session."""
    store = SessionStore(asked["sessions_dir"])
    spec = store.read_spec(asked["session"])
    found = [] if spec is None else sizes(store, spec, OutputLog(store.folder(spec.id)).end)
    sys.stdout.write(json.dumps(to_plain(list(found))))
