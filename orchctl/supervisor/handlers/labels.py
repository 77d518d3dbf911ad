"""What a session is called: its name and its labels, which may change while it lives."""

from __future__ import annotations

from orchctl.errors import NoSuchSession, OrchctlError
from orchctl.protocol import messages
from orchctl.session import selection
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession


async def rename(app: Supervisor, call: Call, asked: messages.RenameSession) -> None:
    """Names are unique among live sessions; its own is no conflict."""
    session = _live(app, asked.session, asked.own_manager)
    if asked.name is not None:
        selection.check_name(asked.name)
        if asked.name != session.run.name:
            app.registry.check_free(asked.name)
    if asked.name != session.run.name:
        _note(session, {"type": "renamed", "name": asked.name, "who": asked.own_manager})
    await call.say(messages.OneSession(session=session.view()))


async def label(app: Supervisor, call: Call, asked: messages.LabelSession) -> None:
    """All labels are written down each time, so that the newest record is enough."""
    session = _live(app, asked.session, asked.own_manager)
    labels = {key: value for key, value in session.run.labels.items() if key not in asked.remove} | asked.labels
    selection.check_labels(labels)
    if labels != session.run.labels:
        _note(session, {"type": "labelled", "labels": labels, "who": asked.own_manager})
    await call.say(messages.OneSession(session=session.view()))


def _live(app: Supervisor, text: str, own_manager: str) -> SupervisedSession:
    session = app.registry.find(text, own_manager, ended_too=False)
    if session.closed:
        raise NoSuchSession(f"the session {text!r} has ended", code="session-ended")
    return session


def _note(session: SupervisedSession, record: dict[str, object]) -> None:
    try:
        session.note(record)
    except OSError as error:
        raise OrchctlError(f"it cannot be written down: {error.strerror}", code="no-space") from None
