"""A supervisor whose owner's number has been given to somebody else does not wait for that one."""

from __future__ import annotations

import asyncio

from orchctl.pair.tree import start_ticks
from orchctl.session import layout
from orchctl.supervisor.lifetime import _end_of
from tests.pair.test_owner import thread  # noqa: F401
from tests.world import DEADLINE_S


def test_a_number_that_is_a_threads_now_has_ended(thread: int) -> None:  # noqa: F811
    asyncio.run(asyncio.wait_for(_end_of(layout.Owner(thread, start_ticks(thread))), DEADLINE_S))
