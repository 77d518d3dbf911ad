"""Prompts: said once, answered by the transcript as it grows, and by how the turn ended. And what agents ask."""

from __future__ import annotations

import asyncio
from typing import Protocol

from orchctl.agents.conversation import Request, Said
from orchctl.agents.interface import Reply
from orchctl.errors import BadInput, Conflict, NoSuchSession, TimedOut
from orchctl.log.commands import CommandStore
from orchctl.log.reader import OutputLog
from orchctl.protocol import messages
from orchctl.session.agent import Pending
from orchctl.session.command import Command, CommandStatus
from orchctl.session.events import TurnEnd
from orchctl.supervisor.agents.conversation import Talk, TalkSession
from orchctl.supervisor.change import set_within
from orchctl.supervisor.request import Call, LogSession, send_range

PROMPT_BYTES = 1 << 20
ONCE = 256  # characters of a prompt's name
SHOWN = 4096  # characters of a prompt where it is told of; `harness.jnl` has all of it
SPOOLED = "t"  # as the handler of commands calls a text that was put in place before
_KINDS = {"approve": ("allow",), "always": ("always", "allow"), "deny": ("deny",)}
EXIT = {TurnEnd.COMPLETED: 0, TurnEnd.FAILED: 1, TurnEnd.INTERRUPTED: 1}


class PromptedSession(TalkSession, LogSession, Protocol):
    """A session that prompts are for."""

    async def open(self) -> None: ...


async def say(session: PromptedSession, text: str, *, once: str, who: str) -> Said:
    """Have it delivered, or find what became of it when it was asked for before."""
    check(text)
    if not 0 < len(once) <= ONCE or not once.isprintable():
        raise BadInput(f"the name of a prompt is 1 to {ONCE} printable characters", code="bad-once")
    if session.closed or session.talk.ending:
        raise NoSuchSession(f"the session {session.run.name or session.spec.id} has ended", code="session-ended")
    if once not in session.talk.state.prompts:
        if session.talk.state.busy:
            message = "the agent is at work; 'interrupt' ends its turn, 'wait --for turn' waits for its end"
            raise Conflict(message, code="busy")
        await session.open()
    session.talk.prompt(text, once, who)
    await session.news.until(
        lambda: session.closed or (said := _known(session, once)).over or said.delivery == "delivered"
    )
    said = _known(session, once)
    if said.delivery == "maybe":
        raise Conflict(
            "the agent's server ended while the prompt was on its way: it may have been delivered or not, and is "
            "not sent again by itself",
            code="maybe-delivered",
        )
    if said.delivery == "refused":
        raise Conflict(f"the agent's server did not take the prompt: {said.error}", code="prompt-refused")
    return said


async def send(session: PromptedSession, data: bytes, *, whole: bool, once: str, who: str) -> None:
    """What `send` types is a prompt."""
    if not whole:
        raise BadInput(
            "a prompt is one text of at most 256 KiB, sent with Enter; 'exec SESSION -' takes longer ones, from stdin",
            code="bad-prompt",
        )
    await say(session, data.decode("utf-8", "replace"), once=once, who=who)


async def exec_prompt(call: Call, session: PromptedSession, asked: messages.ExecCommand) -> None:
    """Answered by what the agent says until its turn ends."""
    store = CommandStore(session.folder)
    name = f"{SPOOLED}{asked.exec_id}"
    text = asked.text
    if asked.spooled:
        size = store.size_of(name)
        spooled = store.read_part(name, 0, PROMPT_BYTES)
        store.remove(name)  # whoever asks again puts it there again
        _check_size(size)
        text = spooled.decode("utf-8", "replace").replace("\0", " ").rstrip()
    once = asked.once or asked.exec_id
    until = None if asked.timeout_s is None else asyncio.get_running_loop().time() + asked.timeout_s
    if once not in session.talk.state.prompts:
        await _idle(session, asked.wait_prompt_s)
    said = await say(session, text or " ".join(asked.argv), once=once, who=asked.own_manager)
    await call.say(messages.CommandBegins(command=command(session, said)))
    if asked.detach:
        await call.say(messages.CommandEnds(command=command(session, said)))
        return
    log = session.open_log()
    try:
        await _follow(call, session, said, log, asked, until)
    finally:
        session.readers.gone(call)
        log.close()


async def _follow(
    call: Call,
    session: PromptedSession,
    said: Said,
    log: OutputLog,
    asked: messages.ExecCommand,
    until: float | None,
) -> None:
    offset = max(asked.offset or 0, said.start_offset)
    late = False
    while True:
        talk = session.talk
        said = _known(session, said.once)
        ticket, over = session.news.ticket, said.over
        end = said.end_offset if over and said.end_offset is not None else talk.end
        offset = await send_range(call, session, log, offset, end)
        if over or session.closed:
            break
        if not asked.wait_input and talk.requests:
            await call.say(messages.CommandEnds(command=command(session, said, needs_input=True)))
            return
        left_s = None if until is None or late else max(0.0, until - asyncio.get_running_loop().time())
        if not await set_within(ticket, left_s):
            late = True
            talk.interrupt(asked.own_manager)
    await call.say(messages.CommandEnds(command=command(session, said, late=late)))


def _known(session: PromptedSession, once: str) -> Said:
    """What became of a prompt; asked anew each time, because a conversation may be read from its files again."""
    return session.talk.state.prompts[once]


def command(session: PromptedSession, said: Said, *, late: bool = False, needs_input: bool = False) -> Command:
    """A turn, as the history of any session tells it."""
    status, code = CommandStatus.RUNNING, None
    if said.over:
        status, code = CommandStatus.EXITED, EXIT[said.end] if said.end is not None else 1
    if late:
        status, code = CommandStatus.TIMEOUT, 124
    elif needs_input:
        status, code = CommandStatus.NEEDS_INPUT, 7
    ended = said.ended_at if said.over else None
    return Command(
        session=session.spec.id,
        id=said.once,
        number=said.number,
        text=said.text[:SHOWN],
        who=said.who,
        cwd=session.spec.cwd,
        started_at=said.time,
        ended_at=ended,
        duration_s=round(ended - said.time, 3) if ended is not None else None,
        exit_code=code,
        status=status,
        completion="turn" if said.over else None,
        newlines="raw",
        start_offset=said.start_offset,
        end_offset=said.end_offset,
        error=said.error or (said.end.value if said.end is TurnEnd.INTERRUPTED else None),
    )


async def _idle(session: PromptedSession, patience_s: float | None) -> None:
    """Until the agent takes a prompt, for as long as that was asked for."""
    if patience_s is None:
        return
    if not await session.news.until(lambda: not session.talk.state.busy or session.closed, patience_s):
        raise TimedOut(f"the agent was at work for {patience_s:g} s more", code="busy")


def check(text: str) -> None:
    """Refuse what no agent can be told."""
    if not text.strip():
        raise BadInput("an empty prompt", code="empty-prompt")
    if "\0" in text:
        raise BadInput("a NUL byte in the prompt", code="nul-byte")
    _check_size(len(text.encode("utf-8", "replace")))


def _check_size(size: int) -> None:
    if size > PROMPT_BYTES:
        message = f"a prompt of {size} bytes; at most {PROMPT_BYTES}, and the agent can read a file by its name"
        raise BadInput(message, code="prompt-too-long")


def pending(session: PromptedSession, request: Request) -> Pending:
    """A request as everybody sees it."""
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


def chosen(talk: Talk, asked: messages.ReplyTo) -> Request:
    """The request that a reply is for."""
    waiting = talk.requests
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


def reply_of(request: Request, asked: messages.ReplyTo) -> Reply:
    """What is replied to it."""
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
