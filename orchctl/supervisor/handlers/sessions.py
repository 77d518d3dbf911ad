"""Requests about sessions: start, list, look at, rename and label."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from orchctl import procfs
from orchctl.errors import OrchctlError
from orchctl.protocol import messages
from orchctl.session import manager, selection
from orchctl.session.model import Session, Waiting
from orchctl.supervisor.agents import prompts
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.request import Call, close, pages
from orchctl.supervisor.session import SupervisedSession
from orchctl.supervisor.usage import environment_of, measure


async def spawn(app: Supervisor, call: Call, asked: messages.SpawnSession) -> None:
    """Answered once the program runs, or could not be started."""
    if asked.prompt is not None:
        prompts.check(asked.prompt)  # before anything is begun
    stdin = call.descriptors.pop(0) if asked.stdin == "handed" and call.descriptors else None
    try:
        session = await app.registry.spawn(asked, stdin)
    finally:
        close(stdin)
    warnings = (*procfs.differences(asked.standing, app.standing), *session.warnings())
    if asked.prompt is not None:
        await session.first_prompt(asked.prompt, once=f"{asked.session_id}/spawn", who=asked.managed_by)
    await session.safety.settle_all()
    await call.say(messages.OneSession(session=session.view(), warnings=warnings))


async def list_sessions(app: Supervisor, call: Call, asked: messages.ListSessions) -> None:
    """Oldest first."""
    if asked.ended_too:
        await app.registry.archive.read_ahead()
    views = app.registry.views(ended_too=asked.ended_too)
    if asked.managed_by is not None:
        manager.parse(asked.managed_by)
        views = [view for view in views if manager.selects(asked.managed_by, view.managed_by)]
    await _say(app, call, views, usage=asked.usage, waiting=asked.waiting)


async def select(app: Supervisor, call: Call, asked: messages.SelectSessions) -> None:
    """Oldest first; none is an answer too."""
    if asked.ended_too and asked.selection.open:
        await app.registry.archive.read_ahead()
    views = app.registry.select(asked.selection, asked.own_manager, ended_too=asked.ended_too)
    await _say(app, call, views, usage=asked.usage, waiting=asked.waiting)


async def _say(app: Supervisor, call: Call, views: list[Session], *, usage: bool, waiting: bool) -> None:
    if waiting:
        live = {session.spec.id: session for session in app.registry.live()}
        views = list(await asyncio.gather(*(_with_waiting(view, live.get(view.id)) for view in views)))
    if usage:
        views = await asyncio.to_thread(measure, views)
    parts = pages(views)
    for number, page in enumerate(parts, 1):
        await call.say(messages.SomeSessions(sessions=tuple(page), more=number < len(parts)))


async def _with_waiting(view: Session, session: SupervisedSession | None) -> Session:
    return replace(view, waiting=Waiting.NO if session is None else await session.waiting())


async def get(app: Supervisor, call: Call, asked: messages.GetSession) -> None:
    """One session, live or ended."""
    session = app.registry.find(asked.session, asked.own_manager)
    view = replace(await session.full_view(), waiting=await session.waiting())
    (view,) = await asyncio.to_thread(measure, [view])
    if asked.env:
        view = replace(view, env=await asyncio.to_thread(environment_of, view))
    await call.say(messages.OneSession(session=view))


async def wait(app: Supervisor, call: Call, asked: messages.WaitSession) -> None:
    """Answered when it is closed, which is after its last byte is in the log."""
    session = app.registry.find(asked.session, asked.own_manager)
    session.refuse_own(call, "a program cannot wait for the session it runs in")
    await session.news.until(lambda: session.closed)
    await session.safety.settle()
    await call.say(messages.OneSession(session=session.view()))


async def rename(app: Supervisor, call: Call, asked: messages.RenameSession) -> None:
    """Names are unique among live sessions; its own is no conflict."""
    session = app.registry.find_live(asked.session, asked.own_manager)
    if asked.name is not None:
        selection.check_name(asked.name)
        if asked.name != session.run.name:
            app.registry.check_free(asked.name)
    if asked.name != session.run.name:
        _note(session, {"type": "renamed", "name": asked.name, "who": asked.own_manager})
    await call.say(messages.OneSession(session=session.view()))


async def label(app: Supervisor, call: Call, asked: messages.LabelSession) -> None:
    """All labels are written down each time, so that the newest record is enough."""
    session = app.registry.find_live(asked.session, asked.own_manager)
    labels = {key: value for key, value in session.run.labels.items() if key not in asked.remove} | asked.labels
    selection.check_labels(labels)
    if labels != session.run.labels:
        _note(session, {"type": "labelled", "labels": labels, "who": asked.own_manager})
    await call.say(messages.OneSession(session=session.view()))


def _note(session: SupervisedSession, record: dict[str, object]) -> None:
    try:
        session.note(record)
    except OSError as error:
        raise OrchctlError(f"it cannot be written down: {error.strerror}", code="no-space") from None
