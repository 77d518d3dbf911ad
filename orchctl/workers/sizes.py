"""`sizes` as a process: the sizes that a session's terminal has had, as one JSON array."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from orchctl.log.reader import OutputLog
from orchctl.log.session_files import SessionStore, Spec
from orchctl.log.time_index import Timeline
from orchctl.plain import to_plain
from orchctl.session.search import Size


def sizes(store: SessionStore, spec: Spec, end: int) -> Sequence[Size]:
    """In order, the first at offset 0. Older journals do not say where a terminal was resized, only when."""
    found = [Size(offset=0, cols=spec.cols, rows=spec.rows)]
    timeline: Timeline | None = None
    for record in store.read_journal(spec.id).records:
        if record.get("type") == "started" and record.get("offset", 0) > 0:  # a new run has a new terminal
            found.append(Size(offset=record["offset"], cols=spec.cols, rows=spec.rows))
        elif record.get("type") == "resized":
            offset = record.get("offset")
            if offset is None:
                timeline = timeline or Timeline(store.folder(spec.id))
                offset = timeline.offset_at(record["time"], end)
            found.append(Size(offset=max(offset, found[-1].offset), cols=record["cols"], rows=record["rows"]))
    return found


def start_of_run(store: SessionStore, session: str) -> int:
    """Where the output of its newest run begins."""
    starts = [one for one in store.read_journal(session).records if one.get("type") == "started"]
    return int(starts[-1].get("offset", 0)) if starts else 0


def main(asked: dict[str, Any]) -> None:
    """Of one session."""
    store = SessionStore(asked["sessions_dir"])
    spec = store.read_spec(asked["session"])
    found = [] if spec is None else sizes(store, spec, OutputLog(store.folder(spec.id)).end)
    sys.stdout.write(json.dumps(to_plain(list(found))))
