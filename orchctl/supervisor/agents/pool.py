"""All agent servers: found or started when a conversation needs one, left alone while it does, ended when none does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchctl.agents.interface import Harness, Opening, Profile
from orchctl.errors import Conflict, OrchctlError
from orchctl.log.session_files import Spec, put_server, read_server
from orchctl.pair.output import last_words
from orchctl.plain import to_plain
from orchctl.session import layout
from orchctl.session.agent import Permission
from orchctl.supervisor.agents import programs
from orchctl.supervisor.agents.conversation import Talk
from orchctl.supervisor.agents.server import ENDED, GRACE_S, HearAgain, HeldServer
from orchctl.supervisor.change import guarded, set_within
from orchctl.supervisor.session import SERVER
from orchctl.supervisor.terminal_session import TerminalSession

if TYPE_CHECKING:
    from orchctl.supervisor.context import House

log = logging.getLogger(__name__)
STDERR_SHOWN = 2000
OPEN_S = 60.0
AGAIN_S = 1.0  # until a full disk is tried again


class Servers:
    """By key. `start` starts a session's program, `fetch` gives a server's session that is there."""

    def __init__(
        self,
        house: House,
        tasks: asyncio.TaskGroup,
        start: Callable[[Spec, dict[str, str], Callable[[str], None]], Any],
        fetch: Callable[[str], TerminalSession | None],
    ) -> None:
        self._house = house
        self.tasks = tasks
        self._start_session = start
        self.fetch = fetch
        self._held: dict[str, HeldServer] = {}  # by the key
        self._starting: dict[str, asyncio.Lock] = {}

    @property
    def all(self) -> list[HeldServer]:
        """Those that run."""
        return [held for held in self._held.values() if not held.ended.is_set()]

    def adopt(self, servers: Iterable[str], talks: Iterable[Talk]) -> None:
        """Go on with what the last supervisor held."""
        wanted: dict[str, list[Talk]] = {server: [] for server in servers}
        for talk in talks:
            if talk.state.server is not None:
                wanted.setdefault(talk.state.server, []).append(talk)
            else:
                self._connect_soon(talk)
        for server, on_it in wanted.items():
            self._take_over(server, on_it)

    def _take_over(self, server: str, talks: list[Talk]) -> None:
        session = self.fetch(server)
        known = read_server(self._folder(server))
        if session is None or known is None or not talks:  # nobody to go on with, or nothing to go on for
            if session is not None and not session.closed:
                self.tasks.create_task(guarded(f"server {server}", _end(session)))
            for talk in talks:
                talk.broke("the agent's server is gone")
                self._connect_soon(talk)
            return
        harness = programs.find(known["harness"])
        held = HeldServer(session, harness, _profile(known["profile"]), known["notes"], self._folder(server))
        held.version = known.get("version")
        held.greeted.set()
        held.greeted_once = True
        for talk in talks:
            held.talks[talk.id] = talk
            talk.holder = held
            if talk.state.opened:
                held.backend.know(talk.opening(dict(held.profile.options)))
        self._hold(known["key"], held, adopted=True)

    async def connect(self, talk: Talk) -> None:
        """Have the conversation held by a server, begun or resumed there."""
        async with talk.connecting:
            if talk.session.talk is not talk or talk.trouble is not None:
                raise _not_now(talk)
            held = self.of(talk)
            if held is None:
                held = await self._find(talk)
                if talk.session.talk is not talk:
                    raise _not_now(talk)
                talk.bind(held, held.id)
                held.talks[talk.id] = talk
            if not talk.state.opened:
                talk.state.trouble = None
                held.backend.open(talk.opening(dict(held.profile.options)))
                await self._opened(talk, held)
            if not talk.session.run.prompted_once:
                talk.session.prompted()

    def release(self, talk: Talk) -> None:
        """The conversation is over."""
        for held in self._held.values():
            if held.talks.pop(talk.id, None) is not None:
                held.idle_since = time.monotonic()
                if not held.harness.shared:
                    held.stop()

    def tick(self) -> None:
        """Once a second: end what nobody needs."""
        idle_s = self._house.config.server_idle_s
        for held in self.all:
            if held.greeted_once and not held.talks and time.monotonic() - held.idle_since > idle_s:
                held.stop()

    def of(self, talk: Talk) -> HeldServer | None:
        """The server that holds a conversation."""
        return next((held for held in self.all if held.talks.get(talk.id) is talk), None)

    async def _find(self, talk: Talk) -> HeldServer:
        harness = programs.find(talk.session.spec.backend)
        profile = programs.profile_of(self._house.config, harness.name, talk.agent.profile)
        env = self._house.store.read_environment(talk.id) or {}
        key = programs.key_of(harness, profile, env, talk.id)
        async with self._starting.setdefault(key, asyncio.Lock()):
            held = self._held.get(key)
            if held is not None and held.stopping:  # two at once must not have one conversation
                await held.ended.wait()
            if held is None or held.ended.is_set() or held.session.closed:
                held = await self._start(harness, profile, key, env, talk.opening(dict(profile.options)))
            held.idle_since = time.monotonic()
        await self._greeted(held)
        return held

    async def _start(
        self, harness: Harness, profile: Profile, key: str, env: dict[str, str], opening: Opening
    ) -> HeldServer:
        program = programs.installed(harness, profile, env.get("PATH", os.defpath))
        launch = harness.launch(replace(profile, env=env), program, opening)
        server = str(uuid.uuid4())
        folder = self._folder(server)
        spec = Spec(
            id=server,
            command=launch.argv,
            cwd=env.get("HOME", "/") if harness.shared else opening.cwd,
            cols=80,
            rows=24,
            created_at=time.time(),
            backend=SERVER,
            nonce=secrets.token_hex(8),
            ring_bytes=self._house.config.session_bytes,
            labels={"harness": harness.name, "profile": profile.name},
        )
        known = {"harness": harness.name, "profile": to_plain(profile), "notes": dict(launch.notes), "key": key}

        def prepare(where: str) -> None:
            os.makedirs(f"{where}/{layout.HEARD}/{layout.OUTPUT}", mode=0o700)
            put_server(where, known)

        session = await self._start_session(spec, {**env, **launch.env}, prepare)
        held = HeldServer(session, harness, profile, launch.notes, folder)
        held.known = known
        self._hold(key, held, adopted=False)
        return held

    def _hold(self, key: str, held: HeldServer, *, adopted: bool) -> None:
        self._held[key] = held
        self.tasks.create_task(guarded(f"server {held.id}", self._tend(key, held, adopted=adopted)))

    async def _tend(self, key: str, held: HeldServer, *, adopted: bool) -> None:
        trouble: OSError | None = None
        try:
            await held.run(adopted=adopted, silent_s=lambda: self._house.config.server_answer_s)
            held.session.pair.kill(GRACE_S)  # what it started and left behind ends with it
            for talk in held.talks.values():
                talk.broke(held.why)
        except* OSError as errors:
            trouble = next((one for one in errors.exceptions if isinstance(one, OSError)), OSError("unknown"))
        finally:
            if trouble is None and self._held.get(key) is held:
                del self._held[key]
        while trouble is not None:
            trouble = await self._hear_again(key, held, trouble)
            if trouble is None:
                return
        for talk in held.talks.values() if held.greeted_once else ():
            self._connect_soon(talk)

    async def _hear_again(self, key: str, held: HeldServer, trouble: OSError) -> OSError | None:
        """As a new supervisor would: the server goes on, and its log has everything. Why it cannot be, if so."""
        async with self._starting.setdefault(key, asyncio.Lock()):  # nobody starts another meanwhile
            if not isinstance(trouble, HearAgain):
                for talk in held.talks.values():
                    talk.stall(trouble.strerror or "the disk does not take it")
                await asyncio.sleep(AGAIN_S)
            if self._held.get(key) is held:
                del self._held[key]
            try:
                self._take_over(held.id, [talk.session.renew() for talk in held.talks.values()])
            except OSError as error:
                self._held.setdefault(key, held)
                return error
            if key in self._held:
                self._held[key].carry(held)
        return None

    def _connect_soon(self, talk: Talk) -> None:
        """Resumed at once; if that fails, with the next prompt."""
        self.tasks.create_task(guarded(f"session {talk.id}", self._reconnect(talk)))

    async def _reconnect(self, talk: Talk) -> None:
        try:
            if not talk.session.closed and not talk.ending:
                await self.connect(talk)
        except OrchctlError as error:
            log.warning("session %s is not resumed: %s", talk.id, error.message)
            with contextlib.suppress(OSError):
                talk.not_resumed(error)

    async def _greeted(self, held: HeldServer) -> None:
        if not await set_within(held.greeted, OPEN_S):
            held.broken("the agent's server did not say hello")
            raise Conflict(f"{held.harness.name} did not say hello in {OPEN_S:.0f} s", code="server-hangs")
        if held.ended.is_set():
            raise Conflict(f"{held.harness.name} ended before it said hello{self._complaint(held)}", code="server-died")
        held.idle_since = time.monotonic()
        if not held.greeted_once:
            held.greeted_once = True
            with contextlib.suppress(OSError):
                put_server(self._folder(held.id), {**held.known, "version": held.version})

    async def _opened(self, talk: Talk, held: HeldServer) -> None:
        try:
            async with asyncio.timeout(OPEN_S):
                while not talk.state.opened:
                    ticket = talk.session.news.ticket
                    trouble = talk.state.trouble
                    if trouble is not None:
                        raise Conflict(f"{held.harness.name}: {trouble.message}", code=trouble.code)
                    if held.ended.is_set() or held.talks.get(talk.id) is not talk:
                        raise Conflict(
                            f"{held.harness.name} ended meanwhile{self._complaint(held)}", code="server-died"
                        )
                    await ticket.wait()
        except TimeoutError:
            message = f"{held.harness.name} did not begin the conversation in {OPEN_S:.0f} s"
            raise Conflict(message, code="server-hangs") from None

    def _complaint(self, held: HeldServer) -> str:
        """Why we ended it, if we did, and the end of what it wrote to stderr."""
        why = f" ({held.why})" if held.why != ENDED else ""
        text = last_words(self._folder(held.id), STDERR_SHOWN)
        return f"{why}: {text}" if text else why

    def _folder(self, server: str) -> str:
        return self._house.store.folder(server)


def _not_now(talk: Talk) -> OrchctlError:
    """Its files could not be written, and are read again soon."""
    why = talk.session.pair.stalled or "the disk did not take it"
    return OrchctlError(f"the conversation cannot be written down now: {why}", code="no-space")


async def _end(session: TerminalSession) -> None:
    """A server that holds nothing."""
    await session.pair.greeted.wait()
    session.pair.kill(5.0)


def _profile(plain: dict[str, Any]) -> Profile:
    permission = plain.get("permission")
    return Profile(
        name=plain["name"],
        harness=plain["harness"],
        argv=tuple(plain["argv"]),
        env=plain["env"],
        model=plain["model"],
        permission=Permission(permission) if permission is not None else None,
        options=plain["options"],
    )
