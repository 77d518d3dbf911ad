"""The awaitable twin of `orchctl/client/handle.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from orchctl.session.command import Command, Result
from orchctl.session.model import KillReport, Session

if TYPE_CHECKING:
    from orchctl.client.aio.client import AsyncClient
    from orchctl.client.aio.streams import AsyncOutputStream
    from orchctl.client.exec import ExecOptions
    from orchctl.session.model import Expected


class AsyncSessionHandle:
    """A session and the client to reach it by; `value` is as of when it was last looked at."""

    def __init__(
        self, client: AsyncClient, value: Session, *, is_new: bool = False, warnings: tuple[str, ...] = ()
    ) -> None:
        self._client = client
        self.value = value
        self.is_new = is_new
        self.warnings = warnings

    def __repr__(self) -> str:
        return f"<session {self.value.name or self.id} {self.value.state.value}>"

    @property
    def id(self) -> str:
        """Its id, which never changes."""
        return self.value.id

    async def info(self) -> Session:
        """A new look at it."""
        self.value = await self._client.info(self.id)
        return self.value

    async def exec(self, command: str | Sequence[str], **options: Unpack[ExecOptions]) -> Result:
        """Run a command in its live shell; the options are those of `Client.exec`."""
        return await self._client.exec(self.id, command, **options)

    async def history(self) -> Sequence[Command]:
        """The commands run in its shell."""
        return await self._client.history(self.id)

    async def wait(self, *, timeout_s: float | None = None) -> Session:
        """Until it is closed."""
        self.value = await self._client.wait(self.id, timeout_s=timeout_s)
        return self.value

    async def wait_for(self, *conditions: str, quiet_s: float = 2.0, timeout_s: float | None = None) -> str:
        """The first condition that holds; they are those of `Client.wait_for`."""
        fired, self.value = await self._client.wait_for(self.id, *conditions, quiet_s=quiet_s, timeout_s=timeout_s)
        return fired

    async def wait_for_output(self, pattern: str, *, timeout_s: float | None = None) -> re.Match[bytes]:
        """The first match since the last input, or from now on."""
        return await self._client.wait_for_output(self.id, pattern, timeout_s=timeout_s)

    async def expect(self, *patterns: str | bytes, timeout_s: float | None = None) -> Expected:
        """Which of the regular expressions comes first in what was written since our last input, or comes yet."""
        return await self._client.expect(self.id, patterns, timeout_s=timeout_s)

    def output(self, *, offset: int | None = None, lines: int | None = None, follow: bool = False) -> AsyncOutputStream:
        """Its log."""
        return self._client.output(self.id, offset=offset, lines=lines, follow=follow)

    async def send(self, data: bytes, *, once: str | None = None) -> None:
        """Type into it."""
        await self._client.send(self.id, data, once=once)

    async def send_eof(self, *, once: str | None = None) -> None:
        """End its input, if it is on pipes."""
        await self._client.send_eof(self.id, once=once)

    async def interrupt(self) -> None:
        """What Ctrl-C does there."""
        await self._client.interrupt(self.id)

    async def signal(self, number: int) -> None:
        """To its program."""
        self.value = await self._client.control(self.id, "signal", signal=number)

    async def resize(self, cols: int, rows: int) -> None:
        """Another size for its terminal."""
        self.value = await self._client.control(self.id, "resize", size=(cols, rows))

    async def pause(self) -> None:
        """Stop everything it runs."""
        self.value = await self._client.control(self.id, "pause")

    async def unpause(self) -> None:
        """Let it go on."""
        self.value = await self._client.control(self.id, "unpause")

    async def restart(self, *, grace_s: float = 5.0) -> None:
        """Another run of it."""
        self.value = await self._client.restart(self.id, grace_s=grace_s)

    async def rename(self, name: str | None) -> None:
        """Another name, or none."""
        self.value = await self._client.rename(self.id, name)

    async def label(self, labels: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()) -> None:
        """Set and remove labels."""
        self.value = await self._client.label(self.id, labels, remove=remove)

    async def kill(self, *, grace_s: float = 5.0) -> KillReport:
        """End it, with everything it started."""
        return await self._client.kill(self.id, grace_s=grace_s)
