"""Which sessions are meant: one, by what a user wrote, or all that meet conditions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from orchctl.errors import BadInput, NoSuchSession
from orchctl.session import manager
from orchctl.session.model import Selection, Session, State

_KEY = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/-]{0,62}")
VALUE_LIMIT = 256  # characters of a label's value
LABELS_LIMIT = 64  # of one session


def chooses(selection: Selection, session: Session) -> bool:
    """Whether the conditions hold; names are somebody else's matter."""
    if not selection.open:
        return False
    if selection.managers and not any(manager.selects(name, session.managed_by) for name in selection.managers):
        return False
    if selection.repo is not None and session.repo != selection.repo:
        return False
    return all(session.labels.get(key) == value for key, value in selection.labels.items())


def choose(selection: Selection, sessions: Iterable[Session]) -> list[Session]:
    """Those for which the conditions hold, in the order they came."""
    check(selection)
    return [session for session in sessions if chooses(selection, session)]


def check(selection: Selection) -> None:
    """Refuse what can never be meant: a name that is none, or named sessions narrowed by conditions."""
    for name in selection.managers:
        manager.parse(name)
    check_labels(selection.labels)
    if selection.sessions and (selection.labels or selection.repo is not None or selection.everything):
        raise BadInput("name sessions, or say what they have in common; not both", code="bad-selection")


def check_labels(labels: Mapping[str, str]) -> None:
    """Keys are short words, values one line."""
    if len(labels) > LABELS_LIMIT:
        raise BadInput(f"{len(labels)} labels; a session has at most {LABELS_LIMIT}", code="bad-label")
    for key, value in labels.items():
        if not _KEY.fullmatch(key):
            raise BadInput(
                f"{key!r} is not a label: a letter or digit, then up to 62 of [a-zA-Z0-9._/-]", code="bad-label"
            )
        if len(value) > VALUE_LIMIT or any(ord(char) < 32 or ord(char) == 127 for char in value):
            raise BadInput(
                f"the label {key!r} has a value of more than {VALUE_LIMIT} characters or with control characters",
                code="bad-label",
            )


_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{3,35}")
_DIGITS = re.compile(r"[0-9a-f]{1,3}")
LAST = "@last"


def check_name(name: str) -> str:
    """`name`, if a session may be called that."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is not a session name: a letter or digit, then up to 63 of [a-zA-Z0-9._-]",
            code="bad-name",
        )
    return name


def check_id(text: str) -> str:
    """`text`, if it is an id as every client makes them."""
    if not _ID.fullmatch(text):
        raise BadInput(f"{text!r} is not a session id", code="bad-id")
    return text


def is_prefix(text: str) -> bool:
    """Whether this can be the beginning of an id."""
    return _PREFIX.fullmatch(text) is not None


def by_prefix(text: str, ids: Iterable[str]) -> str | None:
    """The one id that begins so; None if none does."""
    found = [one for one in ids if one.startswith(text)] if is_prefix(text) else []
    if len(found) > 1:
        raise BadInput(f"{len(found)} sessions begin with {text}; give more digits", code="ambiguous-session")
    return found[0] if found else None


def find(text: str, sessions: Iterable[Session], *, own_manager: str, ended_too: bool = True) -> Session:
    """The one session that `text` means; an unknown or ambiguous one is an error, never a guess.

    A name means the live session; else, for commands that only read (`ended_too`), the newest ended one.
    """
    known = sorted(sessions, key=lambda session: session.created_at)
    for session in known:
        if session.id == text:
            return session
    if text == LAST:
        own = [session for session in known if session.managed_by == own_manager]
        if not own:
            raise NoSuchSession(f"{own_manager} has no session")
        return own[-1]
    named = [session for session in known if session.name == text]
    live = [session for session in named if session.state is not State.CLOSED]
    if live:
        return live[-1]
    if named and not ended_too:
        raise NoSuchSession(f"the session {text!r} has ended", code="session-ended")
    if named:
        return named[-1]
    if (found := by_prefix(text, (session.id for session in known))) is not None:
        return next(session for session in known if session.id == found)
    short = bool(_DIGITS.fullmatch(text)) and any(one.id.startswith(text) for one in known)
    why = "the beginning of an id needs at least 4 digits" if short else "'orchctl list' shows the live ones"
    raise NoSuchSession(f"no session {text!r}; {why}")
