"""Interrupting a command in a shell, at a moment at which shells can take it.

While a shell starts a program, an interrupt may be taken by neither of them: the shell has gone on, and
the program is still a copy of the shell that forgets it. Bash may even end itself then, because the copy
takes the terminal from a shell that is back at its prompt. So the terminal is first seen to be the same
twice; and when another program turns up in front right afterwards, it is interrupted in its turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from typing import Any

from orchctl.errors import Conflict
from orchctl.supervisor.pair import PairLink

SETTLE_S = 0.01
SETTLE_LIMIT_S = 0.15  # a shell that starts one program after another is never the same twice
AFTER_S = (0.02, 0.05, 0.1, 0.15)


async def interrupt(pair: PairLink, about: Callable[[bool], None], going: Callable[[], bool] = lambda: False) -> None:
    """Interrupt what is in front; `about` hears first whether that is a program, and not the shell itself.

    A command that is still `going` is looked after for a moment.
    """
    with contextlib.suppress(Conflict):  # the session ended meanwhile, and the command with it
        await _interrupt(pair, about, going)


async def _interrupt(pair: PairLink, about: Callable[[bool], None], going: Callable[[], bool]) -> None:
    seen = await _settled(pair)
    front = _image(seen)
    going()  # what it tells afterwards may depend on what it saw before
    about(_is_program(seen))
    pair.signal(signal.SIGINT)
    for wait_s in AFTER_S:
        if not going():
            return
        await asyncio.sleep(wait_s)  # another process's start is no event
        seen = await pair.look()
        if _image(seen) != front and _is_program(seen):
            await asyncio.sleep(SETTLE_S)  # it may be the prompt's, and its mark on its way
            if not going():
                return
            front = _image(seen)
            about(True)
            pair.signal(signal.SIGINT)


async def _settled(pair: PairLink) -> dict[str, Any]:
    until = time.monotonic() + SETTLE_LIMIT_S
    last = await pair.look()
    while time.monotonic() < until:
        await asyncio.sleep(SETTLE_S)
        now = await pair.look()
        if _image(now) == _image(last):
            break
        last = now
    return last


def _is_program(seen: dict[str, Any]) -> bool:
    return bool(seen["front"] != seen["child"])


def _image(seen: dict[str, Any]) -> tuple[int, int]:
    """Which program is in front: the copy of a shell that is about to become it is another one."""
    return seen["front"], seen.get("image", 0)
