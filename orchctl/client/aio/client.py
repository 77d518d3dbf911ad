"""The awaitable twin of `orchctl/client/client.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchctl import procfs
from orchctl.client.aio.agents import AsyncAgents
from orchctl.client.aio.asking import AsyncAsking
from orchctl.client.aio.connection import AsyncConnection
from orchctl.client.aio.gathering import AsyncGathering
from orchctl.client.aio.handle import AsyncSessionHandle
from orchctl.client.aio.inputs import AsyncInputs
from orchctl.client.aio.leasing import AsyncLeasing
from orchctl.client.aio.looking import AsyncLooking
from orchctl.client.aio.places import AsyncPlaces
from orchctl.client.aio.supervising import AsyncSupervising
from orchctl.client.inherited import current_directory, default_shell, soft_limits, start_ticks, umask
from orchctl.errors import NoSuchSession
from orchctl.protocol import messages
from orchctl.session import manager
from orchctl.session.command import Command, Result
from orchctl.session.model import KillReport, Session

if TYPE_CHECKING:
    from orchctl.client.aio.streams import AsyncCommandStream
    from orchctl.client.exec import Options
    from orchctl.client.inherited import Stdin


class AsyncClient(
    AsyncAsking, AsyncPlaces, AsyncSupervising, AsyncGathering, AsyncLooking, AsyncInputs, AsyncLeasing, AsyncAgents
):
    """A connection that comes back by itself. Use it as a context manager, or close it."""

    async def spawn(
        self,
        command: Sequence[str] = (),
        *,
        name: str | None = None,
        managed_by: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
        pty: bool = True,
        restart: str = "no",
        timeout_s: float | None = None,
        idle_s: float | None = None,
        bind_pid: int | None = None,
        labels: Mapping[str, str] | None = None,
        if_exists: str = "error",
        remove: bool = False,
        echo: bool = True,
        backend: str | None = None,
        profile: str | None = None,
        model: str | None = None,
        permission: str | None = None,
        resume: str | None = None,
        prompt: str | None = None,
        stdin: Stdin | None = None,
    ) -> AsyncSessionHandle:
        """Start `command`, or the user's shell, in a terminal of its own, or on pipes.

        It is ended after `timeout_s`, after `idle_s` without output or input, or when the process `bind_pid` ends.
        `if_exists` says what to do when a live session has the name: `error`, `reuse` it if it runs the same
        command in the same directory, or `skip`, which gives that one whatever it runs. With `echo` false its
        terminal does not show what is typed, from the start.

        `stdin` hands bytes, a file or a descriptor over, with its end; a shell takes it for a script, another run
        reads /dev/null. `open` leaves the input to `send`, as on a terminal; `null` is /dev/null, the default on pipes.

        With the `backend` of a harness, or a `profile`, it is a conversation with an agent, begun or to `resume`;
        `permission` says what is done when the agent asks for one: `ask`, `allow` or `deny`.
        """
        import uuid

        from orchctl.client.inherited import stdin_of

        agent = backend not in (None, "pty", "pipe") or profile is not None
        chosen = backend or ("" if agent else "pty" if pty else "pipe")
        bind_pid = self._bound(bind_pid)
        asked = messages.SpawnSession(
            session_id=str(uuid.uuid4()),
            command=tuple(command) or (("agent",) if agent else (default_shell(self.root),)),
            cwd=os.path.abspath(cwd) if cwd else current_directory(),
            env=self._environment(),
            given=dict(env or {}),
            name=name,
            managed_by=manager.resolve(managed_by, self._own_manager),
            cols=size[0],
            rows=size[1],
            backend=chosen,
            restart=restart,
            timeout_s=timeout_s,
            idle_s=idle_s,
            bind_pid=bind_pid,
            bind_ticks=start_ticks(bind_pid) if bind_pid is not None else 0,
            umask=umask(),
            limits=soft_limits(),
            labels=dict(labels or {}),
            if_exists=if_exists,
            remove=remove,
            standing=procfs.security_context(),
            echo=echo,
            profile=profile,
            model=model,
            permission=permission,
            resume=resume,
            prompt=prompt,
        )
        with stdin_of(stdin, pipes=chosen == "pipe") as (word, descriptor):
            asked = replace(asked, stdin=word)
            needs = "" if descriptor is None else "stdin"
            told = await self._ask(asked, messages.OneSession, needs=needs, descriptor=descriptor)
        return AsyncSessionHandle(
            self, told.session, is_new=told.session.id == asked.session_id, warnings=told.warnings
        )

    async def session(self, text: str) -> AsyncSessionHandle:
        """A session that is there, by id, name, prefix or `@last`."""
        return AsyncSessionHandle(self, await self.info(text))

    async def exec(
        self,
        session: str,
        command: str | Sequence[str],
        *,
        stdin: bytes | None = None,
        tty_stdin: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        pipe: bool = False,
        raw: bool = False,
        record: bool = True,
        detach: bool = False,
        timeout_s: float | None = None,
        kill_after_s: float = 2.0,
        wait_prompt_s: float | None = None,
        viewer: str = "",
        lease_wait_s: float = 0.0,
        max_output: int | None = None,
        once: str | None = None,
        wait_input: bool = True,
    ) -> Result:
        """Run shell text, or words that arrive unchanged, in a session's live shell; back when it ended.

        To an agent it is a prompt, said once for each `once`; back when its turn ended, or, unless `wait_input`, when
        it waits for a human.
        """
        from orchctl.client.aio.streams import collect
        from orchctl.client.exec import Options

        options = Options(
            stdin=stdin,
            tty_stdin=tty_stdin,
            env=env or {},
            cwd=cwd,
            pipe=pipe,
            raw=raw,
            record=record,
            detach=detach,
            timeout_s=timeout_s,
            kill_after_s=kill_after_s,
            wait_prompt_s=wait_prompt_s,
            viewer=viewer,
            lease_wait_s=lease_wait_s,
            once=once,
            wait_input=wait_input,
        )
        return await collect(self.run(session, command, options), limit_bytes=max_output)

    def run(self, session: str, command: str | Sequence[str], options: Options) -> AsyncCommandStream:
        """The same as a stream: iterate for the output as it comes."""
        from orchctl.client.aio.streams import AsyncCommandStream

        return AsyncCommandStream(session, command, options, self._own_manager, self._lend_where_some, self._take_back)

    async def detach(self, session: str, exec_id: str) -> None:
        """Let a command go on without anybody waiting for it."""
        asked = messages.DetachCommand(session=session, exec_id=exec_id, own_manager=self._own_manager)
        await self._ask(asked, messages.Done)

    async def interrupt_command(self, session: str, exec_id: str, *, detach: bool = False) -> str:
        """Take a command out of the queue (`withdrawn`), or, once it has begun, interrupt it (`interrupted`).

        With `detach` a command that has begun goes on without anybody waiting for it (`detached`). One that has ended
        is `over`. The interrupt reaches no other command.
        """
        asked = messages.InterruptCommand(
            session=session, exec_id=exec_id, own_manager=self._own_manager, detach=detach
        )
        return (await self._ask(asked, messages.CommandInterrupted)).outcome

    async def history(self, session: str) -> Sequence[Command]:
        """The commands run in a session's shell, oldest first."""
        await self._expect_some(session)
        asked = messages.GetHistory(session=session, own_manager=self._own_manager)
        return [one for page in await self._pages(asked, messages.SomeCommands) for one in page.commands]

    async def control(
        self, session: str, action: str, *, signal: int = 0, size: tuple[int, int] = (0, 0), viewer: str = ""
    ) -> Session:
        """`signal`, `resize`, `pause` or `unpause` it; where somebody holds the lease, only its holder resizes."""
        asked = messages.ControlSession(
            session=session,
            own_manager=self._own_manager,
            action=action,
            signal=signal,
            cols=size[0],
            rows=size[1],
            viewer=viewer,
        )
        return (await self._ask(asked, messages.OneSession)).session

    async def restart(self, session: str, *, grace_s: float = 5.0) -> Session:
        """Another run of it, after its present one was ended."""
        found = await self.info(session)
        asked = messages.RestartSession(
            session=found.id, run=found.run, env=self._environment(), own_manager=self._own_manager, grace_s=grace_s
        )
        return (await self._ask(asked, messages.OneSession)).session

    async def kill(self, *sessions: str, grace_s: float = 5.0, signal: int = 0) -> KillReport:
        """End sessions, forcibly once the grace period is over; asked for with `signal` first if there is one."""
        asked = messages.KillSessions(sessions=sessions, own_manager=self._own_manager, grace_s=grace_s, signal=signal)
        return (await self._ask(asked, messages.Killed)).report

    async def kill_by_manager(self, name: str, *, exact: bool = False, grace_s: float = 5.0) -> KillReport:
        """End every session of a manager and below it."""
        manager.parse(name)
        if await self._nothing_there():
            return KillReport()
        asked = messages.KillByManager(manager=name, exact=exact, grace_s=grace_s, own_manager=self._own_manager)
        return (await self._ask(asked, messages.Killed)).report

    async def _pruned(self, asked: messages.Prune) -> messages.Pruned:
        return await self._ask(asked, messages.Pruned)

    async def _lend_where_some(self) -> AsyncConnection:
        """The same for whoever wants a session: where there is none, no supervisor is started to say so."""
        if await self._nothing_there():
            raise NoSuchSession("there is no session at all")
        return await self._lend()
