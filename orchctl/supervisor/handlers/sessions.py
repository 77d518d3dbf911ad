"""Sessions: start, list, look at, wait for."""

from __future__ import annotations

from orchctl.core import manager
from orchctl.errors import Conflict
from orchctl.model.session import Session
from orchctl.protocol import messages
from orchctl.supervisor.ancestry import descends_from
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call

PAGE = 200  # sessions in one message: far below the frame limit, whatever their commands are like


async def spawn(app: Supervisor, call: Call, asked: messages.SpawnSession) -> None:
    """Answered once the program runs, or could not be started."""
    session = await app.registry.spawn(asked)
    await session.safety.settle_all()
    await call.say(messages.OneSession(session=session.view()))


async def list_sessions(app: Supervisor, call: Call, asked: messages.ListSessions) -> None:
    """Oldest first."""
    views = app.registry.views(ended_too=asked.ended_too)
    if asked.managed_by is not None:
        manager.parse(asked.managed_by)
        views = [view for view in views if manager.selects(asked.managed_by, view.managed_by)]
    pages = [views[start : start + PAGE] for start in range(0, len(views), PAGE)] or [list[Session]()]
    for number, page in enumerate(pages, 1):
        await call.say(messages.SomeSessions(sessions=tuple(page), more=number < len(pages)))


async def get(app: Supervisor, call: Call, asked: messages.GetSession) -> None:
    """One session, live or ended."""
    session = app.registry.find(asked.session, asked.own_manager)
    await call.say(messages.OneSession(session=await session.full_view()))


async def wait(app: Supervisor, call: Call, asked: messages.WaitSession) -> None:
    """Answered when it is closed, which is after its last byte is in the log."""
    session = app.registry.find(asked.session, asked.own_manager)
    if session.run.pid is not None and descends_from(call.peer, session.run.pid):
        raise Conflict("a program cannot wait for the session it runs in", code="own-session")
    while True:
        ticket = session.news.ticket
        if session.closed:
            break
        await ticket.wait()
    await session.safety.settle()
    await call.say(messages.OneSession(session=session.view()))
