"""Whether whoever asks runs in the session that is asked about: to wait for that, or to follow it, would never end.

A program's session is found by ancestry. A conversation has no process of its own: its commands run below its server,
which may hold many, and their environment tells in which of them. Where it does not, only a server with a single
conversation leaves no doubt.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from orchctl.errors import Conflict
from orchctl.session import environment
from orchctl.supervisor.ancestry import descends_from, told_below

if TYPE_CHECKING:
    from orchctl.supervisor.app import Supervisor
    from orchctl.supervisor.request import Call
    from orchctl.supervisor.session import SupervisedSession


def refuse(app: Supervisor, call: Call, session: SupervisedSession, what: str) -> None:
    """With `own-session`, where it is."""
    if _runs_in(app, call.peer, session):
        raise Conflict(what, code="own-session")


def _runs_in(app: Supervisor, peer: int, session: SupervisedSession) -> bool:
    if session.talk is None:
        return session.run.pid is not None and descends_from(peer, session.run.pid)
    held = app.registry.lives.servers.of(session.talk)
    server = held.session.run.pid if held is not None else None
    if held is None or server is None or not descends_from(peer, server):
        return False
    return is_own(session.spec.id, told_below(peer, server, environment.SESSION), held.talks.keys())


def is_own(session: str, told: str | None, held: Collection[str]) -> bool:
    """Whether a command below a server that holds these conversations is of that one, by what it was told."""
    return told == session if told in held else set(held) == {session}
