"""What agents ask, the replies, and the harnesses behind them."""

from __future__ import annotations

import asyncio
import contextlib

from orchctl.agents import registry
from orchctl.errors import Conflict
from orchctl.protocol import messages
from orchctl.session.agent import HarnessStatus, Profile, ServerStatus
from orchctl.supervisor.agents import programs
from orchctl.supervisor.agents.server import HeldServer
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.request import Call

LEFT_S = 2.0


async def pending(app: Supervisor, call: Call, asked: messages.GetPending) -> None:
    """Oldest first."""
    sessions = [app.registry.find(text, asked.own_manager) for text in asked.sessions] or app.registry.live()
    found = [one for session in sessions for one in session.pending()]
    await call.say(messages.SomePending(pending=tuple(sorted(found, key=lambda one: one.since))))


async def reply(app: Supervisor, call: Call, asked: messages.ReplyTo) -> None:
    """Answered once the reply is on its way, with what it was a reply to."""
    session = app.registry.find(asked.session, asked.own_manager, ended_too=False)
    replied = session.reply(asked)
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, action=asked.action)
    await call.say(messages.SomePending(pending=(replied,)))


async def list_harnesses(app: Supervisor, call: Call, asked: messages.ListHarnesses) -> None:
    """Each is asked for its version. One that is not installed is left out where a profile says where it is."""
    profiles = app.house.config.profiles
    plain = [profiles.get(name) or Profile(name=name, harness=name) for name in registry.shown()]
    wanted = [*plain, *(one for one in profiles.values() if one not in plain)]
    every = await asyncio.gather(*(_status(app, profile, asked.path) for profile in wanted))
    served = {one.harness for one in every if one.name != one.harness}
    found = [one for one in every if one.installed or one.servers or one.name in profiles or one.harness not in served]
    order = {name: at for at, name in enumerate(registry.names())}
    found.sort(key=lambda one: (order[one.harness], one.name != one.harness, one.name))
    await call.say(messages.SomeHarnesses(harnesses=tuple(found)))


async def _status(app: Supervisor, profile: Profile, path: str) -> HarnessStatus:
    harness = programs.find(profile.harness)
    program = harness.program(profile, profile.env.get("PATH", path))
    version = await programs.version_of(harness, program) if program is not None else None
    held = [one for one in app.registry.agents.all if one.profile.name == profile.name]
    return HarnessStatus(
        name=profile.name,
        harness=harness.name,
        installed=program is not None,
        program=program,
        version=version,
        tested=harness.tested,
        is_tested=programs.is_tested(harness, version),
        install=harness.install,
        servers=tuple([await _server(one) for one in held]),
    )


async def _server(held: HeldServer) -> ServerStatus:
    left: tuple[int, ...] = ()
    with contextlib.suppress(Conflict, TimeoutError):
        async with asyncio.timeout(LEFT_S):
            left = await held.session.pair.who_is_left()
    return ServerStatus(
        id=held.id,
        profile=held.profile.name,
        pid=held.session.run.pid,
        version=held.version,
        sessions=tuple(held.talks),
        leftover=left,
    )
