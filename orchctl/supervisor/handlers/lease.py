"""Who may type: take, let go, hand on, look; and viewers, for as long as they stay."""

from __future__ import annotations

from orchctl.errors import BadInput
from orchctl.protocol import messages
from orchctl.session.lease_state import key_of
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.lease import View, identity
from orchctl.supervisor.request import Call


async def open_view(app: Supervisor, call: Call, asked: messages.OpenView) -> None:
    """Answered at once and at each change; the last answer is that the session is closed."""
    by = identity(asked.viewer, asked.own_manager, asked.terminal)
    if asked.read_only and asked.take:
        raise BadInput("a viewer that only looks on takes no lease", code="read-only")
    session = app.registry.find_live(asked.session, asked.own_manager)
    session.refuse_own(call, "a program cannot be attached to the session it runs in")
    view = View(by.key, answers_from=None if asked.read_only else asked.answers_from)
    try:
        await session.leases.enter(view, by, read_only=asked.read_only)
        if asked.take:
            await session.leases.take(by, ttl_s=None, force=True, wait_s=0.0)
        while True:
            news = await view.next()
            await call.say(news)
            if news.reason == "closed":
                return
    finally:
        session.leases.leave(view)


async def take(app: Supervisor, call: Call, asked: messages.TakeLease) -> None:
    """Answered when it is the asker's, and safe from power loss."""
    by = identity(asked.viewer, asked.own_manager, asked.terminal)
    session = app.registry.find_live(asked.session, asked.own_manager)
    await session.leases.take(by, ttl_s=asked.ttl_s, force=asked.force, wait_s=asked.wait_s)
    await call.say(session.leases.state(by.key))


async def release(app: Supervisor, call: Call, asked: messages.ReleaseLease) -> None:
    """Free from now on, or back with whoever gave it."""
    key = key_of(asked.viewer)
    session = app.registry.find_live(asked.session, asked.own_manager)
    await session.leases.release(key, asked.once)
    await call.say(session.leases.state())


async def transfer(app: Supervisor, call: Call, asked: messages.TransferLease) -> None:
    """To somebody who is attached."""
    key = key_of(asked.viewer)
    session = app.registry.find_live(asked.session, asked.own_manager)
    await session.leases.transfer(key, asked.to, give_back=asked.give_back, once=asked.once)
    await call.say(session.leases.state())


async def get(app: Supervisor, call: Call, asked: messages.GetLease) -> None:
    """Of an ended session nobody holds it."""
    key = key_of(asked.viewer) if asked.viewer else ""
    await call.say(app.registry.find(asked.session, asked.own_manager).leases.state(key))
