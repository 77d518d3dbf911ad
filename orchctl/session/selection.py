"""Which sessions a selection means, and what may be written into one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from orchctl.errors import BadInput
from orchctl.session import manager
from orchctl.session.model import Selection, Session

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
