"""Checks a whole state directory by reading its files, also while sessions live: changes nothing, starts nothing.

What is not sealed yet cannot be compared with anything: a flipped bit there is not found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from orchctl.lazy_dataclass import dataclass
from orchctl.log import chain
from orchctl.log.check.findings import Files, Finding
from orchctl.log.check.output import OutputCheck, read_seals
from orchctl.log.check.session import Lines, SessionCheck
from orchctl.log.disk import REAL
from orchctl.log.event_reader import EventReader
from orchctl.session import layout

EVENTS = "events"
Told = dict[str, tuple[int, int]]


@dataclass(slots=True)
class Tally:
    """How much was looked at; `bytes` are bytes of output."""

    sessions: int = 0
    bytes: int = 0


def verify(root: str, sessions: Sequence[str] | None, tally: Tally | None = None) -> Iterator[Finding]:
    """Everything that is wrong below `root`, or with these sessions only; counted along the way."""
    tally = tally or Tally()
    told: Told = {}
    try:
        told = _told(EventReader(REAL, f"{root}/{EVENTS}"))
        if sessions is None:
            first = _check_events(root)
            yield from _agreed(first, _check_events(root) if first else [])
    except OSError as error:
        yield Finding(None, EVENTS, "unreadable", _reason(error))
    try:
        found = sessions if sessions is not None else _sessions(root)
    except OSError as error:
        yield Finding(None, "sessions", "unreadable", _reason(error))
        return
    for session in found:
        yield from _check_session(root, session, told.get(session, (0, 0)), tally)


def _sessions(root: str) -> list[str]:
    try:
        with os.scandir(f"{root}/sessions") as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _check_session(root: str, session: str, told: tuple[int, int], tally: Tally) -> list[Finding]:
    """Look twice if anything is wrong, and go on for as long as files become fewer: the session is being removed."""
    first, count = _look(root, session, told)
    again = first
    while first.findings:
        again, _ = _look(root, session, told)
        if not again.listed < first.listed:
            break
        first = again
    if not os.path.isdir(f"{root}/sessions/{session}"):
        return []
    tally.sessions += 1
    tally.bytes += count
    return _agreed(first.findings, again.findings)


def _look(root: str, session: str, told: tuple[int, int]) -> tuple[Files, int]:
    files = Files(root, session)
    check = SessionCheck(files, told)
    lines = check.read_journal(layout.SEALS)
    due = check.over and (lines.whole if lines is not None else files.missing(layout.SEALS))
    output = OutputCheck(files, read_seals(lines or Lines(), due=due), check.before)
    output.check(check.finish(output.sizes))
    return files, sum(output.sizes.values())


def _agreed(first: list[Finding], again: list[Finding]) -> list[Finding]:
    """What two looks found, so that a moment in the life of a file is not called damage."""
    seen = {(finding.path, finding.kind) for finding in first}
    return [finding for finding in again if (finding.path, finding.kind) in seen]


def _check_events(root: str) -> list[Finding]:
    problems = EventReader(REAL, f"{root}/{EVENTS}").check()
    return [
        Finding(None, os.path.relpath(problem.path, root), problem.kind, f"at byte {problem.offset}: {problem.detail}")
        for problem in problems
    ]


def _told(reader: EventReader) -> Told:
    """How many bytes of each session's journals the newest events speak of."""
    found: Told = {}
    for start in reader.starts()[-1:]:
        for event in filter(None, map(chain.event_of, reader.lines(start))):
            told, session = event.get("told"), event.get("session")
            items = told.items() if isinstance(told, dict) else [(session, told)]
            found |= {str(name): (sizes[0], sizes[1]) for name, sizes in items if _are_sizes(sizes)}
    return found


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and len(value) == 2 and all(type(size) is int for size in value)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
