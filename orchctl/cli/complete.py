"""What a completion script can offer for a session or a manager.

The supervisor is asked if one answers, and never started; else the files are looked at, as `verify` does. Whatever
goes wrong, there is just less to offer.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from orchctl.errors import OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.paths import Root, check, find_root

# live sessions alone, or ended ones too; `-many` where a selector may stand; `-by-name` where `@last` may not
KINDS = ("live", "live-many", "any", "any-many", "any-by-name", "managers")
PATIENCE_S = 1.5  # a person waits at the prompt
ENDED = 100  # as many of those that ended last: nobody picks from more
WIDTH = 60  # of a description
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MANAGER = re.compile(r"[A-Za-z0-9._:-]{1,1024}")

Candidate = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Known:
    """As much of a session as completion shows."""

    id: str
    name: str | None
    managed_by: str
    about: str
    created_at: float
    live: bool


class _TooSlow(Exception):
    """The supervisor does not answer in time."""


def candidates(kind: str, word: str) -> list[Candidate]:
    """What begins with `word`, newest first, each with what it is."""
    try:
        root = find_root(os.environ)
        check(root)
    except OrchctlError:
        return []
    live = _live(root)
    if kind == "managers":
        return [one for one in _managers(live, "") if one[0].startswith(word)]
    ended = _ended(root) if kind.startswith("any") or word[:1] in ("", "@") else []
    shown = _newest_first(live + (ended if kind.startswith("any") else []))
    found = [one for session in shown for one in _names(session, word)]
    if kind != "any-by-name":
        found += _last(_newest_first(live + ended), live_only=kind.startswith("live"))
    if kind.endswith("-many"):
        found += _managers(shown, "@")
    return [one for one in found if one[0].startswith(word)]


def _names(session: Known, word: str) -> Iterator[Candidate]:
    """Its name; its id where it has none, or where one is being typed."""
    if session.name is not None:
        yield session.name, session.about
    if session.name is None or word:
        yield session.id, session.about


def _last(known: list[Known], *, live_only: bool) -> list[Candidate]:
    own = os.environ.get("ORCHCTL_MANAGER") or "user"
    newest = next((one for one in known if one.managed_by == own), None)
    return [("@last", newest.about)] if newest is not None and (newest.live or not live_only) else []


def _managers(known: list[Known], sign: str) -> list[Candidate]:
    """Each manager and those above it, with how many sessions that selects."""
    counts: dict[str, int] = {}
    for session in known:
        segments = session.managed_by.split(":")
        for depth in range(1, len(segments) + 1):
            name = ":".join(segments[:depth])
            counts[name] = counts.get(name, 0) + 1
    return [
        (sign + name, f"{count} session{'s' if count > 1 else ''}")
        for name, count in sorted(counts.items())
        if _MANAGER.fullmatch(name)
    ]


def _newest_first(known: list[Known]) -> list[Known]:
    return sorted(known, key=lambda session: session.created_at, reverse=True)


def _live(root: Root) -> list[Known]:
    """As the supervisor knows them; without one, those on disk that have not ended."""
    from orchctl.client.blocking import Client
    from orchctl.plain import to_plain

    try:
        with _patience(), Client(state_dir=root.path, autostart=False) as client:
            return [one for session in client.list() for one in _known(to_plain(session), live=True)]
    except (OrchctlError, OSError, _TooSlow):
        return [one for name in _folders(root) if not _over(root, name) for one in _read(root, name, "spec.json")]


def _ended(root: Root) -> list[Known]:
    ends = sorted(((at, name) for name in _folders(root) if (at := _over(root, name))), reverse=True)
    return [one for _, name in ends[:ENDED] for one in _read(root, name, "ended.json")]


def _folders(root: Root) -> list[str]:
    with suppress(OSError):
        return [name for name in os.listdir(root.sessions) if _ID.fullmatch(name)]
    return []


def _over(root: Root, name: str) -> float:
    try:
        return os.lstat(f"{root.sessions}/{name}/ended.json").st_mtime
    except OSError:
        return 0.0


def _read(root: Root, folder: str, file: str) -> list[Known]:
    with suppress(OSError, ValueError, RecursionError):
        path = f"{root.sessions}/{folder}/{file}"
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            return _known(json.load(opened) | {"id": folder}, live=file == "spec.json")
    return []


def _known(told: Any, *, live: bool) -> list[Known]:
    """The session, unless something about it cannot be typed or is not what it should be."""
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        name = told["name"]
        if not _ID.fullmatch(told["id"]) or (name is not None and not _NAME.fullmatch(name)):
            return []
        about = _about(told["command"]) + ("" if live else " [ended]")
        return [Known(told["id"], name, str(told["managed_by"]), about, float(told["created_at"]), live)]
    return []


def _about(command: list[str]) -> str:
    import shlex

    from orchctl.terminal import one_line

    text = one_line(shlex.join(word[: 2 * WIDTH] for word in command[:WIDTH]))
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
