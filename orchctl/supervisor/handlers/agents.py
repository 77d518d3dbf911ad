"""What agents ask, the replies, and the harnesses behind them."""

from __future__ import annotations

import asyncio
import contextlib

from orchctl.agents import registry
from orchctl.agents.conversation import Request
from orchctl.agents.interface import Reply
from orchctl.errors import BadInput, Conflict, NoSuchSession
from orchctl.protocol import messages
from orchctl.session.agent import HarnessStatus, Pending, Profile, ServerStatus
from orchctl.supervisor.agents import programs
from orchctl.supervisor.agents.conversation import Talk
from orchctl.supervisor.agents.server import HeldServer
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession

LEFT_S = 2.0
_KINDS = {"approve": ("allow",), "always": ("always", "allow"), "deny": ("deny",)}


async def pending(app: Supervisor, call: Call, asked: messages.GetPending) -> None:
    """Oldest first."""
    sessions = [app.registry.find(text, asked.own_manager) for text in asked.sessions] or app.registry.live()
    found = [_shown(session, one) for session in sessions for one in _open(session)]
    await call.say(messages.SomePending(pending=tuple(sorted(found, key=lambda one: one.since))))


async def reply(app: Supervisor, call: Call, asked: messages.ReplyTo) -> None:
    """Answered once the reply is on its way, with what it was a reply to."""
    session = app.registry.find(asked.session, asked.own_manager, ended_too=False)
    if session.talk is None:
        raise Conflict("the session is a program, and no agent asks anything there; 'send' types", code="not-an-agent")
    if session.closed:
        raise NoSuchSession(f"the session {asked.session!r} has ended", code="session-ended")
    request = _chosen(session, session.talk, asked)
    session.talk.reply(request.asked.request, _reply(request, asked), asked.own_manager)
    app.house.teller.say(session, "input", who=asked.own_manager, bytes=0, action=asked.action)
    await call.say(messages.SomePending(pending=(_shown(session, request),)))


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


def _open(session: SupervisedSession) -> list[Request]:
    talk = session.talk
    return [one for one in talk.state.pending.values() if one.reply is None] if talk is not None else []


def _shown(session: SupervisedSession, request: Request) -> Pending:
    asked = request.asked
    return Pending(
        session=session.spec.id,
        name=session.run.name,
        request=asked.request,
        need=asked.need,
        title=asked.title,
        choices=tuple(choice.label for choice in asked.choices),
        free_text=asked.free_text,
        since=request.since,
        subagent=asked.subagent,
    )


def _chosen(session: SupervisedSession, talk: Talk, asked: messages.ReplyTo) -> Request:
    waiting = _open(session)
    if asked.request is not None:
        found = next((one for one in waiting if one.asked.request == asked.request), None)
        if found is None:
            replied = asked.request in talk.state.answered or asked.request in talk.state.pending
            message = "was answered already, or taken back" if replied else "is not known"
            raise Conflict(f"the request {asked.request!r} {message}", code="request-gone")
        return found
    if not waiting:
        raise Conflict("the agent asks nothing now; what it asked was answered, or taken back", code="request-gone")
    if len(waiting) > 1:
        names = ", ".join(one.asked.request for one in waiting)
        raise BadInput(f"the agent asks {len(waiting)} things; --request says which: {names}", code="which-request")
    return waiting[0]


def _reply(request: Request, asked: messages.ReplyTo) -> Reply:
    choices = request.asked.choices
    if asked.action == "answer":
        text = asked.text or ""
        found = next((one for one in choices if text in (one.id, one.label)), None)
        if found is None and not request.asked.free_text:
            known = ", ".join(one.label for one in choices)
            raise BadInput(f"{text!r} is none of: {known}", code="bad-answer")
        return Reply(choice=found.id) if found is not None else Reply(text=text)
    kinds = _KINDS.get("always" if asked.always and asked.action == "approve" else asked.action)
    if kinds is None:
        raise BadInput(f"nobody knows how to {asked.action!r} a request", code="bad-action")
    for kind in kinds:
        choice = next((one for one in choices if one.kind == kind), None)
        if choice is not None:
            return Reply(choice=choice.id)
    raise Conflict(
        f"that is a question and no permission; 'answer' replies to it: {request.asked.title}", code="a-question"
    )
