"""A session that has no pair of its own: a conversation on an agent server. Here is what stands in the pair's place."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from orchctl.errors import Conflict
from orchctl.supervisor.pair import PairLink


class Unpaired(PairLink):
    """What a pair would be told goes to whoever holds the conversation."""

    def __init__(self, folder: str, looked: Callable[[], None]) -> None:
        super().__init__(folder, looked)
        self.greeted.set()
        self.ended = asyncio.Event()  # the conversation is over, and that is on record
        self.killed: Callable[[float], None] = lambda grace_s: None
        self.held: Callable[[int | None], None] = lambda offset: None
        self.trimmed: Callable[[int], None] = lambda keep_bytes: None
        self.rolled: Callable[[], None] = lambda: None

    async def tend(self, first: socket.socket | None) -> None:
        """Until the conversation is over."""
        await self.ended.wait()
        self.gone.set()

    def watch(self, seen: int) -> None:
        """Whoever writes the transcript tells of it."""

    def kill(self, grace_s: float) -> None:
        """End it."""
        self.killed(grace_s)

    def hold(self, offset: int | None) -> None:
        """Somebody reads the transcript."""
        self.held(offset)

    def trim(self, keep_bytes: int) -> None:
        """Keep no more of it."""
        self.trimmed(keep_bytes)

    def roll(self) -> None:
        """Begin a new segment."""
        self.rolled()

    async def keep_environment(self) -> None:
        """It is kept for as long as the conversation lives."""

    async def who_is_left(self) -> tuple[int, ...]:
        """What stays behind belongs to the server."""
        return ()

    async def look(self) -> dict[str, Any]:
        """There is no terminal."""
        raise no_terminal()

    async def does_it_wait(self) -> dict[str, Any]:
        """The kernel cannot tell."""
        raise no_terminal()

    async def type(self, once: bytes, data: bytes, *, again: bool = True) -> tuple[int, int]:
        """Nothing can be typed."""
        raise no_terminal()

    async def sweep(self, since_ticks: int, number: int) -> int:
        """It has no processes."""
        return 0


def no_terminal() -> Conflict:
    """For what only a program can do."""
    return Conflict("the session is a conversation with an agent, not a program in a terminal", code="not-a-program")
