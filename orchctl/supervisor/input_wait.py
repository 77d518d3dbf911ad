"""Whether sessions wait for input: the pair's word on the kernel, and the shell's marks, put together.

The pair is asked, and never waited for longer than a moment: without its word the answer is `unknown`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from orchctl.errors import Conflict
from orchctl.procfs import descends_from, told_below
from orchctl.session import environment
from orchctl.session.model import Session, Waiting
from orchctl.session.wait import Sight, decide
from orchctl.supervisor.registry import Registry
from orchctl.supervisor.session import SupervisedSession

if TYPE_CHECKING:
    from orchctl.supervisor.app import Supervisor
    from orchctl.supervisor.request import Call
    from orchctl.supervisor.session import SupervisedSession


ANSWER_S = 2.0  # a pair of an older version does not know the question, one on a stalled machine is late
TRIES = 3  # a prompt that came or went under our eyes is looked at again


async def waiting_of(session: SupervisedSession) -> Waiting:
    """Whether it waits for input now."""
    if session.closed or session.run.paused:
        return Waiting.NO
    if session.talk is not None:
        asks = any(one.reply is None for one in session.talk.state.pending.values())
        return Waiting.YES if asks else Waiting.NO if session.talk.state.busy else Waiting.PROMPT
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _look(session)
    except (Conflict, TimeoutError):  # it has just ended, or does not answer
        return Waiting.UNKNOWN


async def _look(session: SupervisedSession) -> Waiting:
    if session.commands is None:
        return decide(await _sight(session), prompt=False)
    prompt = session.commands.prompt  # which remembers where the line was known to be empty
    before = await prompt.settled()
    for _ in range(TRIES):
        sight, after = await _sight(session), await prompt.settled()
        if (before.ready, before.prompts) == (after.ready, after.prompts):
            return decide(sight, prompt=after.ready)
        before = after
    return Waiting.UNKNOWN


async def _sight(session: SupervisedSession) -> Sight:
    told = await session.pair.does_it_wait()
    return Sight(kernel=told["kernel"], own=told["own"], local=told["local"])


async def with_waiting(registry: Registry, views: list[Session]) -> list[Session]:
    """The same sessions, all looked at at once."""
    live = {session.spec.id: session for session in registry.live()}

    async def with_its_own(view: Session) -> Session:
        session = live.get(view.id)
        return replace(view, waiting=Waiting.NO if session is None else await waiting_of(session))

    return list(await asyncio.gather(*map(with_its_own, views)))


async def last_input(session: SupervisedSession, manager: str | None) -> int:
    """Where the output after the last input begins: that of one manager if it is known, else anybody's; else the run's.

    After a mover was killed, what was typed before is not known.
    """
    own = session.typed.get(manager) if manager is not None else None
    if own is not None:
        return own
    typed_at = 0
    if not session.pair.gone.is_set():
        try:
            async with asyncio.timeout(ANSWER_S):
                typed_at = int((await session.pair.look())["typed_at"])
        except (Conflict, TimeoutError):
            pass
    return max(typed_at, session.run.start_offset)


def refuse(app: Supervisor, call: Call, session: SupervisedSession, what: str) -> None:
    """With `own-session`, where it is."""
    if _runs_in(app, call.peer, session):
        raise Conflict(what, code="own-session")


def _runs_in(app: Supervisor, peer: int, session: SupervisedSession) -> bool:
    if session.talk is None:
        return session.run.pid is not None and descends_from(peer, session.run.pid)
    held = app.registry.agents.of(session.talk)
    server = held.session.run.pid if held is not None else None
    if held is None or server is None or not descends_from(peer, server):
        return False
    return is_own(session.spec.id, told_below(peer, server, environment.SESSION), held.talks.keys())


def is_own(session: str, told: str | None, held: Collection[str]) -> bool:
    """Whether a command below a server that holds these conversations is of that one, by what it was told."""
    return told == session if told in held else set(held) == {session}
